"""The innermost loop in pieces: where the guards of a nest (of padding and concatenation, say) hold throughout or fail throughout.

A guard ``low <= c d + k < high`` of the innermost index d alone changes at two places at most. Between them lie pieces for whose trips it is
known: there neither masks nor what a guard excludes are computed. What is left at the edges keeps its masks.

A guard that outer loops have a part in (rows of padding, ranges of one long loop) may hold or fail throughout the innermost loop for most of
their trips: for these the loop is there a second time, without it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from msgspec import Struct

from wengert.dialects.kernel import Guard
from wengert.dialects.kernel.positions import Position, constant, dimensions, substitute

LONG = 4
"""A piece of fewer registers keeps its masks."""
MOST = 3
"""If there were more long pieces, only the longest is one: each repeats the machine code of the body."""


class Piece(Struct, frozen=True):
    """Trips from ``start`` up to ``stop``, and the guards that are known for them."""

    start: int
    stop: int
    known: Mapping[Guard, bool]

    @property
    def length(self) -> int:
        return self.stop - self.start


def pieces(guards: Sequence[tuple[Guard, Position]], inner: int, extent: int, lanes: int) -> list[Piece]:
    """How a loop is cut; a single piece that knows nothing where that gains nothing.

    Args:
        guards: the guards of a nest, and the positions that they are about.
        inner: the number of the loop.
        extent: its trips.
        lanes: the trips that a register takes.
    """
    ranges = {guard: _range(at.terms[0][1], at.offset, guard) for guard, at in guards if len(at.terms) == 1 and at.terms[0][0] == inner}
    whole = [Piece(0, extent, {})]
    cuts = sorted({0, extent, *(min(max(end, 0), extent) for ends in ranges.values() for end in ends)})
    if not ranges or extent < LONG * lanes:
        return whole
    found = [Piece(a, b, {guard: low <= a < high for guard, (low, high) in ranges.items()}) for a, b in pairwise(cuts)]
    long = sorted([piece for piece in found if piece.length >= LONG * lanes], key=lambda piece: -piece.length)
    kept = long if len(long) <= MOST else long[:1]
    if 2 * sum(piece.length for piece in kept) < extent:
        return whole
    result = list[Piece]()
    for piece in sorted(kept, key=lambda piece: piece.start):
        done = result[-1].stop if result else 0
        result += [Piece(done, piece.start, {})] * (done < piece.start) + [piece]
    return result + [Piece(result[-1].stop, extent, {})] * (result[-1].stop < extent)


class Throughout(NamedTuple):
    """A guard has one answer in all trips of the innermost loop if ``0 <= position < bound`` has this answer, too; the position is one of outer loops."""

    position: Position
    bound: int
    answer: bool


def throughout(guards: Sequence[tuple[Guard, Position]], inner: int, extents: Sequence[int]) -> dict[Guard, Throughout]:
    """The guards that hold in all trips of the innermost loop once the outer loops are halfway, or in none; and when they do so."""
    middle = {d: constant(n // 2) for d, n in enumerate(extents)}
    found: dict[Guard, Throughout] = {}
    for guard, at in guards:
        _, low, high = guard
        outer = Position(at.offset, tuple([term for term in at.terms if term[0] != inner]))
        if not outer.terms or inner in dimensions(outer):
            continue
        least, most = sorted((0, at.coefficient(inner) * (extents[inner] - 1)))
        first = substitute(outer, middle, extents).offset
        if low <= first + least and first + most < high:
            found[guard] = Throughout(outer.shifted(least - low), high - low - (most - least), True)
        elif first + most < low or high <= first + least:
            found[guard] = Throughout(outer.shifted(most - low), high - low + (most - least), False)
    return found


def _range(factor: int, offset: int, guard: Guard) -> tuple[int, int]:
    """The indices i from which on, and up to which, ``low <= factor i + offset < high`` holds."""
    _, low, high = guard
    if factor > 0:
        return -((offset - low) // factor), -((offset - high) // factor)
    return (offset - high) // -factor + 1, (offset - low) // -factor + 1
