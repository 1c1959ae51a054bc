"""The gradient check: derivatives against differences and against each other, argument by argument.

For every float or complex argument, with directions drawn at random from a seed:

- *values*: the derivative programs compute the same outputs as the program;
- *differences*: the JVP along a direction against central differences of the program, element by element, within the
  bound that the differences themselves can vouch for (``wengert.lab.differences``);
- *dot product*: Re(sum(cotangents * JVP)) against Re(sum(VJP * direction)), which only rounding may part;
- *second order* (on request): the JVP of the VJP against differences of the VJP.

Where an argument sits on a kink, differences see two slopes and any value between them is a convention; this is said
and does not count as a mismatch. A test whose numbers are not finite decides nothing: the check is then *not settled*,
which is neither a mismatch nor a success.

Bounds begin with what rounding does to a short program: a multiple of the unit of rounding, and of the size of what is compared. In deep programs, or
ill-conditioned ones, rounding does more. Where such a bound is exceeded, how far rounding moves the results is measured (``wengert.lab.rounding``), and
the comparison is made again: with a bound that allows that, and with smaller steps of differences too. Where rounding moves what is compared by half of its
size, nothing is settled. Where a comparison fails nevertheless, functions that declare a derivative are checked one by one
(``wengert.lab.declared_rules``), then the ops, to find the first whose own derivative is wrong (``wengert.lab.culprit``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from wengert.lab.check_report import ArgumentCheck, CheckReport, Finding, Verdict
from wengert.lab.culprit import find_culprit
from wengert.lab.declared_rules import Examine, find_wrong_rule
from wengert.lab.differences import Array, Function, Slopes, slopes
from wengert.lab.inputs import Shapes, random_inputs, random_like, shaped
from wengert.lab.precision import epsilon_of, working_precision
from wengert.lab.rounding import Rounding
from wengert.runtime.arguments import bind
from wengert.runtime.backends import InterpreterExecutable
from wengert.runtime.positions import Positions
from wengert.runtime.program import Program
from wengert.runtime.signature import Parameter

TESTS = ("values", "differences", "dot product", "second order")
Moved = list[tuple[float, float]]
"""How far rounding moves each result of a function, and each of its tangents."""
ALLOWED = 4.0
"""How much further apart than by the rounding that was measured results may be."""
DROWNED = 0.5
"""The share of its size from which on a bound on what is compared settles nothing."""


def check(
    program: Program,
    inputs: Sequence[Any] | None = None,
    *,
    wrt: Positions = None,
    of: Positions = None,
    seed: int = 0,
    backend: str = "cpu",
    second_order: bool = False,
    tests: Iterable[str] = TESTS,
    strategy: str = "transpose",
    shapes: Shapes | None = None,
) -> CheckReport:
    """Checks the derivatives of a program at a point.

    Args:
        program: what to check.
        inputs: the point; drawn at random with the seed by default.
        wrt: the arguments to check; all by default, those that are not of a float or complex type are skipped.
        of: the results to differentiate; every float or complex one by default.
        seed: for directions, cotangents and default inputs.
        backend: what runs the program and its derivatives.
        second_order: whether to check the JVP of the VJP too.
        tests: the tests to make, of TESTS.
        strategy: the strategy, by name, that makes the derivatives which are checked.
        shapes: the shapes of the arguments of a program that leaves extents open, where there are no inputs to tell them.

    Raises:
        InputError: for positions or inputs that do not fit.
        DiagnosticError: for programs that cannot be differentiated.
    """
    program = shaped(program, inputs, shapes)
    arrays = bind(program.signature, inputs) if inputs is not None else random_inputs(program.signature, seed)
    chosen, asked = program.resolve(wrt=wrt, of=of)
    wanted = set(tests) - (set() if second_order else {"second order"})
    checker = Checker(program, arrays, chosen, asked, seed, backend, wanted, strategy)
    positions = chosen if wrt is not None else range(len(program.signature.arguments))
    arguments = tuple(checker.argument(i) if i in chosen else _skipped(program.signature.arguments[i]) for i in positions)
    report = CheckReport(program.name, backend, seed, checker.precision, arguments, strategy=strategy)
    if report.outcome != "MISMATCH":
        return report
    examine = _examine(seed, wanted, strategy)
    rule = find_wrong_rule(program, arrays, examine)
    culprit, left = (rule, 0) if rule is not None else find_culprit(program, arrays, examine)
    return replace(report, culprit=culprit, unexamined=left)


def _examine(seed: int, tests: set[str], strategy: str) -> Examine:
    """The check of one op: the first mismatch as text."""

    def examine(program: Program, inputs: list[Array]) -> str | None:
        wrt, of = program.resolve()
        checker = Checker(program, inputs, wrt, of, seed, "interpreter", tests, strategy)
        for i in wrt:
            for finding in checker.argument(i).findings:
                if finding.verdict == "MISMATCH":
                    return f"operand {i}: {finding}"
        return None

    return examine


class Checker:
    """The programs and the point that all arguments share. The derivatives are made by a strategy, unless they are given."""

    def __init__(
        self,
        program: Program,
        inputs: list[Array],
        wrt: tuple[int, ...],
        of: tuple[int, ...],
        seed: int,
        backend: str,
        tests: set[str],
        strategy: str = "transpose",
        jvp: Program | None = None,
        vjp: Program | None = None,
    ):
        self.program, self.inputs, self.wrt, self.of, self.backend, self.tests = program, inputs, wrt, of, backend, tests
        dtype = working_precision(program)
        self.precision, self.epsilon = dtype.name, epsilon_of(dtype)
        self.seed = seed
        generator = np.random.default_rng([seed, 1])
        self.cotangents = [random_like(program.signature.results[j], generator) for j in of]
        self.strategy, self._jvp, self._vjp = strategy, jvp, vjp
        self.reverse = vjp is not None or jvp is None
        """Whether reverse mode is looked at: not where forward mode alone is given."""
        self.outputs = self.run(program, inputs)

    @cached_property
    def jvp(self) -> Program:
        """The forward derivative."""
        return self._jvp or self.program.jvp(wrt=self.wrt, of=self.of, strategy=self.strategy)

    @cached_property
    def vjp(self) -> Program:
        """The reverse derivative."""
        return self._vjp or self.program.vjp(wrt=self.wrt, of=self.of, strategy=self.strategy)

    @cached_property
    def vjp_results(self) -> list[Array]:
        """The outputs that the reverse derivative computes, and the cotangents of the arguments in wrt."""
        return self.run(self.vjp, [*self.inputs, *self.cotangents])

    def run(self, program: Program, inputs: Sequence[Array]) -> list[Array]:
        """The results of one of the programs."""
        compiled = program.compile(self.backend)
        return list(compiled.executable.again(*inputs) if isinstance(compiled.executable, InterpreterExecutable) else compiled(*inputs))

    def direction(self, i: int) -> list[Array]:
        """A direction that moves argument i alone, in proportion to its size, largest element about 1."""
        generator = np.random.default_rng([self.seed, 2, i])
        x = self.inputs[i]
        wide = np.asarray(random_like(self.program.signature.arguments[i], generator)).astype(np.complex128 if x.dtype.kind == "c" else np.float64)
        norm = float(np.max(np.abs(wide), initial=0.0)) or 1.0
        size = float(np.sqrt(np.mean(np.abs(x.astype(wide.dtype)) ** 2))) if x.size else 1.0
        scale = size if np.isfinite(size) and size > 0 else 1.0
        moving = (wide / norm * scale).astype(x.dtype)
        return [moving if k == i else np.zeros(self.inputs[k].shape, self.inputs[k].dtype) for k in self.wrt]

    def argument(self, i: int) -> ArgumentCheck:
        """The tests of one argument."""
        parameter = self.program.signature.arguments[i]
        return self.along(self.direction(i), parameter.label, str(parameter.type))

    def together(self) -> ArgumentCheck:
        """The tests of all arguments at once, moved at the same time: less exact about each of them, and faster where there are many."""
        v = [self.direction(i)[k] for k, i in enumerate(self.wrt)]
        return self.along(v, "all arguments", "")

    def along(self, v: Sequence[Array], label: str, type: str) -> ArgumentCheck:
        """The tests along a direction."""
        pushed = self.run(self.jvp, [*self.inputs, *v])
        outputs, tangents = pushed[: len(self.outputs)], pushed[len(self.outputs) :]
        rounding = Rounding(self.jvp, [*self.inputs, *v])
        findings: list[Finding] = []
        if "values" in self.tests:
            both = [self.values("jvp", outputs), *([self.values("vjp", self.vjp_results[: len(outputs)])] if self.reverse else [])]
            findings.append(max(both, key=lambda f: (f.verdict == "MISMATCH", f.error)))
        if "differences" in self.tests:
            findings.append(self.differences(v, tangents, lambda k: rounding.of(len(self.outputs) + k)))
        if "dot product" in self.tests:
            findings.append(self.dot_product(v, tangents, rounding))
        if "second order" in self.tests:
            findings.append(self.second_order(v))
        return ArgumentCheck(label, type, _overall(findings), tuple(findings))

    @cached_property
    def rounding(self) -> Rounding:
        """What rounding does to the program."""
        return Rounding(self.program, self.inputs)

    @cached_property
    def vjp_rounding(self) -> Rounding:
        """What rounding does to the reverse derivative."""
        return Rounding(self.vjp, [*self.inputs, *self.cotangents])

    def values(self, mode: str, outputs: Sequence[Array]) -> Finding:
        """The outputs that a derivative computes beside its derivatives."""
        worst = Finding("values", "ok", 0.0, self.slack)
        for j, (a, b) in enumerate(zip(outputs, self.outputs, strict=True)):
            size = _magnitude(b) or 1.0
            error, where = _largest(np.abs(_wide(a) - _wide(b)) / size)
            differs = bool(np.any(np.isnan(_wide(a)) != np.isnan(_wide(b))))
            if error > worst.error or differs:
                rounding = self.rounding.of(j) / size if error > self.slack else None
                bound = max(self.slack, ALLOWED * (rounding or 0.0))
                verdict: Verdict = "MISMATCH" if error > bound or differs else "unsettled" if bound > DROWNED else "ok"
                index = np.unravel_index(where, b.shape) if b.size else ()
                sides = f"{mode} {a[index]:.9g}", f"program {b[index]:.9g}"
                worst = Finding("values", verdict, error, bound, _place(j, where, b.shape), *sides, rounding=rounding)
        return worst

    @property
    def slack(self) -> float:
        """The bound on accumulated rounding, relative to the largest magnitude."""
        return min(1e4 * self.epsilon, 0.1)

    def differences(self, v: Sequence[Array], tangents: Sequence[Array], rounding: Callable[[int], float]) -> Finding:
        """The JVP against differences of the program; ``rounding`` says how far rounding moves each of the tangents."""

        def f(moved: Sequence[Array]) -> list[Array]:
            results = self.run(self.program, self._with(moved))
            return [results[j] for j in self.of]

        def measured() -> Moved:
            return [(self.rounding.of(j), rounding(k)) for k, j in enumerate(self.of)]

        return self._slopes("differences", "jvp", self.of, f, v, tangents, measured)

    def second_order(self, v: Sequence[Array]) -> Finding:
        """The JVP of the VJP against differences of the VJP, as functions of the inputs."""
        count, first = len(self.wrt), len(self.outputs)
        hvp, inputs = self.vjp.jvp(wrt=self.wrt, of=range(first, first + count)), [*self.inputs, *self.cotangents, *v]
        tangents = self.run(hvp, inputs)[-count:]

        def f(moved: Sequence[Array]) -> list[Array]:
            return self.run(self.vjp, [*self._with(moved), *self.cotangents])[-count:]

        def measured() -> Moved:
            rounding = Rounding(hvp, inputs)
            return [(self.vjp_rounding.of(first + k), rounding.of(first + count + k)) for k in range(count)]

        return self._slopes("second order", "jvp of vjp", self.wrt, f, v, tangents, measured)

    def _slopes(
        self, test: str, name: str, positions: Sequence[int], f: Function, v: Sequence[Array], tangents: Sequence[Array], measured: Callable[[], Moved]
    ) -> Finding:
        """Tangents against differences of a function; where they are further apart than rounding explains in a short program, with what it was measured to do
        to the function and to the tangents."""
        x = [self.inputs[i] for i in self.wrt]
        finding = self.compare(test, name, positions, tangents, slopes(f, x, v, self.epsilon))
        if finding.verdict != "MISMATCH":
            return finding
        moved = measured()
        directional = slopes(f, x, v, self.epsilon, [of_function for of_function, _ in moved])
        again = self.compare(test, name, positions, tangents, directional, [of_tangents for _, of_tangents in moved])
        # smaller steps are no better where rounding moves nothing
        return again if again.verdict != "MISMATCH" or again.bound > finding.bound else finding

    def _with(self, moved: Sequence[Array]) -> list[Array]:
        """The inputs with those in wrt replaced."""
        replaced = dict(zip(self.wrt, moved, strict=True))
        return [replaced.get(i, x) for i, x in enumerate(self.inputs)]

    def compare(
        self, test: str, name: str, positions: Sequence[int], tangents: Sequence[Array], directional: Sequence[Slopes], moved: Sequence[float] | None = None
    ) -> Finding:
        """Derivatives against slopes: the element that lies furthest outside its bound. ``moved``: how far rounding moves them, if that was measured."""
        worst, ratio = Finding(test, "ok"), -1.0
        for k, (j, a, s) in enumerate(zip(positions, tangents, directional, strict=True)):
            finding, relative = self._compare_one(test, name, j, _wide(a), s, None if moved is None else moved[k])
            if relative > ratio:
                worst, ratio = finding, relative
        return worst

    def _compare_one(self, test: str, name: str, j: int, a: Array, s: Slopes, moved: float | None) -> tuple[Finding, float]:
        if not a.size:
            return Finding(test, "ok"), 0.0
        settled = np.isfinite(s.error) & np.isfinite(s.value)
        if not settled.any():
            return Finding(test, "unsettled", where=_place(j, 0, a.shape), left=f"{name} {a.flat[0]:.9g}", right="differences are not finite"), 0.5
        scale = _magnitude(s.value[settled])
        bound = np.where(settled, 4 * s.error + min(1e3 * self.epsilon, 0.1) * scale + ALLOWED * (moved or 0.0), np.inf)
        error = np.where(settled, np.abs(a - s.value), 0.0)
        error = np.where(np.isnan(a) & settled, np.inf, error)
        left, right = np.real(s.left), np.real(s.right)
        low, high = np.minimum(left, right) - bound, np.maximum(left, right) + bound
        convention = s.kink & (np.real(a) >= low) & (np.real(a) <= high)
        excess = np.where(bound > 0, error / np.where(bound > 0, bound, 1.0), np.where(error > 0, np.inf, 0.0))
        judged = np.where(convention, np.minimum(excess, 1.0), excess)
        worst = int(np.argmax(judged))
        verdict: Verdict = "MISMATCH" if judged.flat[worst] > 1 else "at a kink" if bool(np.any(convention & (excess > 1))) else "ok"
        if verdict == "at a kink":
            worst = int(np.argmax(np.where(convention, excess, 0.0)))
        sides = (f"{name} {a.flat[worst]:.9g}", f"differences {s.value.flat[worst]:.9g}")
        if s.kink.flat[worst]:
            sides = (sides[0], f"differences from the left {s.left.flat[worst]:.9g}, from the right {s.right.flat[worst]:.9g}")
        at, rounding = float(bound.flat[worst]), None if moved is None else float(s.error.flat[worst]) + moved
        if rounding is not None and verdict != "MISMATCH" and at > DROWNED * scale:
            verdict = "unsettled"
        finding = Finding(test, verdict, float(error.flat[worst]), at, _place(j, worst, a.shape), *sides, float(s.step.flat[worst]), rounding)
        return finding, float(excess.flat[worst])

    def dot_product(self, v: Sequence[Array], tangents: Sequence[Array], rounding: Rounding) -> Finding:
        """Forward and reverse mode against each other; ``rounding`` is that of the JVP."""
        first, moving = len(self.outputs), [k for k, x in enumerate(v) if np.any(x)]
        directions = [v[k] for k in moving]

        def pulled(results: Sequence[Array]) -> list[Array]:
            return [results[first + k] for k in moving]

        finding = dot_product(self.cotangents, tangents, pulled(self.vjp_results), directions, self.slack)
        if finding.verdict != "MISMATCH":
            return finding
        moved = rounding.through(lambda results: _dot(self.cotangents, results[first:])[0])
        moved += self.vjp_rounding.through(lambda results: _dot(pulled(results), directions)[0])
        bound = max(finding.bound, ALLOWED * moved)
        verdict: Verdict = "MISMATCH" if finding.error > bound else "unsettled" if bound > DROWNED * finding.bound / self.slack else "ok"
        return replace(finding, verdict=verdict, bound=bound, rounding=moved)


def dot_product(y_bars: Sequence[Array], y_dots: Sequence[Array], x_bars: Sequence[Array], x_dots: Sequence[Array], slack: float) -> Finding:
    """Whether cotangents times tangents are the same behind a function as before it, within a share of the sum of magnitudes."""
    (left, before), (right, behind) = _dot(y_bars, y_dots), _dot(x_bars, x_dots)
    size = max(before, behind)
    bound = slack * size
    error = abs(left - right)
    verdict: Verdict = "ok" if error <= bound else "MISMATCH"
    if not np.isfinite(size):
        verdict = "unsettled"
    return Finding("dot product", verdict, error, bound, "", f"cotangents . jvp = {left:.9g}", f"vjp . direction = {right:.9g}")


def _dot(left: Sequence[Array], right: Sequence[Array]) -> tuple[float, float]:
    """The real part of a sum of products, and the sum of their magnitudes."""
    products = [_wide(a) * _wide(b) for a, b in zip(left, right, strict=True)]
    return sum(float(np.sum(p).real) for p in products), sum(float(np.sum(np.abs(p))) for p in products)


def _overall(findings: Sequence[Finding]) -> Verdict:
    verdicts = {f.verdict for f in findings}
    order: tuple[Verdict, ...] = ("MISMATCH", "unsettled", "at a kink")
    for verdict in order:
        if verdict in verdicts:
            return verdict
    return "ok"


def _skipped(parameter: Parameter) -> ArgumentCheck:
    return ArgumentCheck(parameter.label, str(parameter.type), "skipped", reason="not of a float or complex type")


def _wide(array: Array) -> Array:
    array = np.asarray(array)
    return array.astype(np.complex128 if array.dtype.kind == "c" else np.float64)


def _magnitude(array: Array) -> float:
    """The largest finite magnitude."""
    wide = np.abs(_wide(array))
    return float(np.max(wide, initial=0.0, where=np.isfinite(wide)))


def _largest(array: Array) -> tuple[float, int]:
    if not array.size:
        return 0.0, 0
    finite = np.where(np.isnan(array), 0.0, array)
    index = int(np.argmax(finite))
    return float(finite.flat[index]), index


def _place(j: int, index: int, shape: tuple[int, ...]) -> str:
    where = ", ".join(str(int(k)) for k in np.unravel_index(index, shape)) if shape and 0 not in shape else ""
    return f"position {j}" + (f"[{where}]" if where else "")
