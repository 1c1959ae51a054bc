"""Whether one program is faster than another one, from samples of a noisy machine: faster, slower, or no difference seen.

What is compared is the ratio of lower quartiles: other processes only ever add time, so a low order statistic is disturbed less than the mean or the median
(Chen and Revels, Robust Benchmarking in Noisy Environments, 2016, who take the least). Its interval is a percentile bootstrap (Efron and Tibshirani, An
Introduction to the Bootstrap, 1993) over two levels, as Kalibera and Jones advise for benchmarks (Rigorous Benchmarking in Reasonable Time, ISMM 2013): records
of a side are drawn first, then samples in them. Samples that follow each other share their noise, so they are drawn in blocks of neighbours (Künsch, The
Jackknife and the Bootstrap for General Stationary Observations, 1989). The same ratio is formed of times in units of a yardstick that was timed in the same
rounds. A difference is seen where

- neither interval holds 1;
- both ratios are at least the minimum effect, 5 % unless told otherwise; and
- so is the ratio of the least samples, in the same direction: a difference that these do not show is that of the machine and not of the program.

How far two runs of the same program differ, one record does not tell: with fewer than three on a side, a comparison of many tasks takes it from how far
their ratios lie apart (:func:`between_runs`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

EFFECT = 0.05
CONFIDENCE = 0.99
RESAMPLES = 2000
FEWEST = 5
"""Samples of each side without which there is no verdict."""
Kind = Literal["faster", "slower", "no difference seen", "too few samples"]
Vector = np.ndarray[Any, np.dtype[np.float64]]


ENOUGH_RECORDS, ENOUGH_TASKS = 3, 8
"""Records of each side that tell how far runs differ, and tasks that do."""


@dataclass(frozen=True)
class Timing:
    """The samples of a record, and those of the yardstick in the same rounds (none where it was not timed)."""

    samples: tuple[float, ...]
    yardstick: tuple[float, ...] = ()


@dataclass(frozen=True)
class Verdict:
    """The verdict on B beside A.

    Attributes:
        kind: ``slower``: B takes more time than A.
        ratio: the lower quartile of B over that of A; NaN for too few samples.
        low, high: the interval of the ratio.
        relative: the ratio of times in units of the yardstick; that of seconds where there was none.
        relative_low, relative_high: its interval.
        least: the least sample of B over that of A.
    """

    kind: Kind
    ratio: float
    low: float
    high: float
    relative: float
    relative_low: float
    relative_high: float
    least: float

    def __str__(self) -> str:
        if self.kind == "too few samples":
            return self.kind
        measured = f", {self.relative:.3g} by the yardstick" if self.relative != self.ratio else ""
        return f"{self.kind}: {self.ratio:.3g} times ({self.low:.3g} to {self.high:.3g}){measured}"

    def at_least(self, effect: float) -> Verdict:
        """The verdict with a larger minimum effect."""
        return self if self.kind == "too few samples" else replace(self, kind=_kind(self, effect))


def judge(a: Sequence[Timing], b: Sequence[Timing], *, effect: float = EFFECT, confidence: float = CONFIDENCE, seed: int = 0) -> Verdict:
    """The verdict on B beside A.

    Args:
        a: the samples of A, in seconds per call, for each record.
        b: the same of B.
        effect: the least difference that counts, as a part of the smaller side.
        confidence: how often an interval holds its ratio, were samples drawn independently.
        seed: of the bootstrap.
    """
    a, b = [timing for timing in a if timing.samples], [timing for timing in b if timing.samples]
    nan = float("nan")
    if min(sum(len(timing.samples) for timing in side) for side in (a, b)) < FEWEST:
        return Verdict("too few samples", nan, nan, nan, nan, nan, nan, nan)
    generator = np.random.default_rng(seed)
    (time_a, unit_a), (time_b, unit_b) = (_resampled(side, generator) for side in (a, b))
    least = min(min(timing.samples) for timing in b) / min(min(timing.samples) for timing in a)
    ratio = _quartile_of(b) / _quartile_of(a)
    low, high = _interval(time_b / time_a, confidence)
    relative, relative_low, relative_high = ratio, low, high
    if unit_a is not None and unit_b is not None:
        relative = ratio * _unit_of(a) / _unit_of(b)
        relative_low, relative_high = _interval(time_b / unit_b * unit_a / time_a, confidence)
    verdict = Verdict("no difference seen", ratio, low, high, relative, relative_low, relative_high, least)
    return verdict.at_least(effect)


def between_runs(verdicts: Sequence[Verdict]) -> float | None:
    """How far runs of the same program differ, as the standard deviation of the logarithm of a ratio; None for fewer than eight verdicts.

    Most tasks are taken to be what they were, so that the middle of their ratios shows the noise between runs: an empirical null hypothesis (Efron, Large-Scale
    Simultaneous Hypothesis Testing: The Choice of a Null Hypothesis, 2004). The deviation is 1.4826 times the median distance from the median.
    """
    logs = np.log([verdict.relative for verdict in verdicts if verdict.kind != "too few samples"])
    if len(logs) < ENOUGH_TASKS:
        return None
    return float(1.4826 * np.median(np.abs(logs - np.median(logs))))


def _interval(ratios: Vector, confidence: float) -> tuple[float, float]:
    low, high = np.quantile(ratios, [(1 - confidence) / 2, (1 + confidence) / 2])
    return float(low), float(high)


def _kind(verdict: Verdict, effect: float) -> Kind:
    if min(verdict.low, verdict.relative_low) > 1 and min(verdict.ratio, verdict.relative, verdict.least) >= 1 + effect:
        return "slower"
    if max(verdict.high, verdict.relative_high) < 1 and max(verdict.ratio, verdict.relative, verdict.least) <= 1 / (1 + effect):
        return "faster"
    return "no difference seen"


def _quartile_of(side: Sequence[Timing]) -> float:
    return quartile([sample for timing in side for sample in timing.samples])


def _unit_of(side: Sequence[Timing]) -> float:
    return quartile([sample for timing in side for sample in timing.yardstick])


def quartile(samples: Sequence[float] | Vector) -> float:
    """The lower quartile of samples."""
    return float(np.quantile(np.asarray(samples, np.float64), 0.25))


def _resampled(side: Sequence[Timing], generator: np.random.Generator) -> tuple[Vector, Vector | None]:
    """The lower quartiles of resampled records, and of the yardstick in the same rounds, where all have it: each draws as many records as there are, and of
    each as many samples, in blocks of neighbours."""
    longest = max(len(timing.samples) for timing in side)
    has_unit = all(len(timing.yardstick) == len(timing.samples) for timing in side)
    drawn = np.full((2, RESAMPLES, len(side), longest), np.nan)
    chosen = generator.integers(0, len(side), (RESAMPLES, len(side)))
    for number, timing in enumerate(side):
        at = chosen == number
        indices = _blocks(len(timing.samples), int(at.sum()), generator)
        drawn[0, at, : indices.shape[1]] = np.asarray(timing.samples, np.float64)[indices]
        if has_unit:
            drawn[1, at, : indices.shape[1]] = np.asarray(timing.yardstick, np.float64)[indices]
    flat = drawn.reshape(2, RESAMPLES, -1)
    return _quartiles(flat[0]), _quartiles(flat[1]) if has_unit else None


def _quartiles(rows: Vector) -> Vector:
    """The lower quartile of each row; what is not there is NaN."""
    ordered = np.sort(rows, axis=1)  # what is not there comes last
    place = 0.25 * (np.count_nonzero(~np.isnan(ordered), axis=1) - 1)
    below, row = place.astype(np.int64), np.arange(len(rows))
    low, high = ordered[row, below], ordered[row, below + (place > below)]
    return low + (place - below) * (high - low)


def _blocks(count: int, times: int, generator: np.random.Generator) -> np.ndarray[Any, np.dtype[np.int64]]:
    """The indices of as many samples, so many times, in blocks of about the cube root of their number, which may go around the end."""
    length = max(1, round(count ** (1 / 3)))
    starts = generator.integers(0, count, (times, -(-count // length)))
    return (starts[:, :, None] + np.arange(length)).reshape(times, -1)[:, :count] % count
