"""Colours for columns, so that two of one colour have no row in common: a distance-2 colouring of one side of the bipartite graph.

One direction of forward mode moves all columns of a colour; each row then has the element of at most one of them (A. R. Curtis, M. J. D. Powell, J. K. Reid,
"On the estimation of sparse Jacobian matrices", 1974). Rows are coloured as the columns of the transpose, for reverse mode.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from wengert.transforms.ad.colouring.orders import ORDERS, Order, neighbours
from wengert.transforms.ad.colouring.rounds import in_rounds
from wengert.transforms.analysis.sparsity.matrices import Pattern

Colours = np.ndarray[Any, np.dtype[np.int64]]
"""A colour for each column, from 0 on."""
NONE = -1
"""The colour of what moves in no direction."""

MOST_NEIGHBOURS = 1 << 20
"""A graph of the columns that may have more edges is not formed: the columns are taken from the fullest one on."""

MANY_ELEMENTS = 1 << 12
"""From so many elements on, columns that have no neighbours among the earlier ones are coloured together."""


def coloured(pattern: Pattern, orders: Sequence[str] = tuple(ORDERS)) -> Colours:
    """The colours with the fewest directions of those that the orders lead to."""
    colours = coloured_with_fewer(pattern, pattern.shape[1] + 1, orders)
    assert colours is not None, "a colour for each column does"
    return colours


def coloured_with_fewer(pattern: Pattern, than: int, orders: Sequence[str] = tuple(ORDERS)) -> Colours | None:
    """The same; None if that takes at least so many: never fewer than the fullest row has columns."""
    least = fullest(pattern)
    if least >= than:
        return None
    best: Colours | None = None
    for order in _orders(pattern, orders):
        colours = greedy(pattern, order, than)
        if colours is not None:
            best, than = colours, count(colours)
            if than <= max(least, 1):
                break
    return best


def fullest(pattern: Pattern) -> int:
    """How many columns the fullest row has: fewer colours are not enough."""
    return int(np.diff(pattern.indptr).max(initial=0))


def _orders(pattern: Pattern, names: Sequence[str]) -> Iterator[Order]:
    lengths = np.diff(pattern.indptr).astype(np.int64)
    if (lengths * lengths).sum() > MOST_NEIGHBOURS:
        yield np.argsort(-np.bincount(pattern.indices, minlength=pattern.shape[1]), kind="stable")
        return
    graph: Pattern | None = None
    for name in names:
        if name == "natural":  # which needs no graph, and often does
            yield np.arange(pattern.shape[1])
        else:
            graph = neighbours(pattern) if graph is None else graph
            yield ORDERS[name](graph)


def greedy(pattern: Pattern, order: Order, than: int) -> Colours | None:
    """Each column in the order gets the first colour that no column with a row in common has; None at so many colours."""
    colours = [0] * pattern.shape[1]
    taken = [0] * pattern.shape[0]  # the colours of each row's columns, as bits
    if pattern.nnz >= MANY_ELEMENTS:
        begun = in_rounds(pattern, order)
        if count(begun.colours) >= than:
            return None
        if not len(begun.rest):
            return begun.colours
        colours, taken, order = begun.colours.tolist(), begun.taken.tolist(), begun.rest
    columns = pattern.tocsc()
    starts, rows = columns.indptr.tolist(), columns.indices.tolist()
    for column in order.tolist():
        mine, near = rows[starts[column] : starts[column + 1]], 0
        for row in mine:
            near |= taken[row]
        first = ~near & (near + 1)  # the lowest bit that is not set
        colour = first.bit_length() - 1
        if colour + 1 >= than:
            return None
        for row in mine:
            taken[row] |= first
        colours[column] = colour
    return np.asarray(colours, np.int64)


def count(colours: Colours) -> int:
    """How many directions there are."""
    return int(colours.max(initial=NONE)) + 1
