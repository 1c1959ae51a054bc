"""The loops of a nest as they are generated: dimensions split, dropped and merged so that few and long loops remain.

A loop that occurs only as quotient and remainder is split in two. Loops of one trip vanish. Neighbours that every access
walks through as one are merged: an elementwise nest over [8, 128] becomes one loop over 1024. Where something is read
transposed, the loop along which that is contiguous is moved next to the innermost one (:mod:`wengert.transforms.codegen.cpu.nest.tiles`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from xdsl.ir import Operation

from wengert.dialects.kernel import STORE, LoadOp, Write
from wengert.dialects.kernel.positions import ZERO, Atom, Position, Quotient, Remainder, combine, dimensions, index, substitute

SMALLEST_TILE = 4
"""Loops with fewer trips are not run in tiles."""
MOST_PHASES = 4
"""A loop of so few trips may be unrolled (:mod:`wengert.transforms.kernel.phase_unrolling`)."""
SHORT_ROW = 4
MANY_ROWS = 32
"""Rows and columns of a matrix whose columns are summed one after another."""


class Loops:
    """The generated loops of a nest, and its positions in terms of them."""

    def __init__(self, extents: Sequence[int], accesses: Iterable[Position]):
        self.extents: list[int] = list(extents)
        self._found: dict[Position, Position] = {access: access for access in accesses}
        for _ in range(4):
            if not self._split():
                break
        self._drop_single()
        self._merge()

    def __getitem__(self, position: Position) -> Position:
        return self._found[position]

    @property
    def positions(self) -> Iterable[Position]:
        """All accesses in terms of the loops."""
        return self._found.values()

    def _replace(self, values: dict[int, Position], extents: list[int]) -> None:
        self.extents = extents
        self._found = {key: substitute(at, values, extents) for key, at in self._found.items()}

    def move_inward(self, d: int) -> None:
        """Makes a loop the one around the innermost."""
        order = [*[other for other in range(len(self.extents) - 1) if other != d], d, len(self.extents) - 1]
        extents = [self.extents[other] for other in order]
        self._replace({other: index(at) for at, other in enumerate(order)}, extents)

    def swap_innermost(self) -> None:
        """Exchanges the two innermost loops."""
        *outer, one, other = self.extents
        last = len(outer)
        values = {d: index(d) for d in range(last)} | {last: index(last + 1), last + 1: index(last)}
        self._replace(values, [*outer, other, one])

    def is_divided(self, d: int) -> bool:
        """Whether a quotient or remainder of this loop's index occurs."""
        return any(not isinstance(atom, int) and d in dimensions(atom.expression) for at in self._found.values() for atom, _ in at.terms)

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
        for at in self._found.values():
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
        for at in self._found.values():
            for atom, _ in at.terms:
                if isinstance(atom, Quotient | Remainder):
                    fixed |= dimensions(atom.expression)
        groups: list[list[int]] = [[0]]
        for d in range(1, len(self.extents)):
            joined = d not in fixed and d - 1 not in fixed and all(at.coefficient(d - 1) == at.coefficient(d) * self.extents[d] for at in self._found.values())
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
        self._found = {key: _renumbered(at, last) for key, at in self._found.items()}


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


def crossed_loop(loops: Loops, ops: Iterable[Operation], writes: Sequence[Write]) -> int | None:
    """The loop along which transposed reads are contiguous; None if there are none, or if the order of loops matters."""
    inner = len(loops.extents) - 1
    if any(write.kind != STORE or write.base is not None or loops[write.at].coefficient(inner) != 1 for write in writes):
        return None
    for op in ops:
        if isinstance(op, LoadOp) and op.base is None and op.where is None:
            at = loops[op.at.data]
            if at.coefficient(inner) not in (-1, 0, 1):
                for d in range(inner):
                    if is_transposed(at, d, inner) and min(loops.extents[d], loops.extents[inner]) >= SMALLEST_TILE:
                        return d
    return None


def sums_short_rows(loops: Loops, writes: Sequence[Write]) -> bool:
    """Whether all that a nest does is to combine many rows of very few elements: better column by column, in registers."""
    inner = len(loops.extents) - 1
    if inner < 1 or loops.extents[inner] > SHORT_ROW or loops.extents[inner - 1] < MANY_ROWS:
        return False
    positions = [loops[write.at] for write in writes if write.kind != STORE and write.base is None]
    return len(positions) == len(writes) and all(inner in dimensions(at) and inner - 1 not in dimensions(at) for at in positions)


def is_transposed(at: Position, across: int, inner: int) -> bool:
    """Whether a position is strided along the innermost loop and contiguous along another one."""
    divided = {d for atom, _ in at.terms if not isinstance(atom, int) for d in dimensions(atom.expression)}
    return at.coefficient(inner) not in (-1, 0, 1) and at.coefficient(across) == 1 and not divided & {across, inner}
