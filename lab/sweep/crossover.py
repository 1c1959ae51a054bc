"""Finds where two modes take the same time for a full derivative, and which is faster on which side."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

TIE = 1.05
"""The ratio up to which two figures are called a tie: noise makes no crossing."""


@dataclass(frozen=True)
class Crossing:
    """A size at which two figures are the same.

    Attributes:
        size: between the two swept sizes, where the logarithm of the ratio, taken as a line over the logarithm of the size, is zero.
        below, above: these two sizes.
        before, after: the mode with less before it, and behind it.
    """

    size: float
    below: float
    above: float
    before: str
    after: str


@dataclass(frozen=True)
class Crossover:
    """The comparison of two modes' figures over all sizes.

    Attributes:
        first, second: the modes.
        crossings: where they are the same.
        ratios: the second mode's figure in units of the first one's, by size.
    """

    first: str
    second: str
    crossings: tuple[Crossing, ...]
    ratios: dict[float, float]

    def __str__(self) -> str:
        if not self.ratios:
            return "not known"
        if self.crossings:
            return "; ".join(f"at {c.size:.3g} ({c.before} below, {c.after} above)" for c in self.crossings)
        values = list(self.ratios.values())
        if all(abs(math.log(ratio)) < 1e-12 for ratio in values):
            return "none: the same at all sizes"
        if all(_is_tie(ratio) for ratio in values):
            return "none: a tie within 5 % at all sizes"
        less = self.first if max(values, key=lambda ratio: abs(math.log(ratio))) > 1 else self.second
        sizes = [(size, ratio) for size, ratio in self.ratios.items() if size in (min(self.ratios), max(self.ratios))]
        ends = [f"{_times(ratio)} times at {size:g}" if not _is_tie(ratio) else f"a tie at {size:g}" for size, ratio in sizes]
        return f"none: {less} takes less ({', '.join(ends)})"


def _times(ratio: float) -> str:
    larger = max(ratio, 1 / ratio)
    return f"{larger:.3g}" if larger < 1000 else f"{larger:.0f}"


def crossover(names: tuple[str, str], first: Mapping[float, float], second: Mapping[float, float]) -> Crossover:
    """The crossover of two figures, known by size."""
    shared = sorted(size for size in first if size in second and first[size] > 0 and second[size] > 0)
    ratios = {size: second[size] / first[size] for size in shared}
    crossings = [_crossing(names, ratios, below, above) for below, above in pairwise(size for size in shared if not _is_tie(ratios[size]))]
    return Crossover(*names, tuple(crossing for crossing in crossings if crossing is not None), ratios)


def _is_tie(ratio: float) -> bool:
    return abs(math.log(ratio)) <= math.log(TIE)


def _crossing(names: tuple[str, str], ratios: Mapping[float, float], below: float, above: float) -> Crossing | None:
    """The crossing between two sizes at which the modes differ, if it is another one that takes less; between ties the first change counts."""
    before, after = ratios[below] > 1, ratios[above] > 1
    if before == after:
        return None
    inside = [size for size in ratios if below <= size <= above]
    left, right = next((a, b) for a, b in pairwise(inside) if (ratios[b] > 1) == after)
    a, b = math.log(ratios[left]), math.log(ratios[right])
    size = math.exp(math.log(left) + a / (a - b) * (math.log(right) - math.log(left)))
    first, second = names if before else names[::-1]
    return Crossing(size, left, right, first, second)
