"""Sparse Jacobians and Hessians: colours, and the time that making the programs takes."""

# pyright: reportUnknownParameterType=false, reportMissingParameterType=false, reportUnknownVariableType=false
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownLambdaType=false

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from benchmarks.problems.sparse import HESSIANS, JACOBIANS
from benchmarks.strategies import Section

import wengert as wg
from wengert import numpy as wnp
from wengert.runtime.program import Program
from wengert.transforms.ad.jacobians.compression import forget


def sparsity() -> Section:
    """Directions of sparse derivatives, by colouring, and the processor time until the first matrix beside that of the dense one by forward mode."""
    lines: list[str] = []
    numbers: dict[str, Any] = {}
    _sparse(*JACOBIANS["tridiagonal"], ("columns",))  # modules are imported, and code generators made
    for problems, colourings in ((JACOBIANS, ("columns", "rows", "both")), (HESSIANS, ("star", "acyclic"))):
        for name, (function, size) in problems.items():
            directions, elements, seconds = _sparse(function, size, colourings)
            listed = ", ".join(f"{colouring} {count}" for colouring, count in directions.items())
            times = f"first matrix after {seconds[0]:.3f} s, the dense one after {seconds[1]:.3f} s"
            lines.append(f"{name}, {size} columns, {elements} elements: directions by {listed}; {times}")
            numbers[name] = {"directions": directions, "elements": elements, "seconds": seconds}
    return lines, numbers


def _sparse(function: Any, size: int, colourings: Sequence[Any]) -> tuple[dict[str, int], int, list[float]]:
    """Directions by colouring, elements, and seconds for a sparse and a dense derivative of a program that was not differentiated before: the least of a few,
    by turns."""
    x = np.linspace(0.5, 1.5, size)

    def made() -> Program:
        return wg.jit(partial(function, wnp)).program(x)

    def timed(program: Program, *, as_sparse: bool) -> float:
        start = time.process_time()
        if as_sparse:
            (program.hessian(sparse=True) if of_hessian else program.jacobian(sparse=True))(x)
        else:
            (program.jacrev().jacfwd() if of_hessian else program.jacfwd())(x)
        return time.process_time() - start

    program, of_hessian = made(), "star" in colourings
    times: list[tuple[float, float]] = []
    for _ in range(3):
        forget()
        program = made()
        times.append((timed(program, as_sparse=True), timed(made(), as_sparse=False)))
    seconds = [min(column) for column in zip(*times, strict=True)]
    sparse = program.sparse_hessian() if of_hessian else program.sparse_jacobian()
    derivatives = {c: program.sparse_hessian(colouring=c) if of_hessian else program.sparse_jacobian(colouring=c) for c in colourings}
    return {c: sum(derivative.directions) for c, derivative in derivatives.items()}, sparse.pattern.nnz, seconds
