"""Where two modes take the same time for a full derivative, and which is faster on which side."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise


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
    """How the figures of two modes compare over all sizes.

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
        less = self.first if values[-1] > 1 else self.second
        ends = [f"{_times(ratio)} times at {size:g}" for size, ratio in self.ratios.items() if size in (min(self.ratios), max(self.ratios))]
        return f"none: {less} takes less at all sizes ({', '.join(ends)})"


def _times(ratio: float) -> str:
    larger = max(ratio, 1 / ratio)
    return f"{larger:.3g}" if larger < 1000 else f"{larger:.0f}"


def crossover(names: tuple[str, str], first: Mapping[float, float], second: Mapping[float, float]) -> Crossover:
    """The crossover of two figures, known by size."""
    shared = sorted(size for size in first if size in second and first[size] > 0 and second[size] > 0)
    ratios = {size: second[size] / first[size] for size in shared}
    crossings: list[Crossing] = []
    signed = [(size, math.log(ratio)) for size, ratio in ratios.items() if ratio != 1]
    for (below, a), (above, b) in pairwise(signed):
        if (a > 0) != (b > 0):
            share = a / (a - b)
            size = math.exp(math.log(below) + share * (math.log(above) - math.log(below)))
            before, after = (names[0], names[1]) if a > 0 else (names[1], names[0])
            crossings.append(Crossing(size, below, above, before, after))
    return Crossover(*names, tuple(crossings), ratios)
