"""Taylor coefficients of every program of a corpus against nested JVPs.

::

    python -m benchmarks.taylor_agreement CORPUS/dev [--order 6] [--seconds 120] [--programs A,B] [--json FILE]

Nested JVPs of order k are a program of about 2^k times the size: each order is made and interpreted until the time for a program is over, so that
every program is compared up to the highest order that it reaches. The error of a coefficient is relative to the largest element of what it should be,
or to a thousandth of the largest of all orders where that is more. Where it is above 1e-10 it is compared with what rounding does: how far the same
coefficients move if inputs change in their last place.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from math import factorial
from pathlib import Path
from typing import Any, cast

import numpy as np

import wengert as wg
from wengert.lab.corpus import CorpusProgram, read_corpus
from wengert.lab.isolation import ProcessEndedError, in_copy, time_limit
from wengert.runtime.interpreter import run
from wengert.runtime.program import Program

Array = np.ndarray[Any, np.dtype[Any]]
WANTED = 1e-10
ROUNDINGS = 20
"""How many times what rounding was seen to do counts as rounding."""


@dataclass(frozen=True)
class Compared:
    """How a program's coefficients agree: the highest order that was compared, the largest error of each, and what rounding does to them."""

    program: str
    order: int
    errors: tuple[float, ...]
    rounding: tuple[float, ...] = ()
    said: str = ""

    @property
    def verdict(self) -> str:
        """``agrees``, ``rounding``, ``differs``, or what was said."""
        if not self.errors:
            return self.said
        if max(self.errors) <= WANTED:
            return "agrees"
        return "rounding" if all(e <= max(WANTED, ROUNDINGS * r) for e, r in zip(self.errors, self.rounding, strict=True)) else "differs"

    def __str__(self) -> str:
        errors = " ".join(f"{error:.0e}" for error in self.errors)
        moved = f" (rounding: {' '.join(f'{r:.0e}' for r in self.rounding)})" if self.rounding else ""
        return f"{self.program:32} {self.verdict:8} order {self.order}  {errors}{moved}"


def compare(program: CorpusProgram, order: int, seconds: float) -> Compared:
    """One program, in f64 where there is such a text."""
    precision = "f64" if "f64" in program.precisions else program.precisions[0]
    reference = program.reference(precision)
    text = wg.load(program.path(precision))
    wrt, of = tuple(sorted(reference.tangents)), tuple(sorted(reference.cotangents))
    rng = np.random.default_rng(0)
    along = [_direction(rng, reference.inputs[i]) for i in wrt]
    expected = _nested(text, order, [*reference.inputs], along, wrt, of, seconds)
    if not expected:
        return Compared(program.name, 0, (), said="no nested JVP in time")
    reached = len(expected)
    module = text.taylor(reached, wrt, of).optimized_module

    def coefficients(inputs: Sequence[Any]) -> list[Array]:
        return [np.asarray(x) for x in run(module, [*inputs, *along])[-len(of) :]]

    made = coefficients(reference.inputs)
    errors = _errors(made, expected)
    if max(errors) <= WANTED:
        return Compared(program.name, reached, errors)
    eps = next(e for name, e in EPS.items() if name in program.path(precision).read_text())
    moved = [coefficients([_moved(x, eps, seed) if i in wrt else x for i, x in enumerate(reference.inputs)]) for seed in range(3)]
    by_order = [[x[j] for x in made] for j in range(reached)]
    return Compared(program.name, reached, errors, tuple(map(max, zip(*[_errors(m, by_order) for m in moved], strict=True))))


EPS = {"bf16": 2.0**-8, "f16": 2.0**-11, "f32": 2.0**-24, "f64": 2.0**-53}
"""The last place of the narrowest type in a program."""


def _moved(x: Array, eps: float, seed: int) -> Array:
    """Each element larger or smaller by its last place."""
    signs = np.random.default_rng(seed).choice([-1.0, 1.0], x.shape)
    return np.asarray(x * (1 + 2 * eps * signs), x.dtype)


