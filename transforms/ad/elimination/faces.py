"""Face elimination: one product at a time, on the dual of the linearised graph.

The dual has a vertex for every edge of the graph, and one for every argument and result. A *face* is a pair of edges (u, v), (v, w). Eliminating one
makes one product, which is added to an edge with the same neighbours as it would have, or becomes one of its own; edges without a neighbour on one side
go, and edges with the same neighbours on both are added up. Vertex and edge elimination are special orders of faces, and there are graphs where others
are better (U. Naumann, "Optimal accumulation of Jacobian matrices by elimination methods on the dual computational graph", Mathematical Programming 99,
2004).
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from wengert.transforms.ad.elimination.graph import Counted, Edge, Graph, Weights, graph_of
from wengert.transforms.ad.elimination.orders import Elimination, Order, Step, by_vertices, finish
from wengert.transforms.ad.elimination.search import Budget, searched_vertices
from wengert.transforms.ad.elimination.weight import Costs

W = TypeVar("W")
MANY_FACES = 600
"""Graphs with more faces are eliminated by vertices alone in a search."""


class Dual(Generic[W]):
    """The dual of a graph. ``edges`` are its vertices but for those of arguments and results, by number: which vertices they connect, and their weights."""

    def __init__(self, graph: Graph[W]):
        self.sources, self.sinks = graph.sources, graph.sinks
        self.ends: dict[int, Edge] = {}
        self.weights: dict[int, W] = {}
        self.before: dict[int, set[int]] = {}
        self.behind: dict[int, set[int]] = {}
        listed = sorted((u, v) for u, behind in graph.successors.items() for v in behind)
        starting: dict[int, list[int]] = {}
        for number, (u, v) in enumerate(listed):
            self._new(number, (u, v), graph.successors[u][v])
            starting.setdefault(u, []).append(number)
        for number, (_, v) in enumerate(listed):
            for other in starting.get(v, ()):
                self._link(number, other)
        for number, (u, v) in enumerate(listed):  # an argument or a result is a neighbour with a number below zero
            if u in self.sources:
                self.before[number].add(-1 - u)
            if v in self.sinks:
                self.behind[number].add(-1 - v)
        self._next = len(listed)

    @property
    def faces(self) -> list[tuple[int, int]]:
        """The faces that are left, in order."""
        return [(e, f) for e in self.ends for f in sorted(self.behind[e]) if f >= 0]

    def vertex(self, face: tuple[int, int]) -> int:
        """The vertex between the edges of a face."""
        return self.ends[face[0]][1]

    def is_absorbed(self, face: tuple[int, int]) -> bool:
        """Whether the product of a face is added to an edge that is there."""
        return self._same(self.before[face[0]], self.behind[face[1]], face) is not None

    def eliminate(self, face: tuple[int, int], weights: Weights[W]) -> None:
        """Eliminates a face."""
        e, f = face
        product = weights.product(self.weights[f], self.weights[e])
        same = self._same(self.before[e], self.behind[f], face)
        changed = {e, f}
        if same is None:
            same = self._next
            self._next += 1
            self._new(same, (self.ends[e][0], self.ends[f][1]), product)
            self._adopt(same, self.before[e], self.behind[f])
        else:
            self._add(same, product, weights)
        changed.add(same)
        self.behind[e].discard(f)
        self.before[f].discard(e)
        self._tidy(changed, weights)

    def jacobian(self) -> Graph[W]:
        """The graph that is left when no face is."""
        return graph_of(self.sources, self.sinks, [(*self.ends[e], self.weights[e]) for e in sorted(self.ends)])

    def _new(self, number: int, ends: Edge, weight: W) -> None:
        self.ends[number], self.weights[number] = ends, weight
        self.before[number], self.behind[number] = set(), set()

    def _link(self, first: int, second: int) -> None:
        self.behind[first].add(second)
        self.before[second].add(first)

    def _adopt(self, number: int, before: set[int], behind: set[int]) -> None:
        """Gives an edge its neighbours."""
        self.before[number], self.behind[number] = set(before), set(behind)
        for other in before:
            if other >= 0:
                self.behind[other].add(number)
        for other in behind:
            if other >= 0:
                self.before[other].add(number)

    def _same(self, before: set[int], behind: set[int], without: tuple[int, ...]) -> int | None:
        """An edge with exactly these neighbours."""
        near = next((self.behind[x] for x in before if x >= 0), None)
        near = near if near is not None else next((self.before[x] for x in behind if x >= 0), None)
        for other in sorted(near) if near is not None else list(self.ends):
            if other >= 0 and other not in without and self.before[other] == before and self.behind[other] == behind:
                return other
        return None

    def _add(self, number: int, weight: W, weights: Weights[W]) -> None:
        """Adds to the weight of an edge, which goes if the sum is zero."""
        added = weights.total(self.weights[number], weight)
        if added is None:
            self._remove(number)
        else:
            self.weights[number] = added

    def _remove(self, number: int) -> None:
        for other in self.before.pop(number):
            if other >= 0:
                self.behind[other].discard(number)
        for other in self.behind.pop(number):
            if other >= 0:
                self.before[other].discard(number)
        del self.ends[number], self.weights[number]

    def _tidy(self, changed: set[int], weights: Weights[W]) -> None:
        """Removes edges without a neighbour on one side, and adds up those with the same neighbours, beginning with these."""
        pending = sorted(changed)
        while pending:
            number = pending.pop()
            if number not in self.ends:
                continue
            near = sorted(x for x in (*self.before[number], *self.behind[number]) if x >= 0)
            if not self.before[number] or not self.behind[number]:
                self._remove(number)
                pending += near
                continue
            same = self._same(self.before[number], self.behind[number], (number,))
            if same is not None:
                kept, gone = min(same, number), max(same, number)
                weight = self.weights[gone]
                self._remove(gone)
                self._add(kept, weight, weights)
                pending += [*near, kept]


def by_faces(graph: Graph[int], order: Order, costs: Costs) -> Elimination:
    """An elimination of faces, by any rule: ``forward``, ``reverse`` and ``widest`` take those of a vertex after those of the one before, the others the
    cheapest face next, less one for each edge that goes with it or is there already."""
    if order in ("forward", "reverse"):
        sign = 1 if order == "forward" else -1
        return _greedy(graph, costs, lambda dual, face: (sign * dual.vertex(face), *face), order)
    if order == "widest":
        return as_faces(graph, by_vertices(graph, "widest", costs), costs)
    if order == "best":
        by_vertex = as_faces(graph, by_vertices(graph, "best", costs), costs)
        return min((by_vertex, *(by_faces(graph, rule, costs) for rule in ("markowitz", "reverse-markowitz"))), key=lambda e: e.multiplications)
    sign = -1 if order == "reverse-markowitz" else 1
    return _greedy(graph, costs, lambda dual, face: (_rank(dual, face, costs), sign * dual.vertex(face)), order)


def as_faces(graph: Graph[int], elimination: Elimination, costs: Costs) -> Elimination:
    """An elimination of vertices as one of faces; it takes no more multiplications."""
    place = {step.vertex: n for n, step in enumerate(elimination.steps)}
    return _greedy(graph, costs, lambda dual, face: (place.get(dual.vertex(face), 0), *face), elimination.order)


def searched_faces(graph: Graph[int], costs: Costs, steps: int, seconds: float | None, seed: int) -> Elimination:
    """The best elimination of faces that a search comes upon: it begins with that of vertices, and goes on with greedy ones in which chance decides."""
    half = None if seconds is None else seconds / 2
    best = as_faces(graph, searched_vertices(graph, costs, steps // 2, half, seed), costs)
    if len(Dual(graph).faces) > MANY_FACES:
        return best
    best = min(best, by_faces(graph, "best", costs), key=lambda e: e.multiplications)
    chance, budget = random.Random(seed), Budget(steps // 2, half)
    for _ in budget.rounds(budget.steps):
        heat, place = chance.choice((0.3, 1.0, 3.0)), {v: chance.random() for v in graph.successors}
        elimination = _greedy(graph, costs, lambda dual, face, heat=heat, place=place: (_rank(dual, face, costs) + heat * place[dual.vertex(face)],), "search")
        best = min(best, elimination, key=lambda e: e.multiplications)
    return Elimination(best.steps, best.multiplications, "search")


def _greedy(graph: Graph[int], costs: Costs, rank: Callable[[Dual[int], tuple[int, int]], Sequence[float]], order: str) -> Elimination:
    dual, counted = Dual(graph), Counted(costs)
    steps: list[Step] = []
    while faces := dual.faces:
        face = min(faces, key=lambda face: tuple(rank(dual, face)))
        steps.append(Step("face", edge=face))
        dual.eliminate(face, counted)
    return Elimination(tuple(steps), counted.multiplications + finish(dual.jacobian(), costs), order)


def _rank(dual: Dual[int], face: tuple[int, int], costs: Costs) -> float:
    """What a face costs, less one for each edge that it takes away, plus one for an edge that it makes."""
    e, f = face
    work = costs.product(dual.weights[f], dual.weights[e])[1]
    gone = (len(dual.behind[e]) == 1) + (len(dual.before[f]) == 1)
    return work - gone + (0 if dual.is_absorbed(face) else 1)
