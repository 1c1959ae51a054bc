"""The invariant of every transform: what a program computes stays what it computes.

The primal results of each derivative program (forward, reverse by both strategies, linearized, and all of these batched) are
those of the program, at ties, NaN and indices out of bounds too, where a derivative is a matter of convention.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from wengert.runtime.program import Program

Array = np.ndarray[Any, np.dtype[Any]]
STRATEGIES = ("transpose", "direct")


def assert_primal_results_are_kept(program: Program, inputs: Sequence[Array], *, backend: str = "interpreter", tolerance: float = 1e-12) -> int:
    """Every derivative program has the program's results among its own, to rounding; returns how many programs were compared."""
    wanted = program.compile("interpreter")(*inputs)
    count = 0
    for name, derivative, batch in derivative_programs(program):
        rows = [np.stack([x] * batch) for x in inputs] if batch else list(inputs)
        results = derivative.compile(backend)(*rows, *seeds(derivative, len(inputs)))[: len(wanted)]
        for k, (mine, theirs) in enumerate(zip(results, wanted, strict=True)):
            for element in mine if batch else [mine]:
                assert_equal_to_rounding(np.asarray(element), np.asarray(theirs), tolerance, f"{name} of {program.name}, result {k}")
        count += 1
    return count


def derivative_programs(program: Program) -> Iterator[tuple[str, Program, int]]:
    """The derivative programs by name, with the size of the batch, or 0."""
    floats = [p for p in program.signature.arguments if p.differentiable]
    made: list[tuple[str, Program]] = [("program", program)]
    if floats and any(p.differentiable for p in program.signature.results):
        made.append(("jvp", program.jvp()))
        made += [(f"vjp ({strategy})", program.vjp(strategy=strategy)) for strategy in STRATEGIES]
        yield "linearize", program.linearize().primal, 0
    for name, derivative in made:
        yield name, derivative, 0
        if derivative.signature.arguments:
            yield f"vmap of {name}", derivative.vmap(size=2), 2


def seeds(derivative: Program, primal: int) -> list[Array]:
    """Ones for the tangents or cotangents that follow a derivative program's primal arguments."""
    return [np.ones(p.shape, p.dtype) for p in derivative.signature.arguments[primal:]]


def assert_equal_to_rounding(mine: Array, theirs: Array, tolerance: float, what: str) -> None:
    """Equal, or near relative to the largest finite element where the elements are inexact."""
    assert (mine.shape, mine.dtype) == (theirs.shape, theirs.dtype), what
    if mine.dtype.kind in "iub":
        np.testing.assert_array_equal(mine, theirs, err_msg=what)
        return
    wide = np.complex128 if mine.dtype.kind == "c" else np.float64
    a, b = mine.astype(wide), theirs.astype(wide)
    scale = np.max(np.abs(b[np.isfinite(b)]), initial=1.0)
    np.testing.assert_allclose(a, b, rtol=0, atol=tolerance * scale, err_msg=what)
