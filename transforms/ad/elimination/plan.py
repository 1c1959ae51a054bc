"""Plans of elimination: what is eliminated, the order, and the budget of a search."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from wengert.transforms.ad.elimination.build import Chain
from wengert.transforms.ad.elimination.faces import by_faces, searched_faces
from wengert.transforms.ad.elimination.graph import Counted, Edge, Graph
from wengert.transforms.ad.elimination.orders import Elimination, Order, Step, by_edges, by_vertices, cost, take, vertices_in
from wengert.transforms.ad.elimination.search import searched_edges, searched_vertices
from wengert.transforms.ad.elimination.weight import Costs, Map

Method = Literal["vertices", "edges", "faces"]
METHODS: tuple[Method, ...] = ("vertices", "edges", "faces")
STEPS = 1000
MANY_MAPS = 6
"""So many maps at most are tried as blocks that are written out."""


_WAYS = {"vertices": (by_vertices, searched_vertices), "edges": (by_edges, searched_edges), "faces": (by_faces, searched_faces)}


class Wanted(Struct, frozen=True):
    """A request for an elimination.

    Attributes:
        method: what is eliminated.
        order: in which order.
        steps: how many eliminations a search tries, for each choice of maps that are written out first.
        seconds: when a search ends, at the latest; None: only by its steps, so that it gives the same order each time.
        seed: of a search.
        writes: whether maps may be written out first.
    """

    method: Method = "vertices"
    order: Order = "best"
    steps: int = STEPS
    seconds: float | None = None
    seed: int = 0
    writes: bool = True


def counted_graph(graph: Graph[Chain], costs: Costs) -> Graph[int]:
    """The graph with structures, by number, in place of values."""
    return graph.mapped(lambda weight: costs.number(tuple(block.part for block in weight)))


def planned(graph: Graph[int], costs: Costs, wanted: Wanted) -> Elimination:
    """The elimination that is wanted, of a graph of structures. Chains of one multiplication or none are taken first, as every order would.

    Maps that take multiplications, loops above all, are written out first where that saves some: a loop that carries few numbers between many arguments and
    many results takes a direction for each of the few then, and is a block like any other. Forward and reverse order write out none, for neither mode does.
    """
    written: list[Step] = []
    best = _planned(graph, costs, wanted)
    for edge in laborious(graph, costs) if wanted.writes and wanted.order not in ("forward", "reverse") else ():
        tried = Step("write", edge=edge)
        left, counted = graph.copy(), Counted(costs)
        for step in (*written, tried):
            take(left, step, counted)
        made = _planned(left, costs, wanted)
        if counted.multiplications + made.multiplications < best.multiplications:
            written.append(tried)
            best = replace(made, steps=(*written, *made.steps), multiplications=counted.multiplications + made.multiplications)
    return best


def _planned(graph: Graph[int], costs: Costs, wanted: Wanted) -> Elimination:
    free, left = without_free(graph, costs)
    by, searched = _WAYS[wanted.method]
    made = searched(left, costs, wanted.steps, wanted.seconds, wanted.seed) if wanted.order == "search" else by(left, wanted.order, costs)
    return replace(made, steps=(*vertices_in(free), *made.steps))


def laborious(graph: Graph[int], costs: Costs) -> list[Edge]:
    """The edges that are maps of some work, those of most work first, and no more than a few."""
    listed = [((u, v), costs.weight(number)) for u, behind in graph.successors.items() for v, number in behind.items()]
    maps = [(sum(part.work for part in weight if isinstance(part, Map)), edge) for edge, weight in listed]
    return [edge for work, edge in sorted(maps, key=lambda pair: (-pair[0], pair[1])) if work > 0][:MANY_MAPS]


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