def _direction(rng: np.random.Generator, x: Array) -> Array:
    drawn = cast("Array", rng.standard_normal(x.shape))
    return np.asarray(drawn + 1j * rng.standard_normal(x.shape) if x.dtype.kind == "c" else drawn, x.dtype)


def _nested(program: Program, order: int, inputs: list[Any], along: list[Array], wrt: Sequence[int], of: Sequence[int], seconds: float) -> list[list[Array]]:
    """Coefficients by JVPs of JVPs for each order that is reached in time."""
    reached: list[list[Array]] = []
    current, last = program, list(of)
    try:
        with time_limit(seconds):
            for j in range(1, order + 1):
                count = len(current.signature.results)
                current, inputs = current.jvp(wrt, last), [*inputs, *along]
                last = list(range(count, count + len(of)))
                results = run(current.optimized_module, inputs)
                reached.append([np.asarray(results[k]) / factorial(j) for k in last])
    except TimeoutError:
        pass
    return reached


def _errors(made: Sequence[Array], expected: Sequence[Sequence[Array]]) -> tuple[float, ...]:
    """The largest error of each order, over all results."""
    return tuple(max(_error(np.asarray(x)[j], [e[k] for e in expected], j) for k, x in enumerate(made)) for j in range(len(expected)))


def _error(made: Array, expected: Sequence[Array], j: int) -> float:
    """The largest error of coefficient j + 1, which is infinite where NaN or infinities are at other places."""

    def largest(x: Array) -> float:
        return float(np.abs(x[np.isfinite(x)]).max(initial=0.0))

    wanted = expected[j]
    if np.any(np.isfinite(made) != np.isfinite(wanted)):
        return float("inf")
    scale = max(largest(wanted), 1e-3 * max(map(largest, expected)))
    return largest(np.asarray(made - wanted)) / scale if scale else 0.0


def main(arguments: Sequence[str] | None = None) -> int:
    """Prints a line for each program, and returns 1 if one differs."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.taylor_agreement", description="Taylor mode against nested JVPs.")
    parser.add_argument("corpus", type=Path, help="the folder of a corpus")
    parser.add_argument("--order", type=int, default=6, help="the highest order (default: 6)")
    parser.add_argument("--seconds", type=float, default=120, help="time for the nested JVPs of a program (default: 120)")
    parser.add_argument("--programs", metavar="A,B", help="programs by name (default: all)")
    parser.add_argument("--json", metavar="FILE", help="write what was compared there")
    options = parser.parse_args(arguments)
    listed: list[Compared] = []
    for program in read_corpus(options.corpus, set(options.programs.split(",")) if options.programs else None):
        try:
            compared = in_copy(lambda program=program: compare(program, options.order, options.seconds), 3 * options.seconds)
        except (ProcessEndedError, wg.DiagnosticError) as error:
            compared = Compared(program.name, 0, (), said=str(error).strip().splitlines()[0])
        listed.append(compared)
        print(compared, flush=True)
    right = [c for c in listed if c.verdict == "agrees"]
    rounded = sum(c.verdict == "rounding" for c in listed)
    print(f"{len(right)} of {len(listed)} agree to {WANTED:g}: {_by_order(right)}; {rounded} more as far as rounding lets them")
    if options.json:
        Path(options.json).write_text(json.dumps([{**asdict(c), "verdict": c.verdict} for c in listed], indent=1))
    return int(any(c.verdict == "differs" for c in listed))


def _by_order(listed: Sequence[Compared]) -> str:
    counts = {order: sum(c.order == order for c in listed) for order in sorted({c.order for c in listed}, reverse=True)}
    return ", ".join(f"{count} up to order {order}" for order, count in counts.items())


if __name__ == "__main__":
    raise SystemExit(main())
