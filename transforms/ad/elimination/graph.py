"""The linearised graph of a program, and the elimination of its vertices and edges.

Vertices are values, an edge (u, v) carries the partial derivative of v by u. Eliminating a vertex v multiplies every edge into it with every edge out of it,
adds the products to the edges between its predecessors and successors, and removes v. When no inner vertex is left, the edges from arguments to results are the
Jacobian, whatever the order was; what it took depends on the order (A. Griewank, A. Walther, "Evaluating Derivatives", 2nd ed., SIAM 2008, chapter 9). To
eliminate an edge alone is finer (ibid., section 9.3): front elimination of (u, v) multiplies it with the edges out of v, back elimination of (v, w) with
those into v.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Generic, Protocol, TypeVar

from msgspec import Struct

from wengert.transforms.ad.elimination.weight import Costs

W = TypeVar("W")
Edge = tuple[int, int]


class Weights(Protocol[W]):
    """Products and sums of what stands on edges."""

    def product(self, outer: W, inner: W) -> W:
        """The product."""
        ...

    def total(self, first: W, second: W) -> W | None:
        """The sum; None for zero."""
        ...

    def written(self, weight: W) -> W:
        """The same with its block written out."""
        ...


class Graph(Struct, Generic[W]):
    """A linearised graph. Vertices are numbered so that edges lead to greater numbers, but for results, which nothing leaves.

    Attributes:
        sources: the vertices of the arguments; nothing enters them.
        sinks: those of the results.
        successors: the edges by where they begin.
        predecessors: the same by where they end.
    """

    sources: tuple[int, ...]
    sinks: tuple[int, ...]
    successors: dict[int, dict[int, W]]
    predecessors: dict[int, dict[int, W]]

    def copy(self) -> Graph[W]:
        """A graph that can be eliminated without changing this one."""
        return Graph(self.sources, self.sinks, {v: dict(e) for v, e in self.successors.items()}, {v: dict(e) for v, e in self.predecessors.items()})

    def mapped(self, convert: Callable[[W], V]) -> Graph[V]:
        """The same graph with other weights."""
        edges = [(u, v, convert(weight)) for u, behind in self.successors.items() for v, weight in behind.items()]
        return graph_of(self.sources, self.sinks, edges)

    @property
    def inner(self) -> list[int]:
        """The vertices to eliminate, in order."""
        outside = {*self.sources, *self.sinks}
        return [v for v in self.successors if v not in outside]

    @property
    def inner_edges(self) -> list[Edge]:
        """The edges that begin or end at an inner vertex."""
        outside = {*self.sources, *self.sinks}
        return [(u, v) for u, behind in self.successors.items() for v in behind if u not in outside or v not in outside]

    def eliminate(self, v: int, weights: Weights[W]) -> None:
        """Eliminates a vertex."""
        for u, inner in self.predecessors[v].items():
            for w, outer in self.successors[v].items():
                self.put(u, w, weights.product(outer, inner), weights)
        self.remove(v)

    def front(self, edge: Edge, weights: Weights[W]) -> None:
        """Eliminates an edge (u, v) by the edges out of v."""
        u, v = edge
        inner = self._taken(u, v)
        for w, outer in self.successors[v].items():
            self.put(u, w, weights.product(outer, inner), weights)
        self._tidy(v)

    def back(self, edge: Edge, weights: Weights[W]) -> None:
        """Eliminates an edge (v, w) by the edges into v."""
        v, w = edge
        outer = self._taken(v, w)
        for u, inner in self.predecessors[v].items():
            self.put(u, w, weights.product(outer, inner), weights)
        self._tidy(v)

    def write(self, edge: Edge, weights: Weights[W]) -> None:
        """Writes out the block of an edge."""
        u, v = edge
        self.successors[u][v] = self.predecessors[v][u] = weights.written(self.successors[u][v])

    def put(self, u: int, w: int, weight: W, weights: Weights[W]) -> None:
        """Adds an edge, to the one that is there."""
        behind = self.successors[u]
        if w in behind:
            added = weights.total(behind[w], weight)
            if added is None:
                self._taken(u, w)
                return
            weight = added
        behind[w] = weight
        self.predecessors[w][u] = weight

    def remove(self, v: int) -> None:
        """Removes a vertex with its edges."""
        for u in self.predecessors.pop(v):
            del self.successors[u][v]
        for w in self.successors.pop(v):
            del self.predecessors[w][v]

    def _taken(self, u: int, v: int) -> W:
        del self.predecessors[v][u]
        return self.successors[u].pop(v)

    def _tidy(self, v: int) -> None:
        """Removes inner vertices that nothing enters or nothing leaves any more, beginning with this one."""
        pending = [v]
        while pending:
            v = pending.pop()
            if v in self.sources or v in self.sinks or v not in self.successors or (self.predecessors[v] and self.successors[v]):
                continue
            pending += [*self.predecessors[v], *self.successors[v]]
            self.remove(v)


V = TypeVar("V")


def graph_of(sources: Sequence[int], sinks: Sequence[int], edges: Iterable[tuple[int, int, W]]) -> Graph[W]:
    """A graph of edges, no two of which are between the same vertices; vertices that no result depends on, or that depend on no argument, are left out."""
    listed = list(edges)
    live = _reached(sources, ((u, v) for u, v, _ in listed)) & _reached(sinks, ((v, u) for u, v, _ in listed))
    successors: dict[int, dict[int, W]] = {v: {} for v in sorted({*live, *sources, *sinks})}
    predecessors: dict[int, dict[int, W]] = {v: {} for v in successors}
    for u, v, weight in listed:
        if u in live and v in live:
            successors[u][v] = weight
            predecessors[v][u] = weight
    return Graph(tuple(sources), tuple(sinks), successors, predecessors)


class Counted:
    """Weights by number (:class:`~wengert.transforms.ad.elimination.weight.Costs`), with the multiplications so far."""

    def __init__(self, costs: Costs):
        self.costs = costs
        self.multiplications = 0

    def product(self, outer: int, inner: int) -> int:
        made, count = self.costs.product(outer, inner)
        self.multiplications += count
        return made

    def total(self, first: int, second: int) -> int | None:
        made, count = self.costs.total(first, second)
        self.multiplications += count
        return None if made < 0 else made

    def written(self, weight: int) -> int:
        made, count = self.costs.block(weight)
        self.multiplications += count
        return made


def _reached(starts: Iterable[int], edges: Iterable[Edge]) -> set[int]:
    behind: dict[int, list[int]] = {}
    for u, v in edges:
        behind.setdefault(u, []).append(v)
    reached, pending = set(starts), list(starts)
    while pending:
        for v in behind.get(pending.pop(), ()):
            if v not in reached:
                reached.add(v)
                pending.append(v)
    return reached
