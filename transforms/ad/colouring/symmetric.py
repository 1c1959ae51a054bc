"""Colours for the columns of a symmetric matrix, of which an element may be read in its own place or in that of its mirror image.

*Star colouring*: neighbours differ, and every path of four vertices has three colours, so that the vertices of two colours are stars; each element is then read
directly (T. F. Coleman, J. J. More, "Estimation of sparse Hessian matrices and graph coloring problems", 1984). *Acyclic colouring*: neighbours differ, and
every cycle has three colours, so that the vertices of two colours are trees; an element is then computed from the leaves on, by substitution
(T. F. Coleman, J.-Y. Cai, "The cyclic coloring problem and estimation of sparse Hessian matrices", 1986). Both greedily, after A. H. Gebremedhin, A. Tarafdar,
F. Manne, A. Pothen, "New acyclic and star coloring algorithms with application to computing Hessians", 2007.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from wengert.transforms.ad.colouring.columns import Colours, count
from wengert.transforms.ad.colouring.orders import ORDERS, Order
from wengert.transforms.analysis.sparsity.matrices import Pattern, csr_array


def adjacency(pattern: Pattern) -> Pattern:
    """The graph of a symmetric matrix: its pattern and that of its transpose, without the diagonal."""
    whole = (csr_array(pattern) + csr_array(pattern.T)).tocoo()
    apart = whole.row != whole.col
    return csr_array((np.ones(int(apart.sum()), np.bool_), (whole.row[apart], whole.col[apart])), shape=whole.shape)


def star_coloured(pattern: Pattern) -> Colours:
    """The star colouring with the fewest colours of those that the orders lead to."""
    return _fewest(adjacency(pattern), _star, _least_star)


def acyclic_coloured(pattern: Pattern) -> Colours:
    """The acyclic colouring with the fewest colours of those that the orders lead to."""
    return _fewest(adjacency(pattern), _acyclic, lambda graph: 2 if graph.nnz else 1)


def _fewest(graph: Pattern, coloured: Callable[[list[list[int]], Order], Colours], least: Callable[[Pattern], int]) -> Colours:
    """The first of the orders whose colouring takes the fewest colours; none is tried behind one that takes as few as any."""
    near, enough = _lists(graph), least(graph)
    best: Colours | None = None
    for order in ORDERS.values():
        colours = coloured(near, order(graph))
        if best is None or count(colours) < count(best):
            best = colours
            if count(best) <= enough:
                break
    assert best is not None, "there are orders"
    return best


def _least_star(graph: Pattern) -> int:
    """A bound on the colours of a star colouring: two are enough only where all edges are those of stars."""
    lengths, edges = np.diff(graph.indptr), graph.tocoo()
    within = np.minimum(lengths[edges.row], lengths[edges.col]).max(initial=0)
    return 1 if not graph.nnz else 2 if within < 2 else 3


def _star(near: list[list[int]], order: Order) -> Colours:
    """Sets of colours are the bits of numbers, so that a vertex takes a step for each neighbour, however many neighbours these have."""
    colours = [-1] * len(near)
    seen = [0] * len(near)  # the colours of each vertex's neighbours
    several = [0] * len(near)  # those that at least two of them have
    centres = [0] * len(near)  # the colours of the neighbours that have several neighbours of the vertex's own colour
    for v in map(int, order):
        beside = [w for w in near[v] if colours[w] >= 0]
        forbidden = seen[v]
        for w in beside:  # v - w - x - y with v as x and y as w, or x - w - v - u with v as x and u as w
            forbidden |= seen[w] if several[v] >> colours[w] & 1 else centres[w]
        colours[v] = colour = _first_not_in(forbidden)
        for w in near[v]:
            if not seen[w] >> colour & 1:
                seen[w] |= 1 << colour
            elif several[w] >> colour & 1:
                centres[v] |= 1 << colours[w] if colours[w] >= 0 else 0
            else:
                several[w] |= 1 << colour
                for u in near[w] if colours[w] >= 0 else ():
                    if colours[u] == colour:
                        centres[u] |= 1 << colours[w]
        for w in beside:
            if several[v] >> colours[w] & 1:
                centres[w] |= 1 << colour
    return np.asarray(colours, np.int64)


def _acyclic(near: list[list[int]], order: Order) -> Colours:
    """Vertices of two colours are kept in trees: a vertex may not join two places of one tree."""
    colours = [-1] * len(near)
    trees: dict[tuple[int, int], dict[int, int]] = {}
    for v in map(int, order):
        beside = [w for w in near[v] if colours[w] >= 0]
        by_colour: dict[int, list[int]] = {}
        for w in beside:
            by_colour.setdefault(colours[w], []).append(w)
        several = [(colour, group) for colour, group in by_colour.items() if len(group) > 1]
        colour = 0
        while colour in by_colour or any(_meet(trees.get(_pair(colour, other), {}), group) for other, group in several):
            colour += 1
        colours[v] = colour
        for other, group in by_colour.items():
            tree = trees.setdefault(_pair(colour, other), {})
            for w in group:
                tree[_root(tree, w)] = _root(tree, v)
    return np.asarray(colours, np.int64)


def _pair(one: int, other: int) -> tuple[int, int]:
    return (one, other) if one < other else (other, one)


def _root(tree: dict[int, int], vertex: int) -> int:
    while (parent := tree.get(vertex, vertex)) != vertex:
        tree[vertex] = tree.get(parent, parent)
        vertex = parent
    return vertex


def _meet(tree: dict[int, int], vertices: list[int]) -> bool:
    roots = [_root(tree, w) for w in vertices]
    return len(set(roots)) < len(roots)


def _first_not_in(forbidden: int) -> int:
    """The lowest bit that is not set."""
    return (~forbidden & (forbidden + 1)).bit_length() - 1


def _lists(graph: Pattern) -> list[list[int]]:
    starts, ends = graph.indptr.tolist(), graph.indices.tolist()
    return [ends[starts[v] : starts[v + 1]] for v in range(graph.shape[0])]
