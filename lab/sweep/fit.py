"""The exponent of a figure's growth: the slope of a line through its logarithm over that of the size, by least squares, with its standard error."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

FEWEST = 3


@dataclass(frozen=True)
class Growth:
    """A figure grows as a power of the size.

    Attributes:
        exponent: the power.
        error: its standard error, that of the slope of a regression line; None for two sizes, through which a line goes exactly.
        sizes: the sizes that it was fitted to.
    """

    exponent: float
    error: float | None
    sizes: tuple[float, ...]

    def __str__(self) -> str:
        return f"{self.exponent:.2f}" if self.error is None else f"{self.exponent:.2f} ± {self.error:.2f}"


def growth(sizes: Sequence[float], values: Sequence[float]) -> Growth | None:
    """The growth over the larger half of the sizes, three at least; None for fewer than two sizes, or values that are not positive."""
    pairs = sorted((x, y) for x, y in zip(sizes, values, strict=True) if x > 0 and y > 0)
    pairs = pairs[-max(FEWEST, -(-len(pairs) // 2)) :]
    if len(pairs) < 2:
        return None
    xs, ys = [math.log(x) for x, _ in pairs], [math.log(y) for _, y in pairs]
    middle_x, middle_y = math.fsum(xs) / len(xs), math.fsum(ys) / len(ys)
    spread = math.fsum((x - middle_x) ** 2 for x in xs)
    slope = math.fsum((x - middle_x) * (y - middle_y) for x, y in zip(xs, ys, strict=True)) / spread
    error = None
    if len(xs) > 2:
        left = math.fsum((y - middle_y - slope * (x - middle_x)) ** 2 for x, y in zip(xs, ys, strict=True))
        error = math.sqrt(left / (len(xs) - 2) / spread)
    return Growth(slope, error, tuple(x for x, _ in pairs))
