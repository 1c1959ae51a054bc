"""The directions in which the elements of a pattern are computed: colours of its columns, its rows, or both, and where each element is read."""

from __future__ import annotations

from hashlib import blake2b
from threading import Lock
from typing import Literal

import numpy as np
from msgspec import Struct

from wengert.transforms.ad.colouring import both_sides
from wengert.transforms.ad.colouring.columns import NONE, Colours, coloured, coloured_with_fewer, count, fullest
from wengert.transforms.ad.colouring.recovery import NotRecoverableError, Recovery, read_directly, read_symmetric, substituted
from wengert.transforms.ad.colouring.symmetric import acyclic_coloured, star_coloured
from wengert.transforms.ad.jacobians.batched import Mode
from wengert.transforms.analysis.sparsity.matrices import Pattern, csr_array

Colouring = Literal["best", "columns", "rows", "both", "star", "acyclic"]
COLOURINGS: tuple[Colouring, ...] = ("best", "columns", "rows", "both", "star", "acyclic")
FEW = 4
"""So many directions of one mode are not worth a second one."""
SHARE_OF_BOTH = 0.75
SYMMETRIC: tuple[Colouring, ...] = ("star", "acyclic")


def colourings() -> list[str]:
    """The colourings, by name."""
    return list(COLOURINGS)


class Directions(Struct, frozen=True):
    """Directions of both modes.

    Attributes:
        columns: those of forward mode: a colour for each column, of which all of a colour move at once.
        rows: those of reverse mode, for each row.
    """

    columns: Colours
    rows: Colours

    @property
    def forward(self) -> int:
        """The directions of forward mode."""
        return count(self.columns)

    @property
    def reverse(self) -> int:
        """The directions of reverse mode."""
        return count(self.rows)


class Compression(Directions, frozen=True, kw_only=True):
    """A pattern, the directions in which it is computed, and how its elements are recovered.

    Attributes:
        colouring: what is coloured.
        pattern: of the whole Jacobian.
        recovery: where the elements are.
    """

    colouring: Colouring
    pattern: Pattern
    recovery: Recovery


def compressed(pattern: Pattern, colouring: Colouring, colours: Colours | None = None) -> Compression:
    """The colours for a pattern, unless those of its columns or rows are known; ``best`` is the one of columns, rows and both with the fewest directions.

    The last ones are kept: a derivative asks when it is looked at, and again when its program is made.
    """
    if colours is not None:
        return _compressed(pattern, colouring, colours)
    places = blake2b(pattern.indptr.tobytes())
    places.update(pattern.indices.tobytes())
    key = colouring, pattern.shape, places.digest()
    with _LOCK:
        known = _KEPT.pop(key, None)
    made = _compressed(pattern, colouring) if known is None else known
    with _LOCK:
        _KEPT[key] = made
        if len(_KEPT) > MOST_KEPT:
            del _KEPT[next(iter(_KEPT))]
    return made


_KEPT: dict[tuple[Colouring, tuple[int, ...], bytes], Compression] = {}
_LOCK = Lock()
MOST_KEPT = 4


def forget() -> None:
    """Forgets the compressions that are kept."""
    with _LOCK:
        _KEPT.clear()


def _compressed(pattern: Pattern, colouring: Colouring, colours: Colours | None = None) -> Compression:
    if colouring == "columns":
        return one_sided(pattern, "forward", colours)
    if colouring == "rows":
        return one_sided(pattern, "reverse", colours)
    nobody = np.full(pattern.shape[0], NONE, np.int64)
    if colouring == "star":
        columns = star_coloured(pattern)
        return Compression(columns, nobody, colouring=colouring, pattern=pattern, recovery=read_symmetric(pattern, columns))
    if colouring == "acyclic":
        columns = acyclic_coloured(pattern)
        try:
            return Compression(columns, nobody, colouring=colouring, pattern=pattern, recovery=substituted(pattern, columns))
        except NotRecoverableError:  # sums that are too long
            return compressed(pattern, "star")
    if colouring == "both":
        return _of_both(pattern, both_sides.coloured_on_both_sides(pattern))
    return _best(pattern)


def _best(pattern: Pattern) -> Compression:
    """The fewer directions of the two modes; both together only where that takes clearly fewer, since each mode runs the function once more."""
    turned = csr_array(pattern.T)
    same = np.array_equal(turned.indptr, pattern.indptr) and np.array_equal(turned.indices, pattern.indices)
    if same or fullest(pattern) <= fullest(turned):  # the side that may take fewer is coloured first, so that the other one is often ruled out
        columns = coloured(pattern)
        rows = None if same else coloured_with_fewer(turned, count(columns))
    else:
        rows = coloured(turned)
        columns = coloured_with_fewer(pattern, count(rows) + 1)
    if rows is None or (columns is not None and count(columns) <= count(rows)):
        one = compressed(pattern, "columns", columns)
    else:
        one = compressed(pattern, "rows", rows)
    fewest = one.forward + one.reverse
    sides = None if fewest <= FEW else both_sides.coloured_with_fewer(pattern, SHARE_OF_BOTH * fewest)
    return one if sides is None or sides.directions >= SHARE_OF_BOTH * fewest else _of_both(pattern, sides)


def _of_both(pattern: Pattern, sides: both_sides.BothSides) -> Compression:
    recovery = read_directly(pattern, sides.columns, sides.rows)
    return Compression(sides.columns, sides.rows, colouring="both", pattern=pattern, recovery=recovery)


def one_sided(pattern: Pattern, mode: Mode, colours: Colours | None = None) -> Compression:
    """The directions of one mode; with colours, by these."""
    height, width = pattern.shape
    if colours is None:
        colours = coloured(pattern if mode == "forward" else csr_array(pattern.T))
    columns = colours if mode == "forward" else np.full(width, NONE, np.int64)
    rows = colours if mode == "reverse" else np.full(height, NONE, np.int64)
    coloured_side: Colouring = "columns" if mode == "forward" else "rows"
    return Compression(columns, rows, colouring=coloured_side, pattern=pattern, recovery=read_directly(pattern, columns, rows))
