"""One row of the table: a workload, checked, then timed beside what else runs on the device."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from benchmarks.gpu.machine import timed
from benchmarks.gpu.sides import SIDES, Array, Side, Unavailable, numbers, program
from benchmarks.gpu.workloads import Workload

from wengert.transforms.analysis.program_cost import program_cost

TOLERANCE = {"float32": 2e-4, "bfloat16": 6e-2}
"""How far results may be from those of the CPU backend in f32, of the largest element."""


@dataclass
class Row:
    """A workload as it was measured.

    Attributes:
        bytes: of all arguments and results.
        flops: counted from the program.
        seconds: least and median by side.
        missing: why a side is missing.
        wrong: what is wrong with our results; nothing is timed then.
    """

    name: str
    bound: str
    bytes: int
    flops: int
    seconds: dict[str, tuple[float, float]] = field(default_factory=dict[str, tuple[float, float]])
    missing: dict[str, str] = field(default_factory=dict[str, str])
    wrong: str = ""

    def of_copy(self, bytes_per_second: float) -> float:
        """The bytes per second as a share of those of a copy."""
        return self.bytes / self.seconds["wengert"][0] / bytes_per_second

    def ratio(self, side: str) -> float | None:
        """Our least time to another side's."""
        theirs = self.seconds.get(side)
        return self.seconds["wengert"][0] / theirs[0] if theirs is not None and "wengert" in self.seconds else None


def measure(workload: Workload, backend: str, peers: Sequence[str], seconds: float, *, full: bool = True) -> Row:
    """Checks a workload at its small shapes, then times it at its full ones (or at the small ones, for trying the script)."""
    shapes = workload.shapes if full else workload.small
    made = program(workload, shapes, gradient=workload.gradient)
    arrays = [*made.signature.arguments, *made.signature.results]
    row = Row(workload.name, workload.bound, sum(int(np.prod(a.shape)) * a.dtype.itemsize for a in arrays), int(program_cost(made.core_module).flops))
    row.wrong = difference(workload, backend)
    if row.wrong:
        return row
    sides: list[Side] = []
    for name in ("wengert", *peers):
        try:
            sides.append(SIDES[name](workload, shapes, backend))
        except Unavailable as error:
            row.missing[name] = str(error)
    for side, spent in zip(sides, timed(sides, seconds), strict=True):
        row.seconds[side.name] = spent
    return row


def difference(workload: Workload, backend: str) -> str:
    """What is wrong with the results at the small shapes, beside the CPU backend's; empty if nothing is."""
    inputs = numbers(workload, workload.small)
    made = program(workload, workload.small, gradient=workload.gradient)
    results, expected = made.compile(backend)(*inputs), made.compile("cpu")(*inputs)
    for number, (result, right) in enumerate(zip(results, expected, strict=True)):
        error = _error(result, right)
        if not error <= TOLERANCE[workload.dtype]:
            return f"result {number} is off by {error:.1e} of its largest element"
    return ""


def _error(result: Array, right: Array) -> float:
    wide = right.astype(np.float64)
    return float(np.max(np.abs(result.astype(np.float64) - wide), initial=0) / max(float(np.max(np.abs(wide), initial=0)), 1e-30))
