"""The tests of one program at one point: derivatives against the program, against differences, and against each other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np

from wengert.lab.check.comparison import ALLOWED, DROWNED, compare, dot, dot_product, largest, magnitude, overall, place, wide
from wengert.lab.check.differences import Array, Function, slopes
from wengert.lab.check.precision import epsilon_of, working_precision
from wengert.lab.check.report import ArgumentCheck, Finding, Verdict
from wengert.lab.check.rounding import Rounding
from wengert.lab.inputs import random_like
from wengert.runtime.backends import InterpreterExecutable
from wengert.runtime.program import Program

Moved = list[tuple[float, float]]
"""How far rounding moves each result of a function, and each of its tangents."""


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
        return ArgumentCheck(label, type, overall(findings), tuple(findings))

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
            size = magnitude(b) or 1.0
            error, where = largest(np.abs(wide(a) - wide(b)) / size)
            differs = bool(np.any(np.isnan(wide(a)) != np.isnan(wide(b))))
            if error > worst.error or differs:
                rounding = self.rounding.of(j) / size if error > self.slack else None
                bound = max(self.slack, ALLOWED * (rounding or 0.0))
                verdict: Verdict = "MISMATCH" if error > bound or differs else "unsettled" if bound > DROWNED else "ok"
                index = np.unravel_index(where, b.shape) if b.size else ()
                sides = f"{mode} {a[index]:.9g}", f"program {b[index]:.9g}"
                worst = Finding("values", verdict, error, bound, place(j, where, b.shape), *sides, rounding=rounding)
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

    def first_order_of(self, name: str, v: Sequence[Array], tangents: Sequence[Array]) -> Finding:
        """Tangents along a direction, however they were made, against differences of the program."""
        rounding = Rounding(self.jvp, [*self.inputs, *v])
        return replace(self.differences(v, tangents, lambda k: rounding.of(len(self.outputs) + k)), test=name)

    def second_order(self, v: Sequence[Array], tangents: Sequence[Array] | None = None) -> Finding:
        """The JVP of the VJP against differences of the VJP, as functions of the inputs; or other second derivatives along the direction, if they are given."""
        count, first = len(self.wrt), len(self.outputs)
        hvp, inputs = self.vjp.jvp(wrt=self.wrt, of=range(first, first + count)), [*self.inputs, *self.cotangents, *v]
        tangents = self.run(hvp, inputs)[-count:] if tangents is None else tangents

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
        finding = compare(test, name, positions, tangents, slopes(f, x, v, self.epsilon), self.epsilon)
        if finding.verdict != "MISMATCH":
            return finding
        moved = measured()
        directional = slopes(f, x, v, self.epsilon, [of_function for of_function, _ in moved])
        again = compare(test, name, positions, tangents, directional, self.epsilon, [of_tangents for _, of_tangents in moved])
        # smaller steps are no better where rounding moves nothing
        return again if again.verdict != "MISMATCH" or again.bound > finding.bound else finding

    def _with(self, moved: Sequence[Array]) -> list[Array]:
        """The inputs with those in wrt replaced."""
        replaced = dict(zip(self.wrt, moved, strict=True))
        return [replaced.get(i, x) for i, x in enumerate(self.inputs)]

    def dot_product(self, v: Sequence[Array], tangents: Sequence[Array], rounding: Rounding) -> Finding:
        """Forward and reverse mode against each other; ``rounding`` is that of the JVP."""
        first, moving = len(self.outputs), [k for k, x in enumerate(v) if np.any(x)]
        directions = [v[k] for k in moving]

        def pulled(results: Sequence[Array]) -> list[Array]:
            return [results[first + k] for k in moving]

        finding = dot_product(self.cotangents, tangents, pulled(self.vjp_results), directions, self.slack)
        if finding.verdict != "MISMATCH":
            return finding
        moved = rounding.through(lambda results: dot(self.cotangents, results[first:])[0])
        moved += self.vjp_rounding.through(lambda results: dot(pulled(results), directions)[0])
        bound = max(finding.bound, ALLOWED * moved)
        verdict: Verdict = "MISMATCH" if finding.error > bound else "unsettled" if bound > DROWNED * finding.bound / self.slack else "ok"
        return replace(finding, verdict=verdict, bound=bound, rounding=moved)
