"""Many columns at once: the colours that a greedy colouring gives, where each round colours all columns whose turn it is in each of their rows.

A column's colour depends on those of earlier columns that it has a row in common with alone, so columns without such neighbours may be coloured together
(M. T. Jones, P. E. Plassmann, "A parallel graph coloring heuristic", 1993, with a given order instead of a random one). A pattern of many equal blocks takes as
many rounds as one block has columns; a band takes as many as it has columns, and is left to whoever colours one column after the other.
"""

from __future__ import annotations

from typing import Any, cast

import numpy as np
from msgspec import Struct

from wengert.transforms.ad.colouring.orders import Order
from wengert.transforms.analysis.sparsity.matrices import Pattern

Numbers = np.ndarray[Any, np.dtype[np.int64]]

FEW_OF_ALL = 64
"""Rounds end when one colours less than this part of the columns: one after the other is quicker then."""
MOST_COLOURS = 62
"""Colours of a row are bits of a word."""


class Coloured(Struct, frozen=True):
    """A colouring that is done in part.

    Attributes:
        colours: the colour of each column; of those that have none yet, 0.
        taken: for each row the colours of its columns, as bits.
        rest: the columns that have none yet, in the order.
    """

    colours: Numbers
    taken: Numbers
    rest: Order


def in_rounds(pattern: Pattern, order: Order) -> Coloured:
    """Colours columns as long as many have their turn at once."""
    height, width = pattern.shape
    starts, columns = pattern.indptr.astype(np.int64), _by_turn(pattern, order)
    colours, taken, near = np.zeros(width, np.int64), np.zeros(height, np.int64), np.zeros(width, np.int64)
    lengths, turn = np.bincount(columns, minlength=width), starts[:-1].copy()
    is_done = lengths == 0
    rows = np.flatnonzero(turn < starts[1:])
    while len(rows):
        heads = columns[turn[rows]]
        has_turn = np.bincount(heads, minlength=width)[heads] == lengths[heads]
        mine, heads = rows[has_turn], heads[has_turn]
        np.bitwise_or.at(near, heads, taken[mine])
        first = ~near[heads] & (near[heads] + 1)  # the lowest bit that is not set
        if len(heads) * FEW_OF_ALL < len(rows) or first.max() >= 1 << MOST_COLOURS:
            break
        colours[heads] = np.frexp(first.astype(np.float64))[1] - 1
        taken[mine] |= first
        is_done[heads] = True
        turn[mine] += 1
        rows = rows[turn[rows] < starts[rows + 1]]
    return Coloured(colours, taken, order[~is_done[order]])


def _by_turn(pattern: Pattern, order: Order) -> Numbers:
    """The columns of each row in the order."""
    height, width = cast("tuple[int, int]", pattern.shape)
    turns = np.empty(width, np.int64)
    turns[order] = np.arange(width)
    rows = np.repeat(np.arange(height), np.diff(pattern.indptr))
    keys = np.sort(rows * width + turns[pattern.indices])
    return order[keys % width]
