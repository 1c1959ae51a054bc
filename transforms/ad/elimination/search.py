"""Search for an elimination with few multiplications, within a budget of eliminations that are tried.

Finding the least is NP-complete (U. Naumann, "Optimal Jacobian accumulation is NP-complete", Mathematical Programming 112, 2008). The search starts
with the orders by rule, goes on with greedy ones in which chance decides between vertices that cost about the same, and spends most of its budget on
simulated annealing: a vertex is put elsewhere in the order, which is kept if it is not worse, or with a probability that falls with what it is worse by
and with time (U. Naumann, P. Gottschling, "Simulated annealing for optimal pivot selection in Jacobian accumulation", 2003). The same seed and budget
give the same order; a limit in seconds may cut it short.
"""

from __future__ import annotations

import math
import random
import time
from collections.abc import Iterator, Sequence

from wengert.transforms.ad.elimination.graph import Counted, Graph
from wengert.transforms.ad.elimination.orders import (
    RULES,
    Elimination,
    Order,
    Step,
    by_edges,
    by_vertices,
    edge_cost,
    edge_steps,
    finish,
    greedy,
    run,
    take,
    vertices_in,
)
from wengert.transforms.ad.elimination.weight import Costs

GREEDY_SHARE = 0.3
"""The part of the budget that is spent on greedy orders."""
HOT, COLD = 0.006, 0.0005
"""The temperature of annealing at its beginning and end, as parts of the multiplications of the best order."""
MANY_EDGES = 300
"""Rules for edges look at every edge in every step: graphs with more edges go without them in a search."""


class Budget:
    """So many eliminations, and no more seconds than this; a forward pass over the graph counts as one."""

    def __init__(self, steps: int, seconds: float | None):
        self.steps = steps
        self.used = 0
        self._until = math.inf if seconds is None else time.monotonic() + seconds

    def rounds(self, most: int) -> Iterator[float]:
        """Goes on for so many steps, or while the budget lasts; gives the part of them that is done."""
        for n in range(most):
            if self.used >= self.steps or time.monotonic() > self._until:
                return
            self.used += 1
            yield n / most


def searched_vertices(graph: Graph[int], costs: Costs, steps: int, seconds: float | None, seed: int) -> Elimination:
    """The best elimination of vertices that a search comes upon."""
    best = by_vertices(graph, "best", costs)
    chance, budget = random.Random(seed), Budget(steps, seconds)
    if len(graph.inner) < 2:
        return Elimination(best.steps, best.multiplications, "search")
    for _ in budget.rounds(int(GREEDY_SHARE * steps)):
        best = min(best, _by_chance(graph, costs, chance), key=lambda e: e.multiplications)
    order = [step.vertex for step in best.steps]
    return Elimination(*_annealed(graph, costs, order, best.multiplications, chance, budget), "search")


def _by_chance(graph: Graph[int], costs: Costs, chance: random.Random) -> Elimination:
    heat, sign = chance.choice((0.0, 0.3, 1.0, 2.0)), chance.choice((-1, 0, 1))
    order = greedy(graph, costs, lambda v, cost: (cost + heat * chance.expovariate(1.0), sign * v or chance.random()))
    return Elimination(vertices_in(order), run(graph, vertices_in(order), costs), "search")


def _annealed(graph: Graph[int], costs: Costs, order: list[int], count: int, chance: random.Random, budget: Budget) -> tuple[tuple[Step, ...], int]:
    best, best_count, current = order, count, count
    scale = max(count, 1)
    for done in budget.rounds(budget.steps - budget.used):
        tried = _moved(order, chance)
        made = run(graph, vertices_in(tried), costs)
        heat = scale * HOT * (COLD / HOT) ** done
        if made <= current or chance.random() < math.exp((current - made) / heat):
            order, current = tried, made
            if made < best_count:
                best, best_count = tried, made
    return vertices_in(best), best_count


def _moved(order: Sequence[int], chance: random.Random) -> list[int]:
    """The order with one vertex, or a few neighbours, put elsewhere."""
    tried = list(order)
    width = min(chance.choice((1, 1, 1, 2, 4)), len(tried) - 1)
    start = chance.randrange(len(tried) - width + 1)
    moved = tried[start : start + width]
    del tried[start : start + width]
    place = chance.randrange(len(tried) + 1)
    return [*tried[:place], *moved, *tried[place:]]


def searched_edges(graph: Graph[int], costs: Costs, steps: int, seconds: float | None, seed: int) -> Elimination:
    """The best elimination of edges that a search comes upon; that of vertices is one, since a vertex is eliminated by all edges into it."""
    by_vertex = searched_vertices(graph, costs, steps // 2, None if seconds is None else seconds / 2, seed)
    chance, budget = random.Random(seed), Budget(steps // 2, None if seconds is None else seconds / 2)
    rules: tuple[Order, ...] = RULES if len(graph.inner_edges) <= MANY_EDGES else ()
    best = min((by_vertex, *(by_edges(graph, order, costs) for order in rules)), key=lambda e: e.multiplications)
    for _ in budget.rounds(budget.steps if rules else 0):
        best = min(best, _edges_by_chance(graph, costs, chance), key=lambda e: e.multiplications)
    return Elimination(best.steps, best.multiplications, "search")


def _edges_by_chance(graph: Graph[int], costs: Costs, chance: random.Random) -> Elimination:
    left, counted, heat = graph.copy(), Counted(costs), chance.choice((0.3, 1.0, 3.0))
    taken: list[Step] = []
    while choices := edge_steps(left):
        ranked = [(edge_cost(left, step, costs) + heat * chance.expovariate(1.0), n) for n, step in enumerate(choices)]
        step = choices[min(ranked)[1]]
        taken.append(step)
        take(left, step, counted)
    return Elimination(tuple(taken), counted.multiplications + finish(left, costs), "search")
