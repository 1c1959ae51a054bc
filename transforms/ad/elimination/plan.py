"""Which elimination of a graph: by what is eliminated, the order, and the budget of a search."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from wengert.transforms.ad.elimination.build import Chain
from wengert.transforms.ad.elimination.faces import by_faces, searched_faces
from wengert.transforms.ad.elimination.graph import Counted, Graph
from wengert.transforms.ad.elimination.orders import Elimination, Order, by_edges, by_vertices, cost, vertices_in
from wengert.transforms.ad.elimination.search import searched_edges, searched_vertices
from wengert.transforms.ad.elimination.weight import Costs

Method = Literal["vertices", "edges", "faces"]
METHODS: tuple[Method, ...] = ("vertices", "edges", "faces")
STEPS = 1000


_WAYS = {"vertices": (by_vertices, searched_vertices), "edges": (by_edges, searched_edges), "faces": (by_faces, searched_faces)}


class Wanted(Struct, frozen=True):
    """How to eliminate.

    Attributes:
        method: what is eliminated.
        order: in which order.
        steps: how many eliminations a search tries.
        seconds: when a search ends, at the latest; None: only by its steps, so that it gives the same order each time.
        seed: of a search.
    """

    method: Method = "vertices"
    order: Order = "best"
    steps: int = STEPS
    seconds: float | None = None
    seed: int = 0


def counted_graph(graph: Graph[Chain], costs: Costs) -> Graph[int]:
    """The graph with structures, by number, in place of values."""
    return graph.mapped(lambda weight: costs.number(tuple(block.part for block in weight)))


def planned(graph: Graph[int], costs: Costs, wanted: Wanted) -> Elimination:
    """The elimination that is wanted, of a graph of structures. Chains of one multiplication or none are taken first, as every order would."""
    free, left = without_free(graph, costs)
    by, searched = _WAYS[wanted.method]
    made = searched(left, costs, wanted.steps, wanted.seconds, wanted.seed) if wanted.order == "search" else by(left, wanted.order, costs)
    return replace(made, steps=(*vertices_in(free), *made.steps))


def without_free(graph: Graph[int], costs: Costs) -> tuple[list[int], Graph[int]]:
    """The graph without vertices that cost nothing to eliminate and leave no edge that was not there in another place: those with one edge on one side,
    which is 1, -1
    or a mask; and these vertices, in order."""
    left, counted = graph.copy(), Counted(costs)
    taken: list[int] = []
    changed = True
    while changed:
        changed = False
        for v in left.inner:
            if min(len(left.predecessors[v]), len(left.successors[v])) == 1 and cost(left, v, costs) == 0:
                before = counted.multiplications
                tried = left.copy()
                tried.eliminate(v, counted)
                if counted.multiplications == before:
                    left, changed = tried, True
                    taken.append(v)
    return taken, left
