"""Chooses pieces and versions of the innermost loop: where the guards of a nest (of padding and concatenation, say) hold or fail throughout.

A guard ``low <= c d + k < high`` of the innermost index d alone changes at two places at most. Between them lie pieces for whose iterations it is
known: there neither masks nor what a guard excludes are computed. What is left at the edges keeps its masks.

A guard that outer loops have a part in (rows of padding, ranges of one long loop) may hold or fail throughout the innermost loop for most of
their iterations: for these the loop is there a second time, without it.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import prod
from typing import NamedTuple

from wengert.dialects.kernel import Guard
from wengert.dialects.kernel.positions import Position, constant, dimensions, substitute
from wengert.dialects.kernel.schedule import Piece, Version
from wengert.transforms.schedule.placement import Placement

LONG = 4
"""A piece of fewer registers keeps its masks."""
MOST = 3
"""If there were more long pieces, only the longest is one: each repeats the machine code of the body."""
CUT_FROM = 2048
"""Nests of fewer iterations keep all masks: the body is generated up to seven times otherwise."""
TWICE_FROM = 16384
"""Nests of fewer iterations have one version, which looks at all guards."""


def choose_version(placement: Placement, width: int) -> Version | None:
    """The guards whose usual answer makes a version of the innermost loop; iterations may run twice."""
    extents, inner = placement.extents, placement.inner
    if prod(extents) < TWICE_FROM or extents[inner] < width:
        return None
    usual = {guard: known.answer for guard, known in throughout(placement.guards, inner, extents).items()}
    if not usual:
        return None
    return Version(tuple([guard for guard, answer in usual.items() if answer]), tuple([guard for guard, answer in usual.items() if not answer]))


def choose_pieces(placement: Placement, width: int) -> tuple[Piece, ...]:
    """How the innermost loop is cut at guards, if that gains anything; iterations may run twice."""
    if prod(placement.extents) < CUT_FROM:
        return ()
    found = pieces(placement.guards, placement.inner, placement.extents[placement.inner], width)
    return () if len(found) == 1 and found[0].masked else tuple(found)


def pieces(guards: Sequence[tuple[Guard, Position]], inner: int, extent: int, width: int) -> list[Piece]:
    """How a loop is cut; a single masked piece where that gains nothing.

    Args:
        guards: the guards of a nest, and the positions that they are about.
        inner: the number of the loop.
        extent: its iterations.
        width: the iterations that are computed at once.
    """
    ranges = _ranges(guards, inner)
    whole = [Piece(0, extent, masked=True)]
    cuts = sorted({0, extent, *(min(max(end, 0), extent) for ends in ranges.values() for end in ends)})
    if not ranges or extent < LONG * width:
        return whole
    long = sorted([Piece(a, b) for a, b in pairwise(cuts) if b - a >= LONG * width], key=lambda piece: -piece.length)
    kept = long if len(long) <= MOST else long[:1]
    if 2 * sum(piece.length for piece in kept) < extent:
        return whole
    result = list[Piece]()
    for piece in sorted(kept, key=lambda piece: piece.start):
        done = result[-1].stop if result else 0
        result += [Piece(done, piece.start, masked=True)] * (done < piece.start) + [piece]
    return result + [Piece(result[-1].stop, extent, masked=True)] * (result[-1].stop < extent)


def answers(guards: Sequence[tuple[Guard, Position]], inner: int, piece: Piece) -> dict[Guard, bool | None]:
    """What the guards of the innermost loop alone say in all iterations of a piece; None: not the same in all of them."""
    found: dict[Guard, bool | None] = {}
    for guard, (low, high) in _ranges(guards, inner).items():
        inside = low <= piece.start and piece.stop <= high
        outside = piece.stop <= low or high <= piece.start
        found[guard] = inside if inside or outside else None
    return found


class Throughout(NamedTuple):
    """A guard has one answer in all iterations of the innermost loop if ``0 <= position < bound`` has this answer, too; the position is one of outer loops."""

    position: Position
    bound: int
    answer: bool


def throughout(guards: Sequence[tuple[Guard, Position]], inner: int, extents: Sequence[int]) -> dict[Guard, Throughout]:
    """The guards that hold in all iterations of the innermost loop once the outer loops are halfway, or in none; and when they do so."""
    middle = {d: constant(n // 2) for d, n in enumerate(extents)}
    found: dict[Guard, Throughout] = {}
    for guard, at in guards:
        _, low, high = guard
        if (outer := outer_part(at, inner)) is None:
            continue
        least, most = _reach(at, inner, extents)
        first = substitute(outer, middle, extents).offset
        if low <= first + least and first + most < high:
            found[guard] = always(guard, at, inner, extents, answer=True)
        elif first + most < low or high <= first + least:
            found[guard] = always(guard, at, inner, extents, answer=False)
    return found


def outer_part(at: Position, inner: int) -> Position | None:
    """What outer loops contribute to a position that is a multiple of the innermost index besides; None if it is not, or if they contribute nothing."""
    outer = Position(at.offset, tuple([term for term in at.terms if term[0] != inner]))
    return None if not outer.terms or inner in dimensions(outer) else outer


def always(guard: Guard, at: Position, inner: int, extents: Sequence[int], *, answer: bool) -> Throughout:
    """When a guard holds, or fails, in all iterations of the innermost loop."""
    _, low, high = guard
    outer = outer_part(at, inner)
    assert outer is not None
    least, most = _reach(at, inner, extents)
    if answer:
        return Throughout(outer.shifted(least - low), high - low - (most - least), True)
    return Throughout(outer.shifted(most - low), high - low + (most - least), False)


def _reach(at: Position, inner: int, extents: Sequence[int]) -> tuple[int, int]:
    """The least and the most that the innermost loop adds to a position."""
    least, most = sorted((0, at.coefficient(inner) * (extents[inner] - 1)))
    return least, most


def _ranges(guards: Sequence[tuple[Guard, Position]], inner: int) -> dict[Guard, tuple[int, int]]:
    """The guards of the innermost loop alone, and the iterations from which on, and up to which, they hold."""
    return {guard: _range(at.terms[0][1], at.offset, guard) for guard, at in guards if len(at.terms) == 1 and at.terms[0][0] == inner}


def _range(factor: int, offset: int, guard: Guard) -> tuple[int, int]:
    """The indices i from which on, and up to which, ``low <= factor i + offset < high`` holds."""
    _, low, high = guard
    if factor > 0:
        return -((offset - low) // factor), -((offset - high) // factor)
    return (offset - high) // -factor + 1, (offset - low) // -factor + 1
