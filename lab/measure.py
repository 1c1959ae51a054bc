"""Measuring calls: times interleaved round by round, and peaks of allocated memory."""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

Call = Callable[[], Any]


@dataclass(frozen=True)
class Times:
    """Seconds per call."""

    minimum: float
    median: float
    rounds: int


@dataclass(frozen=True)
class Measurement:
    """Seconds per call over some rounds, and the peak of bytes that a call allocates."""

    minimum: float
    median: float
    rounds: int
    peak_bytes: int


@dataclass(frozen=True)
class Samples:
    """Seconds per call: one sample for each round, in the order in which they were taken, each the mean of so many calls."""

    seconds: tuple[float, ...]
    calls: int


def measure_times(calls: Sequence[Call], *, rounds: int = 15, budget: float = 0.5) -> list[Times]:
    """The time of each call, as :func:`measure_samples` takes it."""
    return [times_of(taken) for taken in measure_samples(calls, rounds=rounds, budget=budget)]


def times_of(taken: Samples) -> Times:
    """The least and the median of samples."""
    return Times(min(taken.seconds), median(taken.seconds), len(taken.seconds))


def measure_samples(calls: Sequence[Call], *, rounds: int = 15, budget: float = 0.5) -> list[Samples]:
    """Samples of the time of each call. Every round times each of them once, so that all meet the same noise.

    A round repeats a short call until the clock's resolution no longer matters. ``budget`` bounds the seconds per call.
    """
    repeats = [_repeats(call) for call in calls]
    samples: list[list[float]] = [[] for _ in calls]
    start = time.perf_counter()
    for done in range(rounds):
        for call, repeat, taken in zip(calls, repeats, samples, strict=True):
            begin = time.perf_counter()
            for _ in range(repeat):
                call()
            taken.append((time.perf_counter() - begin) / repeat)
        if done >= 2 and time.perf_counter() - start > budget * len(calls):
            break
    return [Samples(tuple(taken), repeat) for taken, repeat in zip(samples, repeats, strict=True)]


def _repeats(call: Call) -> int:
    """The number of calls that take about a millisecond (the first one, which may compile, is not counted)."""
    call()
    begin = time.perf_counter()
    call()
    return max(1, min(1000, int(1e-3 / max(time.perf_counter() - begin, 1e-7))))


def measure_peaks(calls: Sequence[Call]) -> list[int]:
    """The peak of bytes allocated during one call each, its results included and its inputs not (traced by Python)."""
    peaks: list[int] = []
    for call in calls:
        call()
        tracemalloc.start()
        try:
            results = call()
            peaks.append(tracemalloc.get_traced_memory()[1])
            del results
        finally:
            tracemalloc.stop()
    return peaks
