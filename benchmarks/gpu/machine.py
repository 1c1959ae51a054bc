"""What the device itself gives: how fast it copies memory, and what a launch costs."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from benchmarks.gpu.sides import Side

import wengert as wg

TINY = "func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> { %0 = stablehlo.add %x, %x : tensor<4xf32> return %0 : tensor<4xf32> }"


@dataclass(frozen=True)
class Figures:
    """Figures of a device.

    Attributes:
        device: its name.
        copy_bytes_per_second: what a copy reads and writes.
        launch_us: microseconds of one launch in a row of many.
        call_us: microseconds of a call with one kernel, from arrays of the host to arrays of the host.
    """

    device: str
    copy_bytes_per_second: float
    launch_us: float
    call_us: float


def timed(sides: Sequence[Side], seconds: float, rounds: int = 9) -> list[tuple[float, float]]:
    """Least and median seconds of one asking of each side, in windows that alternate; a window asks many times and then waits."""
    counts = [max(1, int(seconds / rounds / _once(side))) for side in sides]
    windows: list[list[float]] = [[] for _ in sides]
    for _ in range(rounds):
        for side, count, spent in zip(sides, counts, windows, strict=True):
            start = time.perf_counter()
            for _ in range(count):
                side.ask()
            side.wait()
            spent.append((time.perf_counter() - start) / count)
    return [(min(spent), statistics.median(spent)) for spent in windows]


def _once(side: Side) -> float:
    side.ask()
    side.wait()
    start = time.perf_counter()
    side.ask()
    side.wait()
    return max(time.perf_counter() - start, 1e-7)


def figures(backend: str, *, megabytes: int, seconds: float) -> Figures:
    """Measures the device of a backend."""
    compiled = wg.parse(TINY).compile(backend)
    executable: Any = compiled.executable
    device, size = executable.device, megabytes << 20
    source, target = device.allocate(size), device.allocate(size)
    device.poison(source)
    x = np.ones(4, np.float32)
    copy, launch, call = timed(
        [
            _side(lambda: device.copy(source, target), device.wait),
            _side(executable.bring(x), device.wait),
            _side(lambda: compiled(x), device.wait),
        ],
        seconds,
    )
    return Figures(device.name, 2 * size / copy[0], 1e6 * launch[0], 1e6 * call[0])


def _side(ask: Callable[[], Any], wait: Callable[[], Any]) -> Side:
    return Side("", ask, wait, list)
