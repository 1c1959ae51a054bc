"""Sparse Jacobians and Hessians: colours, and the time that making the programs takes."""

# pyright: reportUnknownParameterType=false, reportMissingParameterType=false, reportUnknownVariableType=false
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownLambdaType=false

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from benchmarks.problems.sparse import HESSIANS, JACOBIANS, bundle_adjustment
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
    for observations, cameras, points in ((8, 2, 5), (10_000, 50, 3_000)):
        shown, times = _adjustment(observations, cameras, points)
        lines.append(f"bundle adjustment, {observations} observations, microseconds (least, median): {shown}")
        numbers[f"bundle adjustment {observations}"] = times
    return lines, numbers


def _adjustment(observations: int, cameras: int, points: int) -> tuple[str, dict[str, tuple[float, float]]]:
    """Calls of a Jacobian whose rows pick arguments by index: its columns alone, and the matrix; processor time, by turns."""
    rng = np.random.default_rng(0)
    seen = rng.integers(0, cameras, observations), rng.integers(0, points, observations)
    x = (rng.uniform(1, 2, (cameras, 9)), rng.uniform(1, 2, (points, 3)), rng.uniform(size=observations), *seen, rng.uniform(size=(observations, 2)))
    program = wg.jit(partial(bundle_adjustment, wnp)).program(*x)
    columns, matrix = program.compressed_jacobian().compile(), program.jacobian(sparse=True)
    elements = matrix.program.compile()
    calls = {"compressed_jacobian": lambda: columns(*x), "jacobian(sparse=True)": lambda: matrix(*x), "its program": lambda: elements(*x)}
    times: dict[str, list[float]] = {name: [] for name in calls}
    repeats = max(5, 16_000 // observations)
    for _ in range(40):
        for name, call in calls.items():
            start = time.process_time()
            for _ in range(repeats):
                call()
            times[name].append(1e6 * (time.process_time() - start) / repeats)
    summary = {name: (min(each), float(np.median(each))) for name, each in times.items()}
    return ", ".join(f"{name} {least:.2f}, {median:.2f}" for name, (least, median) in summary.items()), summary


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
