"""Colours for the columns of a symmetric matrix, of which an element may be read in its own place or in that of its mirror image.

*Star colouring*: neighbours differ, and every path of four vertices has three colours, so that the vertices of two colours are stars; each element is then read
directly (T. F. Coleman, J. J. More, "Estimation of sparse Hessian matrices and graph coloring problems", 1984). *Acyclic colouring*: neighbours differ, and
every cycle has three colours, so that the vertices of two colours are trees; an element is then computed from the leaves on, by substitution
(T. F. Coleman, J.-Y. Cai, "The cyclic coloring problem and estimation of sparse Hessian matrices", 1986). Both greedily, after A. H. Gebremedhin, A. Tarafdar,
F. Manne, A. Pothen, "New acyclic and star coloring algorithms with application to computing Hessians", 2007.
"""

from __future__ import annotations

import numpy as np

from wengert.transforms.ad.colouring.columns import Colours
from wengert.transforms.ad.colouring.orders import ORDERS, Order
from wengert.transforms.analysis.sparsity.matrices import Pattern, csr_array


def adjacency(pattern: Pattern) -> Pattern:
    """The graph of a symmetric matrix: its pattern and that of its transpose, without the diagonal."""
    whole = (csr_array(pattern) + csr_array(pattern.T)).tocoo()
    apart = whole.row != whole.col
    return csr_array((np.ones(int(apart.sum()), np.bool_), (whole.row[apart], whole.col[apart])), shape=whole.shape)


def star_coloured(pattern: Pattern) -> Colours:
    """The star colouring with the fewest colours of those that the orders lead to."""
    graph = adjacency(pattern)
    return min((_star(graph, order(graph)) for order in ORDERS.values()), key=lambda colours: int(colours.max(initial=-1)))


def acyclic_coloured(pattern: Pattern) -> Colours:
    """The acyclic colouring with the fewest colours of those that the orders lead to."""
    graph = adjacency(pattern)
    return min((_acyclic(graph, order(graph)) for order in ORDERS.values()), key=lambda colours: int(colours.max(initial=-1)))


def _star(graph: Pattern, order: Order) -> Colours:
    near = _lists(graph)
    colours = [-1] * len(near)
    for v in map(int, order):
        beside = [w for w in near[v] if colours[w] >= 0]
        shared = _repeated([colours[w] for w in beside])
        forbidden = {colours[w] for w in beside}
        for w in beside:
            for x in near[w]:
                if x == v or colours[x] < 0 or colours[x] in forbidden:
                    continue
                # v - w - x - y with v as x and y as w, or x - w - v - u with v as x and u as w
                if colours[w] in shared or any(y != w and colours[y] == colours[w] for y in near[x]):
                    forbidden.add(colours[x])
        colours[v] = _first_not_in(forbidden)
    return np.asarray(colours, np.int64)


def _acyclic(graph: Pattern, order: Order) -> Colours:
    """Vertices of two colours are kept in trees: a vertex may not join two places of one tree."""
    near = _lists(graph)
    colours = [-1] * len(near)
    trees: dict[tuple[int, int], dict[int, int]] = {}
    for v in map(int, order):
        beside = [w for w in near[v] if colours[w] >= 0]
        forbidden = {colours[w] for w in beside}
        by_colour: dict[int, list[int]] = {}
        for w in beside:
            by_colour.setdefault(colours[w], []).append(w)
        several = [(colour, group) for colour, group in by_colour.items() if len(group) > 1]
        colour = 0
        while colour in forbidden or any(_meet(trees.get(_pair(colour, other), {}), group) for other, group in several):
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


def _repeated(colours: list[int]) -> set[int]:
    seen: set[int] = set()
    return {colour for colour in colours if colour in seen or seen.add(colour)}


def _first_not_in(forbidden: set[int]) -> int:
    colour = 0
    while colour in forbidden:
        colour += 1
    return colour


def _lists(graph: Pattern) -> list[list[int]]:
    starts, ends = list[int](graph.indptr), list[int](graph.indices)
    return [ends[starts[v] : starts[v + 1]] for v in range(graph.shape[0])]
