"""Finds batches that are computed with lanes across batch elements: those of many batch elements of few elements each."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

MOST_POINTS = 12
"""Rows of so many elements are unrolled: vectors in space, small matrices, a few classes. Longer ones fill registers as they are."""
SMALLEST_BATCH = 16
FEWEST_ITERATIONS = 6
"""The innermost loop over the batch, which the lanes are along, has at least so many iterations."""


def is_short(batch: Sequence[int], points: int) -> bool:
    """Whether there are many batch elements of few elements, or of few multiplications, each."""
    return bool(batch) and prod(batch) >= SMALLEST_BATCH and batch[-1] >= FEWEST_ITERATIONS and 1 <= points <= MOST_POINTS
