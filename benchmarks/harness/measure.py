"""One workload on all sides: correctness first, then time; and the limits of the machine."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from benchmarks.harness.peers import PEERS, exact, ours
from benchmarks.harness.side import Side, Unavailable
from benchmarks.harness.timing import Clock, Time, interleaved
from benchmarks.problems.workloads import Workload

TOLERANCE = {"float32": 2e-4, "float64": 1e-9}
CACHED = 1 << 18
"""A workload that moves fewer bytes is not compared with the memory's bandwidth."""


@dataclass(frozen=True)
class Measured:
    """One side of a row, in seconds; ``error`` is relative to the largest number of each result, in double precision; ``memory`` as of a ``Side``."""

    time: Time
    compile: float
    error: float
    memory: int | None = None


@dataclass(frozen=True)
class Row:
    """The measurements of one workload: ours and the peers by name, and why a peer is missing, or wrong and therefore not timed.

    ``limit`` is what the machine needs at least, in seconds (0: not counted), ``floats`` what a workload has to compute, ``moved`` the bytes that our kernels
    read and write. If ``compiling``, times are compile times.
    """

    group: str
    name: str
    ours: Measured
    peers: dict[str, Measured]
    missing: dict[str, str]
    wrong: dict[str, str]
    limit: float
    compiling: bool = False
    floats: float = 0.0
    moved: float = 0.0

    def ratio(self, peer: str) -> float:
        """Ours to theirs, of the least times."""
        return self.ours.time.least / self.peers[peer].time.least

    def median(self, peer: str) -> float | None:
        """Ours to theirs, of the medians."""
        mine, other = self.ours.time.median, self.peers[peer].time.median
        return None if mine is None or other is None else mine / other


@dataclass(frozen=True)
class Machine:
    """The limits of this core: bytes per second from memory by size of what is moved (triad), f32 and f64 flops per second (a product of NumPy)."""

    bandwidth: dict[int, float]
    flops: dict[str, float]

    def limit(self, workload: Workload) -> float:
        """The least time for the bytes and the flops of a workload."""
        size = next((n for n in sorted(self.bandwidth) if n >= workload.bytes), max(self.bandwidth))
        moved = workload.bytes / self.bandwidth[size] if workload.bytes >= CACHED else 0.0
        return max(moved, workload.floats / self.flops[workload.inputs[0].dtype.name])

    def best(self, other: Machine) -> Machine:
        """The better of two measurements, number by number."""
        flops = {name: max(value, other.flops[name]) for name, value in self.flops.items()}
        return Machine({size: max(value, other.bandwidth[size]) for size, value in self.bandwidth.items()}, flops)


def machine(seconds: float) -> Machine:
    """The limits, measured now, in this much time for each."""
    bandwidth: dict[int, float] = {}
    for size in (CACHED, 1 << 20, 1 << 23, 3 << 25):
        a, b, c = (np.ones(size // 12, np.float32) for _ in range(3))
        (triad,) = interleaved([lambda a=a, b=b, c=c: np.add(a, b, out=c)], seconds, 7)
        bandwidth[size] = 3.0 * a.nbytes / triad.least
    flops: dict[str, float] = {}
    for name in ("float32", "float64"):
        x = np.ones((1024, 1024), name)
        (product,) = interleaved([lambda x=x: x @ x], seconds, 5)
        flops[name] = 2.0 * 1024**3 / product.least
    return Machine(bandwidth, flops)


def measure(group: str, workload: Workload, limits: Machine, seconds: float, peers: Sequence[str], clock: Clock = time.process_time) -> Row:
    """Compiles and compares all sides, then times those that are right in turn.

    A side is wrong if it is further from JAX's result in double precision than the tolerance, and than twice JAX's in its own precision, which may be off by
    ten times the tolerance.

    Raises:
        AssertionError: ours is wrong.
    """
    sides, missing = [ours(workload)], dict[str, str]()
    for name in peers:
        try:
            sides.append(PEERS[name](workload))
        except Unavailable as error:
            missing[name] = str(error)
    wanted = exact(workload)
    errors = {side.name: _worst(side.results, wanted) for side in sides}
    tolerance, wrong = TOLERANCE[workload.inputs[0].dtype.name], dict[str, str]()
    for name, error in errors.items():
        allowed = 10 * tolerance if name == "jax" else max(tolerance, 2 * min(errors.get("jax", 0.0), 10 * tolerance))
        if not error <= allowed:  # NaN is wrong as well
            wrong[name] = f"{group} {workload.name}: {name} is off by {error:.1e}, more than {allowed:.1e}"
    assert "wengert" not in wrong, wrong["wengert"]
    sides = [side for side in sides if side.name not in wrong]
    times = compile_times(workload, sides) if workload.compile_only else interleaved([side.call for side in sides], seconds, clock=clock)
    measured = {side.name: Measured(time, side.compile_seconds, errors[side.name], side.memory) for side, time in zip(sides, times, strict=True)}
    return Row(group, workload.name, measured.pop("wengert"), measured, missing, wrong, limits.limit(workload), workload.compile_only, workload.floats)


def compile_times(workload: Workload, sides: Sequence[Side]) -> list[Time]:
    """Compile times again, in turn; a side that takes seconds is compiled once more only."""
    makers = {"wengert": ours, **PEERS}
    side_times: dict[str, list[float]] = {side.name: [side.compile_seconds] for side in sides}
    for number in range(4):
        for side in sides:
            if number == 0 or side.compile_seconds < 2:
                side_times[side.name].append(makers[side.name](workload).compile_seconds)
    return [Time(min(times), float(np.median(times))) for times in side_times.values()]


def _worst(ours: Sequence[Any], theirs: Sequence[Any]) -> float:
    """The largest difference relative to the largest number of the same array; NaN where one has no numbers."""
    worst = 0.0
    for x, y in zip(map(np.asarray, ours), map(np.asarray, theirs), strict=True):
        worst = float(np.maximum(worst, np.max(np.abs(x - y)) / max(float(np.max(np.abs(y))), 1e-30)))
    return worst
