"""Whether one program is faster than another one, from samples of a noisy machine: faster, slower, or no difference seen.

What is compared is the ratio of lower quartiles: other processes only ever add time, so a low order statistic is disturbed less than the mean or the median
(Chen and Revels, Robust Benchmarking in Noisy Environments, 2016, who take the least). Its interval is a percentile bootstrap (Efron and Tibshirani, An
Introduction to the Bootstrap, 1993) over two levels, as Kalibera and Jones advise for benchmarks (Rigorous Benchmarking in Reasonable Time, ISMM 2013): records
of a side are drawn first, then samples in them. Samples that follow each other share their noise, so they are drawn in blocks of neighbours (Künsch, The
Jackknife and the Bootstrap for General Stationary Observations, 1989). A difference is seen where

- the interval does not hold 1;
- the ratio of quartiles is at least the minimum effect, 5 % unless told otherwise; and
- so is the ratio of the least samples, in the same direction: a difference that these do not show is that of the machine and not of the program.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

EFFECT = 0.05
CONFIDENCE = 0.99
RESAMPLES = 2000
FEWEST = 5
"""Samples of each side without which there is no verdict."""
Kind = Literal["faster", "slower", "no difference seen", "too few samples"]
Samples = Sequence[Sequence[float]]
"""The samples of each record of a side."""
Vector = np.ndarray[Any, np.dtype[np.float64]]


@dataclass(frozen=True)
class Verdict:
    """The verdict on B beside A.

    Attributes:
        kind: ``slower``: B takes more time than A.
        ratio: the lower quartile of B over that of A; NaN for too few samples.
        low, high: the interval of the ratio.
        least: the least sample of B over that of A.
    """

    kind: Kind
    ratio: float
    low: float
    high: float
    least: float

    def __str__(self) -> str:
        if self.kind == "too few samples":
            return self.kind
        return f"{self.kind}: {self.ratio:.3g} times ({self.low:.3g} to {self.high:.3g})"


def judge(a: Samples, b: Samples, *, effect: float = EFFECT, confidence: float = CONFIDENCE, seed: int = 0) -> Verdict:
    """The verdict on B beside A.

    Args:
        a: seconds per call of A, a list for each record.
        b: the same of B.
        effect: the least difference that counts, as a part of the smaller side.
        confidence: how often the interval holds the ratio, were samples drawn independently.
        seed: of the bootstrap.
    """
    a, b = [[*record] for record in a if len(record)], [[*record] for record in b if len(record)]
    if min(sum(map(len, a)), sum(map(len, b))) < FEWEST:
        return Verdict("too few samples", float("nan"), float("nan"), float("nan"), float("nan"))
    ratio = quartile(np.concatenate(b)) / quartile(np.concatenate(a))
    least = min(map(min, b)) / min(map(min, a))
    generator = np.random.default_rng(seed)
    ratios = _resampled(b, generator) / _resampled(a, generator)
    low, high = (float(q) for q in np.quantile(ratios, [(1 - confidence) / 2, (1 + confidence) / 2]))
    return Verdict(_kind(ratio, low, high, least, effect), ratio, low, high, least)


def _kind(ratio: float, low: float, high: float, least: float, effect: float) -> Kind:
    if low > 1 and min(ratio, least) >= 1 + effect:
        return "slower"
    if high < 1 and max(ratio, least) <= 1 / (1 + effect):
        return "faster"
    return "no difference seen"


def quartile(samples: Sequence[float] | Vector) -> float:
    """The lower quartile of samples."""
    return float(np.quantile(np.asarray(samples, np.float64), 0.25))


def _resampled(records: Samples, generator: np.random.Generator) -> Vector:
    """The lower quartiles of resampled records: each draws as many records as there are, and of each as many samples, in blocks of neighbours."""
    arrays = [np.asarray(record, np.float64) for record in records]
    drawn = np.full((RESAMPLES, len(arrays), max(map(len, arrays))), np.nan)
    chosen = generator.integers(0, len(arrays), (RESAMPLES, len(arrays)))
    for number, samples in enumerate(arrays):
        at = chosen == number
        drawn[at, : len(samples)] = _blocks(samples, int(at.sum()), generator)
    ordered = np.sort(drawn.reshape(RESAMPLES, -1), axis=1)  # what is not there comes last
    place = 0.25 * (np.count_nonzero(~np.isnan(ordered), axis=1) - 1)
    below, row = place.astype(np.int64), np.arange(RESAMPLES)
    low, high = ordered[row, below], ordered[row, below + (place > below)]
    return low + (place - below) * (high - low)


def _blocks(samples: Vector, times: int, generator: np.random.Generator) -> Vector:
    """As many samples, so many times, in blocks of about the cube root of their number, which may go around the end."""
    count = len(samples)
    length = max(1, round(count ** (1 / 3)))
    starts = generator.integers(0, count, (times, -(-count // length)))
    indices = (starts[:, :, None] + np.arange(length)).reshape(times, -1)[:, :count] % count
    return samples[indices]
