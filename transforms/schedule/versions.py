"""Chooses how the innermost loop is split and versioned by the guards of a nest (of padding and concatenation, say).

A guard ``low <= c d + k < high`` of the innermost index d alone changes at two places at most. The loop is split there (index-set splitting): in
the pieces between them the guard's value is known, so that neither masks nor what it excludes are computed. What is left at the edges keeps its masks.

A guard that outer loops have a part in (rows of padding, ranges of one long loop) may hold or fail throughout the innermost loop for most of
their iterations. For these there is a second version of the loop, without the guard (loop versioning).
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
"""If there were more long pieces, only the longest is split off: each repeats the machine code of the body."""
CUT_FROM = 2048
"""Nests of fewer iterations, in all runs that loops around them make, keep all masks: the body is generated up to seven times otherwise."""
CUT_IN_LOOPS = 256
"""Nests of fewer iterations keep all masks however often they run: no more than a few registers are spared them."""
TWICE_FROM = 16384
"""Nests of fewer iterations have one version, which looks at all guards."""


def choose_version(placement: Placement, width: int) -> Version | None:
    """The guards for whose likely values there is a second version of the innermost loop, if iterations may run twice."""
    extents, inner = placement.extents, placement.inner
    if prod(extents) < TWICE_FROM or extents[inner] < width:
        return None
    likely = {guard: known.value for guard, known in uniform_guards(placement.guards, inner, extents).items()}
    if not likely:
        return None
    return Version(tuple([guard for guard, value in likely.items() if value]), tuple([guard for guard, value in likely.items() if not value]))


def choose_pieces(placement: Placement, width: int, runs: int = 1) -> tuple[Piece, ...]:
    """The pieces that the innermost loop is split into at guards, if that gains anything and iterations may run twice; loops run it ``runs`` times."""
    if not placement.guards:
        return ()
    chosen = pieces(placement.guards, placement.inner, placement.extents[placement.inner], width)
    if len(chosen) == 1:
        return () if chosen[0].masked else tuple(chosen)  # all guards are decided, and the body is there once
    iterations = prod(placement.extents)
    return tuple(chosen) if iterations * runs >= CUT_FROM and iterations >= CUT_IN_LOOPS else ()


def pieces(guards: Sequence[tuple[Guard, Position]], inner: int, extent: int, width: int) -> list[Piece]:
    """The pieces that a loop is split into; a single masked one where splitting gains nothing.

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


def guard_values(guards: Sequence[tuple[Guard, Position]], inner: int, piece: Piece) -> dict[Guard, bool | None]:
    """The values of the guards of the innermost loop alone in a piece; None where a value is not the same in all of its iterations."""
    values: dict[Guard, bool | None] = {}
    for guard, (low, high) in _ranges(guards, inner).items():
        inside = low <= piece.start and piece.stop <= high
        outside = piece.stop <= low or high <= piece.start
        values[guard] = inside if inside or outside else None
    return values


class UniformGuard(NamedTuple):
    """The condition under which a guard has this value in all iterations of the innermost loop: ``0 <= position < bound`` has it.

    The position is one of outer loops.
    """

    position: Position
    bound: int
    value: bool


def uniform_guards(guards: Sequence[tuple[Guard, Position]], inner: int, extents: Sequence[int]) -> dict[Guard, UniformGuard]:
    """The guards that hold in all iterations of the innermost loop, or in none, once the outer loops are halfway; each with its condition."""
    middle = {d: constant(n // 2) for d, n in enumerate(extents)}
    uniform: dict[Guard, UniformGuard] = {}
    for guard, at in guards:
        _, low, high = guard
        if (outer := outer_part(at, inner)) is None:
            continue
        least, most = _reach(at, inner, extents)
        first = substitute(outer, middle, extents).offset
        if low <= first + least and first + most < high:
            uniform[guard] = uniform_guard(guard, at, inner, extents, value=True)
        elif first + most < low or high <= first + least:
            uniform[guard] = uniform_guard(guard, at, inner, extents, value=False)
    return uniform


def outer_part(at: Position, inner: int) -> Position | None:
    """What outer loops contribute to a position that is a multiple of the innermost index besides; None if it is not, or if they contribute nothing."""
    outer = Position(at.offset, tuple([term for term in at.terms if term[0] != inner]))
    return None if not outer.terms or inner in dimensions(outer) else outer


def uniform_guard(guard: Guard, at: Position, inner: int, extents: Sequence[int], *, value: bool) -> UniformGuard:
    """The condition under which a guard holds, or fails, in all iterations of the innermost loop."""
    _, low, high = guard
    outer = outer_part(at, inner)
    assert outer is not None
    least, most = _reach(at, inner, extents)
    if value:
        return UniformGuard(outer.shifted(least - low), high - low - (most - least), True)
    return UniformGuard(outer.shifted(most - low), high - low + (most - least), False)


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
