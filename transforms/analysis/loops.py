"""Collapses, reorders and cuts the loops of a nest, and writes its positions in terms of the new ones.

A loop that occurs only as quotient and remainder is split in two. Loops of one iteration vanish. Neighbours that every access
walks through as one are merged: an elementwise nest over [8, 128] becomes one loop over 1024.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from xdsl.ir import Operation

from wengert.dialects.kernel import IndexOp, LoadOp, NestOp, WithinOp, Write
from wengert.dialects.kernel.positions import ZERO, Atom, Position, Quotient, Remainder, combine, dimensions, index, substitute
from wengert.ir.traversal import ops_in

MOST_PHASES = 4
"""A loop of so few iterations may be unrolled (:mod:`wengert.transforms.kernel.phase_unrolling`)."""


class Loops:
    """Loops, and the positions of a nest in terms of them."""

    def __init__(self, extents: Sequence[int], accesses: Iterable[Position]):
        self.extents: list[int] = list(extents)
        self._moved: dict[Position, Position] = {access: access for access in accesses}

    @classmethod
    def of(cls, op: NestOp) -> Loops:
        """The loops of a nest as they are."""
        return cls(op.extents, accesses(ops_in(op.body.block)[:-1], op.writes))

    def collapse(self) -> None:
        """Splits, drops and merges loops so that few and long ones remain."""
        for _ in range(4):
            if not self._split():
                break
        self._drop_single()
        self._merge()

    def __getitem__(self, position: Position) -> Position:
        return self._moved[position]

    @property
    def moved(self) -> Iterable[tuple[Position, Position]]:
        """All accesses as the nest writes them, and in terms of the loops."""
        return self._moved.items()

    @property
    def positions(self) -> Iterable[Position]:
        """All accesses in terms of the loops."""
        return self._moved.values()

    def _replace(self, values: dict[int, Position], extents: list[int]) -> None:
        self.extents = extents
        self._moved = {key: substitute(at, values, extents) for key, at in self._moved.items()}

    def reorder(self, order: Sequence[int]) -> None:
        """Puts the loops in this order, from the outermost to the innermost."""
        self._replace({d: index(at) for at, d in enumerate(order)}, [self.extents[d] for d in order])

    def is_divided(self, d: int) -> bool:
        """Whether a quotient or remainder of this loop's index occurs."""
        return any(not isinstance(atom, int) and d in dimensions(atom.expression) for at in self._moved.values() for atom, _ in at.terms)

    def cut(self, d: int, length: int, *, overlapping: bool = False) -> None:
        """Puts a loop around all others that goes through ranges of a loop; where they overlap, its index is where they begin."""
        values = {other: index(other + 1) for other in range(len(self.extents))}
        values[d] = combine(0, [(0, 1 if overlapping else length), (d + 1, 1)])
        extents = [self.extents[d] - length + 1 if overlapping else self.extents[d] // length, *self.extents]
        extents[d + 1] = length
        self._replace(values, extents)

    def _split(self) -> bool:
        """Splits the loops that are divided by a constant; False if there are none."""
        divisors: dict[int, int] = {}
        for at in self._moved.values():
            for atom, _ in at.terms:
                self._find_divisors(atom, divisors)
        if not divisors:
            return False
        extents: list[int] = []
        values: dict[int, Position] = {}
        for d, n in enumerate(self.extents):
            if d in divisors:
                by = divisors[d]
                values[d] = combine(0, [(len(extents), by), (len(extents) + 1, 1)])
                extents += [n // by, by]
            else:
                values[d] = index(len(extents))
                extents.append(n)
        self._replace(values, extents)
        return True

    def _find_divisors(self, atom: Atom, divisors: dict[int, int]) -> None:
        if isinstance(atom, int):
            return
        inner = atom.expression
        if len(inner.terms) == 1:
            (d, c), by = inner.terms[0], atom.divisor
            plain = inner.offset == 0 and c == 1
            if (
                isinstance(d, int)
                and (plain or (by <= MOST_PHASES and abs(c) == 1))
                and self.extents[d] % by == 0
                and d not in divisors
                and 1 < by < self.extents[d]
            ):
                divisors[d] = by
        for nested, _ in inner.terms:
            self._find_divisors(nested, divisors)

    def _drop_single(self) -> None:
        if 1 not in self.extents:
            return
        values: dict[int, Position] = {}
        extents: list[int] = []
        for d, n in enumerate(self.extents):
            values[d] = ZERO if n == 1 else index(len(extents))
            if n != 1:
                extents.append(n)
        self._replace(values, extents)

    def _merge(self) -> None:
        if len(self.extents) < 2:
            return
        fixed: set[int] = set()
        for at in self._moved.values():
            for atom, _ in at.terms:
                if isinstance(atom, Quotient | Remainder):
                    fixed |= dimensions(atom.expression)
        groups: list[list[int]] = [[0]]
        for d in range(1, len(self.extents)):
            joined = d not in fixed and d - 1 not in fixed and all(at.coefficient(d - 1) == at.coefficient(d) * self.extents[d] for at in self._moved.values())
            if joined:
                groups[-1].append(d)
            else:
                groups.append([d])
        if len(groups) == len(self.extents):
            return
        last = {group[-1]: number for number, group in enumerate(groups)}
        extents = [1] * len(groups)
        for number, group in enumerate(groups):
            for d in group:
                extents[number] *= self.extents[d]
        self.extents = extents
        self._moved = {key: _renumbered(at, last) for key, at in self._moved.items()}


def _renumbered(at: Position, last: dict[int, int]) -> Position:
    """The position with merged loops: only the innermost loop of a group keeps its term."""
    terms: list[tuple[Atom, int]] = []
    for atom, c in at.terms:
        if isinstance(atom, int):
            if atom in last:
                terms.append((last[atom], c))
        else:
            inner = _renumbered(atom.expression, last)
            terms.append((atom._replace(expression=inner), c))
    return combine(at.offset, terms)


def accesses(ops: Iterable[Operation], writes: Iterable[Write]) -> list[Position]:
    """All positions in a body: of loads, indices, guards and writes."""
    positions = [write.at for write in writes]
    for op in ops:
        if type(op) is LoadOp or type(op) is IndexOp:
            positions.append(op.at.data)
        if (type(op) is LoadOp or type(op) is WithinOp) and op.where is not None:
            positions += [at for at, _, _ in op.where.data]
    return positions
