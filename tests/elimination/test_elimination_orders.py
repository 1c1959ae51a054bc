"""Elimination orders on graphs of numbers: counts against the published ones and against all orders there are."""

from __future__ import annotations

import random
from copy import deepcopy
from functools import cache, partial
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from benchmarks.problems.elimination import PROBLEMS, Problem
from benchmarks.strategies.elimination import Namespace

import wengert as wg
from wengert import numpy as wnp
from wengert.transforms.ad.elimination.faces import Dual, by_faces, searched_faces
from wengert.transforms.ad.elimination.graph import Counted, Graph, graph_of
from wengert.transforms.ad.elimination.jacobian import program_graph
from wengert.transforms.ad.elimination.orders import ORDERS, RULES, by_edges, by_vertices, edge_steps, run, take, vertices_in
from wengert.transforms.ad.elimination.plan import METHODS, Wanted, planned
from wengert.transforms.ad.elimination.scalars import NUMBER
from wengert.transforms.ad.elimination.search import searched_edges, searched_vertices
from wengert.transforms.ad.elimination.weight import Costs

PUBLISHED = ("RoeFlux 1d", "RobotArm 6DOF", "HumanHeartDipole", "PropaneCombustion")
SMALL = range(8)


def random_graph(seed: int, inner: int = 6, sources: int = 3, sinks: int = 2) -> tuple[Graph[int], Costs]:
    """A graph of elements in which every vertex has two predecessors."""
    chance, costs = random.Random(seed), Costs()
    number, count = costs.number((NUMBER,)), sources + inner + sinks
    ends = range(sources + inner, count)
    edges = [(u, v, number) for v in range(sources, count) for u in chance.sample(range(max(0, v - 4), min(v, sources + inner)), 2)]
    return graph_of(range(sources), list(ends), edges), costs


def least_by_vertices(graph: Graph[int], costs: Costs) -> int:
    return min(run(graph, vertices_in(order), costs) for order in permutations(graph.inner))


def least_by_edges(graph: Graph[int], costs: Costs) -> int:
    """Over all sequences of steps; a graph that was come upon before is not gone through again."""
    number = costs.number((NUMBER,))

    @cache
    def least(edges: frozenset[tuple[int, int]]) -> int:
        left = graph_of(graph.sources, graph.sinks, [(u, v, number) for u, v in sorted(edges)])
        best = [0] if not left.inner else []
        for step in edge_steps(left):
            tried, counted = left.copy(), Counted(costs)
            take(tried, step, counted)
            best.append(counted.multiplications + least(frozenset((u, v) for u, behind in tried.successors.items() for v in behind)))
        return min(best)

    return least(frozenset((u, v) for u, behind in graph.successors.items() for v in behind))


def least_by_faces(graph: Graph[int], costs: Costs, most: int) -> int:
    """Over all sequences of faces of at most so many, with those left out that have as many products as the best so far."""
    best = most

    def go_on(dual: Dual[int], done: int) -> None:
        nonlocal best
        faces = dual.faces
        if not faces:
            best = min(best, done)
        elif done + 1 < best:
            for face in faces:
                tried = deepcopy(dual)
                tried.eliminate(face, Counted(costs))
                go_on(tried, done + 1)

    go_on(Dual(graph), 0)
    return best


def graph_as_written(problem: Problem, jax: Any) -> tuple[Graph[int], Costs]:
    """The graph of a problem as JAX writes it down."""
    library = Namespace(jax.numpy, jax.scipy.special.erf)
    function = partial(problem.function, library)
    if problem.second:
        function = jax.grad(function, argnums=tuple(range(len(problem.inputs))))
    module = wg.parse(jax.jit(function, keep_unused=True).lower(*problem.inputs).as_text()).module
    costs = Costs(trivial=True)
    return program_graph(module, costs, shared=False, granularity="tensors" if problem.blocks else "scalars"), costs


@pytest.mark.parametrize("name", PUBLISHED)
def test_counts_on_programs_as_they_are_written_are_the_published_ones(name: str):
    jax: Any = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    problem = PROBLEMS[name]
    assert problem.published is not None
    graph, costs = graph_as_written(problem, jax)
    counts = tuple(by_vertices(graph, order, costs).multiplications for order in ("forward", "reverse", "markowitz"))
    assert counts == problem.published[:3]
    assert min(by_vertices(graph, order, costs).multiplications for order in RULES) <= 1.08 * problem.published[3]


