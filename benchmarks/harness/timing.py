"""Timing of several sides in turn, so that what disturbs one disturbs all.

The clock is the CPU time of the process, with that of all its threads: on one quiet core it is the time on the wall, and where
other programs want that core too, waiting for it does not count. Several threads are timed by the wall, which only a quiet machine makes comparable.
"""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Time:
    """Seconds per call: the least and the median of the windows (None where only the least is known)."""

    least: float
    median: float | None


Clock = Callable[[], float]


def interleaved(calls: Sequence[Callable[[], object]], seconds: float, rounds: int = 15, clock: Clock = time.process_time) -> list[Time]:
    """The time of each call, measured in ``rounds`` windows that alternate; ``seconds`` is the time for each call in all.

    A call that takes longer than its windows drops out once its time is over, but not before three of them.
    """
    counts = [max(1, int(seconds / rounds / _once(call, clock))) for call in calls]
    windows: list[list[float]] = [[] for _ in calls]
    for _ in range(rounds):
        for call, count, call_times in zip(calls, counts, windows, strict=True):
            if len(call_times) >= 3 and count * sum(call_times) > 2 * seconds:
                continue
            start = clock()
            for _ in range(count):
                call()
            call_times.append((clock() - start) / count)
    return [Time(min(call_times), statistics.median(call_times)) for call_times in windows]


def processor_seconds() -> float:
    """The CPU time of this process and of those that it started and that have ended, such as compilers (to ten milliseconds)."""
    return time.process_time() + sum(os.times()[2:4])


def _once(call: Callable[[], object], clock: Clock) -> float:
    call()
    start = clock()
    call()
    return max(clock() - start, 1e-7)
