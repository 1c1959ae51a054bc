"""Orders in which a greedy colouring takes the columns of a pattern.

Two columns are neighbours if they have a row in common. An order in which every column has few neighbours before it needs few colours (A. H. Gebremedhin,
F. Manne, A. Pothen, "What color is your Jacobian? Graph coloring for computing derivatives", 2005, sec. 7; A. H. Gebremedhin, D. Nguyen, M. M. A. Patwary,
A. Pothen, "ColPack", 2013).
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush
from typing import Any

import numpy as np

from wengert.transforms.analysis.sparsity.matrices import Pattern, csr_array

Order = np.ndarray[Any, np.dtype[np.int64]]


def neighbours(pattern: Pattern) -> Pattern:
    """The graph of the columns, as a symmetric pattern without a diagonal."""
    graph = csr_array(csr_array(pattern.T) @ pattern).tocoo()
    apart = graph.row != graph.col
    return csr_array((np.ones(int(apart.sum()), np.bool_), (graph.row[apart], graph.col[apart])), shape=graph.shape)


def lengths_of(graph: Pattern) -> Order:
    """The numbers of neighbours."""
    return np.asarray(graph.indptr[1:] - graph.indptr[:-1], np.int64)


def natural(graph: Pattern) -> Order:
    """As they are numbered."""
    return np.arange(len(graph.indptr) - 1)


def largest_first(graph: Pattern) -> Order:
    """Those with the most neighbours first (D. J. A. Welsh, M. B. Powell, 1967)."""
    return np.argsort(-lengths_of(graph), kind="stable")


def smallest_last(graph: Pattern) -> Order:
    """Last the one with the fewest neighbours, before it the one with the fewest among the others, and so on (D. W. Matula, L. L. Beck, 1983)."""
    return _by_degree(graph, lengths_of(graph), -1)[::-1]


def incidence(graph: Pattern) -> Order:
    """Always the one with the most neighbours among those before it (T. F. Coleman, J. J. More, 1983)."""
    return _by_degree(graph, np.zeros(graph.shape[0], np.int64), 1)


def _by_degree(graph: Pattern, degrees: Order, change: int) -> Order:
    """Takes the vertex with the least degree (the greatest, if a vertex that is taken adds to its neighbours' degrees), one after the other."""
    key = (degrees * -change).tolist()
    heap = [(k, v) for v, k in enumerate(key)]
    heap.sort()
    taken = [False] * len(key)
    order: list[int] = []
    starts, ends = graph.indptr.tolist(), graph.indices.tolist()
    while heap:
        k, v = heappop(heap)
        if taken[v] or k != key[v]:
            continue
        taken[v] = True
        order.append(v)
        for w in ends[starts[v] : starts[v + 1]]:
            if not taken[w]:
                key[w] -= 1
                heappush(heap, (key[w], w))
    return np.asarray(order, np.int64)


ORDERS: dict[str, Callable[[Pattern], Order]] = {"natural": natural, "largest-first": largest_first, "smallest-last": smallest_last, "incidence": incidence}
"""The orders, by name."""