@pytest.mark.parametrize("name", ["BlackScholes", "MLP", "transformer"])
def test_searches_take_no_more_multiplications_than_published_for_other_graphs_of_the_functions(name: str):
    jax: Any = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    problem = PROBLEMS[name]
    assert problem.elsewhere is not None
    graph, costs = graph_as_written(problem, jax)
    assert searched_vertices(graph, costs, 400, None, 0).multiplications <= min(problem.elsewhere)


def test_what_only_moves_elements_costs_nothing_in_counts_of_the_literature():
    def moved(x: Any) -> Any:
        return wnp.reshape(wnp.flip(x), (2, 2)).T

    def added(x: Any) -> Any:
        return (x + 1.0) + 2.0

    program = wg.jit(moved).program(np.ones(4))
    for granularity in ("scalars", "tensors"):
        costs = Costs(trivial=True)
        graph = program_graph(program.module, costs, shared=False, granularity=granularity)
        assert by_vertices(graph, "reverse", costs).multiplications == 0
    costs = Costs(trivial=True)
    graph = program_graph(wg.jit(added).program(np.ones(4)).module, costs, shared=False, granularity="tensors")
    assert by_vertices(graph, "reverse", costs).multiplications == 4  # the derivative of a sum is a number like any other


@pytest.mark.parametrize("seed", SMALL)
def test_a_search_over_vertices_finds_the_least_of_all_orders(seed: int):
    graph, costs = random_graph(seed)
    least = least_by_vertices(graph, costs)
    elimination = searched_vertices(graph, costs, 200, None, 0)
    assert elimination.multiplications == least == run(graph, elimination.steps, costs)


@pytest.mark.parametrize("seed", SMALL[:4])
def test_edges_are_no_worse_than_vertices_and_faces_no_worse_than_edges(seed: int):
    graph, costs = random_graph(seed, inner=3, sources=2, sinks=1)
    vertices, edges = least_by_vertices(graph, costs), least_by_edges(graph, costs)
    faces = least_by_faces(graph, costs, edges + 1)
    assert faces <= edges <= vertices
    assert vertices == searched_vertices(graph, costs, 100, None, 0).multiplications
    assert edges == searched_edges(graph, costs, 200, None, 0).multiplications
    assert faces == searched_faces(graph, costs, 200, None, 0).multiplications


def test_there_are_graphs_where_edges_take_fewer_multiplications_than_any_order_of_vertices():
    costs = Costs()
    ends = ((0, 4), (1, 4), (2, 4), (3, 4), (0, 5), (4, 5), (1, 6), (2, 6), (3, 7), (5, 7), (0, 8), (1, 8), (3, 8), (5, 8))
    graph = graph_of(range(4), [7, 8], [(u, v, costs.number((NUMBER,))) for u, v in ends])
    assert least_by_vertices(graph, costs) == 12
    assert least_by_edges(graph, costs) == 11
    assert searched_faces(graph, costs, 60, None, 0).multiplications <= 11


def test_forward_and_reverse_cost_what_the_modes_cost():
    graph, costs = random_graph(3, inner=12)
    forward = sum(len(graph.successors[v]) * _reaching(graph, v) for v in graph.inner)
    assert by_vertices(graph, "forward", costs).multiplications == forward
    for rule in ("forward", "reverse"):
        count = by_vertices(graph, rule, costs).multiplications
        assert by_edges(graph, rule, costs).multiplications == count == by_faces(graph, rule, costs).multiplications


def _reaching(graph: Graph[int], v: int) -> int:
    """How many arguments a vertex depends on."""
    reached, pending = {v}, [v]
    while pending:
        for u in graph.predecessors[pending.pop()]:
            if u not in reached:
                reached.add(u)
                pending.append(u)
    return len(reached & set(graph.sources))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("order", ORDERS)
def test_no_order_is_worse_than_what_it_starts_from_and_each_is_the_same_every_time(method: Any, order: Any):
    graph, costs = random_graph(5, inner=12)
    wanted = Wanted(method, order, steps=30)
    first, second = planned(graph, costs, wanted), planned(graph, costs, wanted)
    assert first == second
    assert planned(graph, costs, Wanted(method, "search", steps=30)).multiplications <= planned(graph, costs, Wanted("vertices", "best")).multiplications
    assert graph.inner  # it stays as it was


def test_a_limit_in_seconds_ends_a_search():
    graph, costs = random_graph(1, inner=12)
    assert searched_vertices(graph, costs, 10**9, 0.05, 0).multiplications <= by_vertices(graph, "best", costs).multiplications
