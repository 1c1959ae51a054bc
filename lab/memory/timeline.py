"""A timeline of memory: pieces that live from one op to another, and how many bytes are live while each op runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import numpy as np

Role = Literal["input", "result", "constant", "kept", "temporary", "inside"]
ROLES: tuple[Role, ...] = ("input", "constant", "result", "kept", "temporary", "inside")
"""The roles of memory, in the order in which pictures stack them."""
MEANINGS: dict[Role, str] = {
    "input": "arguments, which the caller holds",
    "constant": "constants of the program",
    "result": "results",
    "kept": "made in the forward part and needed in the reverse part",
    "temporary": "all else that waits for a later op",
    "inside": "what an op uses while it runs: bodies of loops, scratch memory",
}
Bytes = np.ndarray[Any, np.dtype[np.int64]]


@dataclass(frozen=True)
class Piece:
    """A piece of memory.

    Attributes:
        role: what it is for.
        name: the value in the source that it holds, where that is known.
        op: what writes it.
        type: the type of what it holds.
        line: file and line in the source.
        bytes: its size.
        first, last: the numbers of the ops between which it is live, both included.
        offset: where in the arena it begins; None elsewhere.
    """

    role: Role
    name: str
    op: str
    type: str
    line: tuple[str, int]
    bytes: int
    first: int
    last: int
    offset: int | None = None

    @property
    def title(self) -> str:
        """``%7 tanh f64[8]``."""
        return " ".join(part for part in (self.name, self.op, self.type) if part)


@dataclass(frozen=True)
class Step:
    """An op of the timeline: its name as it is shown, and its place in the source."""

    op: str
    line: tuple[str, int]


@dataclass(frozen=True)
class Timeline:
    """The memory of a program over its run.

    Attributes:
        level: ``ir`` or ``arena``.
        steps: the ops, in the order in which they run.
        pieces: the pieces of memory.
        split: the number of the op with which the reverse part begins; None where there is none.
        arena: the bytes of the arena; None where there is none.
        holes: the free ranges of the arena at its fullest, as offset and bytes.
        padding: the bytes that the pieces of the arena take beyond their sizes at its fullest, since they begin at multiples of 64.
    """

    level: Literal["ir", "arena"]
    steps: tuple[Step, ...]
    pieces: tuple[Piece, ...] = field(repr=False)
    split: int | None = None
    arena: int | None = None
    holes: tuple[tuple[int, int], ...] = ()
    padding: int = 0

    def live(self, roles: Sequence[Role] = ROLES) -> Bytes:
        """The bytes that are live while each op runs, of pieces of these roles."""
        change = np.zeros(len(self.steps) + 1, np.int64)
        for piece in self.pieces:
            if piece.role in roles:
                change[piece.first] += piece.bytes
                change[piece.last + 1] -= piece.bytes
        return np.cumsum(change)[:-1]

    @cached_property
    def total(self) -> Bytes:
        """The bytes that are live while each op runs."""
        return self.live()

    @cached_property
    def peak_step(self) -> int:
        """The number of the op at which most is live; the first of several."""
        return int(np.argmax(self.total)) if len(self.steps) else 0

    @property
    def peak(self) -> int:
        """The largest number of bytes that are live at once."""
        return int(self.total[self.peak_step]) if len(self.steps) else sum(piece.bytes for piece in self.pieces)

    @cached_property
    def at_peak(self) -> tuple[Piece, ...]:
        """The pieces that are live at the peak, by role and size."""
        at = self.peak_step
        there = [piece for piece in self.pieces if piece.first <= at <= piece.last]
        return tuple(sorted(there, key=lambda p: (ROLES.index(p.role), -p.bytes, p.first)))

    def by_role(self) -> dict[Role, int]:
        """The bytes at the peak by role; roles without any are left out."""
        sizes: dict[Role, int] = {role: sum(p.bytes for p in self.at_peak if p.role == role) for role in ROLES}
        return {role: size for role, size in sizes.items() if size}
