"""Finds growing tapes of the same length, so that a loop around them records once where each of its iterations begins on all of them.

A loop pushes one value in each of its iterations on every tape that it writes, so these are as long as each other. A loop around it appends them to tapes of
its own; those are as long as each other again, and their beginnings are positions that are pushed in every iteration. With positions of its own for each
tape, two tapes at one level would be four at the next, and a loop inside of d others would have 2^d.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from wengert.dialects.builder import Value


class Lengths:
    """The lengths of tapes, as far as they are known: equal names stand for equal lengths."""

    def __init__(self) -> None:
        self._names: dict[Hashable, int] = {}
        self._of: dict[Value, int] = {}

    def name(self, *key: Hashable) -> int:
        """The name of a length by what determines it."""
        return self._names.setdefault(key, len(self._names))

    def of(self, tape: Value) -> int:
        """The name of a tape's length, which no other tape has if nothing is known."""
        known = self._of.get(tape)
        return self.name(tape) if known is None else known

    def set(self, tape: Value, name: int) -> None:
        """Says that a tape has a length of this name."""
        self._of[tape] = name

    def groups(self, tapes: Sequence[Value]) -> list[int]:
        """For each tape the position of its length among the different ones, in the order in which they come."""
        places: dict[int, int] = {}
        return [places.setdefault(self.of(tape), len(places)) for tape in tapes]
