"""Sets of threads of a batch: those that execute an instruction together.

A batch of blocks runs side by side; its threads are numbered from 0, and a register is an array with one element for each of them.
A set of threads is a slice where they are consecutive, so that reading a register copies nothing, and an array of numbers otherwise.
"""

from __future__ import annotations

from typing import Any

import numpy as np


class Lanes:
    """A non-empty set of threads.

    Attributes:
        numbers: the numbers of the threads, ascending.
        index: what selects their elements from an array over the batch.
        count: how many there are.
    """

    __slots__ = ("count", "index", "numbers")

    def __init__(self, numbers: Any):
        self.numbers = numbers
        self.count = len(numbers)
        first, last = int(numbers[0]), int(numbers[-1])
        self.index: Any = slice(first, last + 1) if last - first + 1 == self.count else numbers

    def where(self, condition: Any) -> Lanes | None:
        """The threads of the set for which a condition over the set holds, or None if there are none."""
        if condition.all():
            return self
        if not condition.any():
            return None
        return Lanes(self.numbers[condition])

    def union(self, other: Lanes) -> Lanes:
        """The threads of both sets, which are disjoint."""
        return Lanes(np.sort(np.concatenate((self.numbers, other.numbers))))

    def spread(self, value: Any) -> Any:
        """A value for the set with an element for each thread: what threads share is repeated."""
        return value if len(value) == self.count else np.broadcast_to(value, (self.count,))
