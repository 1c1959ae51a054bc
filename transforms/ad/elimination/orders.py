"""Orders in which vertices or edges are eliminated.

=======================  ===================================================================================================================
``forward``              vertices as they are computed: what forward mode of all directions does
``reverse``              the other way around: reverse mode
``markowitz``            the vertex that costs least next; of equals the first (H. Markowitz 1957, for sparse matrices)
``reverse-markowitz``    the same; of equals the last
``relative-markowitz``   the vertex that costs least next beside what eliminating it last would cost: the number of arguments that it depends on times that of
                         results that depend on it (A. Griewank, U. Naumann 2003)
``widest``               the vertex with the most elements next, the cheapest of equals: in a chain of blocks products are made first where they are widest
                         (F. Chin, "An O(n) algorithm for determining a near-optimal computation order of matrix chain products", 1978); on elements
                         it is Markowitz's order
``best``                 the one of these with the fewest multiplications
``search``               that one, improved within a budget (:mod:`~wengert.transforms.ad.elimination.search`)
=======================  ===================================================================================================================

The cost of a vertex is what its elimination takes as the graph is: its number of predecessors times that of successors (the Markowitz degree) where
every edge is a number, and otherwise the multiplications of the products of their blocks. Edges are taken likewise, each in front or back elimination.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Literal, TypeVar

from msgspec import Struct

from wengert.transforms.ad.elimination.graph import Counted, Edge, Graph, Weights
from wengert.transforms.ad.elimination.weight import Costs

W = TypeVar("W")
Order = Literal["best", "forward", "reverse", "markowitz", "reverse-markowitz", "relative-markowitz", "widest", "search"]
ORDERS: tuple[Order, ...] = ("best", "forward", "reverse", "markowitz", "reverse-markowitz", "relative-markowitz", "widest", "search")
RULES: tuple[Order, ...] = ORDERS[1:-1]
"""The orders by rule."""


class Step(Struct, frozen=True):
    """One step of an elimination: of a vertex, of an edge from its front or its back, or of a face (two edges of the dual graph by number); or the block of an
    edge that is a map is written out."""

    what: Literal["vertex", "front", "back", "face", "write"]
    vertex: int = -1
    edge: Edge = (-1, -1)


class Elimination(Struct, frozen=True):
    """A sequence of steps, and the multiplications that it takes; ``order`` says how it came about."""

    steps: tuple[Step, ...]
    multiplications: int
    order: str


def vertices_in(order: Sequence[int]) -> tuple[Step, ...]:
    """The steps that eliminate vertices one after the other."""
    return tuple(Step("vertex", v) for v in order)


def run(graph: Graph[int], steps: Sequence[Step], costs: Costs) -> int:
    """The multiplications of a sequence of steps on a graph, which stays as it is, and of writing out its blocks."""
    left, counted = graph.copy(), Counted(costs)
    for step in steps:
        take(left, step, counted)
    return counted.multiplications + finish(left, costs)


def take(graph: Graph[W], step: Step, counted: Weights[W]) -> None:
    """Takes one step, of a vertex or an edge."""
    if step.what == "vertex":
        graph.eliminate(step.vertex, counted)
    elif step.what == "write":
        graph.write(step.edge, counted)
    elif step.what == "front":
        graph.front(step.edge, counted)
    else:
        graph.back(step.edge, counted)


def finish(graph: Graph[int], costs: Costs) -> int:
    """The multiplications for writing out the edges of a graph without inner vertices."""
    return sum(costs.writing(weight) for behind in graph.successors.values() for weight in behind.values())


def by_vertices(graph: Graph[int], order: Order, costs: Costs) -> Elimination:
    """An elimination of vertices, by any rule."""
    if order == "best":
        return min((by_vertices(graph, rule, costs) for rule in RULES), key=lambda e: e.multiplications)
    if order in ("forward", "reverse"):
        chosen = graph.inner if order == "forward" else graph.inner[::-1]
        return Elimination(vertices_in(chosen), run(graph, vertices_in(chosen), costs), order)
    chosen = greedy(graph, costs, _rank(graph, order, costs))
    return Elimination(vertices_in(chosen), run(graph, vertices_in(chosen), costs), order)


Rank = Callable[[int, int], tuple[float, ...]]
"""(vertex, cost) -> what the least is taken of."""


def greedy(graph: Graph[int], costs: Costs, rank: Rank) -> list[int]:
    """Vertices, always that of the least rank next. The costs of those beside the one that was eliminated are worked out again."""
    left, counted = graph.copy(), Counted(costs)
    known = {v: cost(left, v, costs) for v in left.inner}
    order: list[int] = []
    while known:
        v = min(known, key=lambda v: rank(v, known[v]))
        order.append(v)
        del known[v]
        beside = {*left.predecessors[v], *left.successors[v]}
        left.eliminate(v, counted)
        for u in beside:
            if u in known:
                known[u] = cost(left, u, costs)
    return order


def cost(graph: Graph[int], v: int, costs: Costs) -> int:
    """The multiplications for eliminating a vertex now, without those for sums of chains."""
    outer, product = graph.successors[v].values(), costs.product
    return sum(product(out, into)[1] for into in graph.predecessors[v].values() for out in outer)


def _rank(graph: Graph[int], order: Order, costs: Costs) -> Rank:
    if order == "markowitz":
        return lambda v, cost: (cost, v)
    if order == "reverse-markowitz":
        return lambda v, cost: (cost, -v)
    if order == "widest":
        elements = {v: _elements(graph, v, costs) for v in graph.inner}
        return lambda v, cost: (-elements[v], cost, v)
    later = lasting(graph)
    return lambda v, cost: (cost - later[v], v)


def _elements(graph: Graph[int], v: int, costs: Costs) -> int:
    """How many elements a vertex has."""
    return next((prod(costs.weight(number)[-1].into_shape) for number in graph.successors[v].values()), 0)


def lasting(graph: Graph[int]) -> dict[int, int]:
    """For each inner vertex, the number of arguments that it depends on times the number of results that depend on it."""
    above = _bits(graph.sources, graph.inner, {v: list(graph.predecessors[v]) for v in graph.inner})
    below = _bits(graph.sinks, graph.inner[::-1], {v: list(graph.successors[v]) for v in graph.inner})
    return {v: above[v].bit_count() * below[v].bit_count() for v in graph.inner}


def _bits(ends: Sequence[int], order: Sequence[int], beside: dict[int, list[int]]) -> dict[int, int]:
    bits = {v: 1 << n for n, v in enumerate(ends)}
    for v in order:
        bits[v] = 0
        for u in beside[v]:
            bits[v] |= bits.get(u, 0)
    return bits


def by_edges(graph: Graph[int], order: Order, costs: Costs) -> Elimination:
    """An elimination of edges, by any rule.

    ``forward`` takes edges from the front, those that begin first first; ``reverse`` from the back, those that end last first; the others take the cheapest
    step of either kind.
    """
    if order == "best":
        return min((by_edges(graph, rule, costs) for rule in RULES), key=lambda e: e.multiplications)
    left, counted = graph.copy(), Counted(costs)
    steps: list[Step] = []
    while choices := edge_steps(left):
        step = min(choices, key=lambda step: _edge_rank(left, step, order, costs))
        steps.append(step)
        take(left, step, counted)
    return Elimination(tuple(steps), counted.multiplications + finish(left, costs), order)


def edge_steps(graph: Graph[int]) -> list[Step]:
    """All steps of edge elimination that are possible."""
    inner = set(graph.inner)
    edges = graph.inner_edges
    return [*(Step("front", edge=e) for e in edges if e[1] in inner), *(Step("back", edge=e) for e in edges if e[0] in inner)]


def _edge_rank(graph: Graph[int], step: Step, order: Order, costs: Costs) -> tuple[float, ...]:
    u, v = step.edge
    if order == "forward":
        return (step.what != "front", v, u)
    if order == "reverse":
        return (step.what != "back", -u, -v)
    work = edge_cost(graph, step, costs)
    if order == "widest":
        middle = v if step.what == "front" else u
        return (-_elements(graph, middle, costs), work, u, v)
    if order == "relative-markowitz":
        work -= len(graph.predecessors[u]) + len(graph.successors[v])
    return (work, u, v) if order != "reverse-markowitz" else (work, -u, -v)


def edge_cost(graph: Graph[int], step: Step, costs: Costs) -> int:
    """The multiplications for eliminating an edge now."""
    u, v = step.edge
    weight = graph.successors[u][v]
    if step.what == "front":
        return sum(costs.product(outer, weight)[1] for outer in graph.successors[v].values())
    return sum(costs.product(weight, inner)[1] for inner in graph.predecessors[u].values())
