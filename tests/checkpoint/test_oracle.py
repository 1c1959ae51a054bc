"""The search against optima of small derivatives: an integer program, and all sets of values."""

from __future__ import annotations

from itertools import combinations, pairwise

import numpy as np
import pytest
from reference_programs import PROGRAMS, needs_corpus, share

import wengert as wg
import wengert.numpy as wnp
from wengert.lab.checkpoint.oracle import LARGEST, optimal_order
from wengert.lab.corpus import CorpusProgram
from wengert.runtime.program import Program
from wengert.transforms.checkpoint.families import without
from wengert.transforms.checkpoint.frontier import Frontier, arena_of
from wengert.transforms.checkpoint.liveness import Liveness
from wengert.transforms.checkpoint.order import added_work, arranged

NEAR = 1.05


def network(*widths: int, rows: int = 64) -> Program:
    """Layers of these widths."""

    @wg.jit
    def layers(x, *weights):
        for w in weights:
            x = wnp.tanh(x @ w)
        return wnp.sum(x * x)

    return layers.program(np.ones((rows, widths[0])), *[np.ones((a, b)) for a, b in pairwise(widths)])


def assert_near_the_integer_program(frontier: Frontier, shares: tuple[float, ...]) -> int:
    """For the memory that the optimum of the integer program really takes, the search has a plan with at most 1.05 times its flops. Returns how many optima there were."""
    graph = frontier.graph
    total = sum(work or 0 for work in graph.work)
    full = Liveness(graph).peak(frontier.plans[0].order)
    listed = 0
    for part in shares:
        optimum = optimal_order(graph, int(part * full), seconds=10)
        if optimum is None or not optimum.proven:
            continue
        listed += 1
        arena = arena_of(arranged(graph, optimum.order))
        assert total + frontier.within(arena).work <= NEAR * (total + added_work(graph, optimum.order))
    return listed


@pytest.mark.parametrize("widths", [(8, 64, 8, 32, 16, 64), (32, 32, 32, 32, 32), (64, 8, 64, 8, 64)])
def test_near_the_integer_program(widths: tuple[int, ...]):
    assert assert_near_the_integer_program(network(*widths).vjp().frontier, (0.95, 0.85, 0.75, 0.65)) >= 2


@needs_corpus
@pytest.mark.parametrize("program", share(PROGRAMS, 10), ids=lambda program: program.name)
def test_near_the_integer_program_on_reference_programs(program: CorpusProgram):
    reference = program.reference(program.precisions[0])
    frontier = wg.load(program.path(program.precisions[0])).vjp(tuple(sorted(reference.tangents)), tuple(sorted(reference.cotangents))).frontier
    if frontier.best[0].grows and frontier.bounded:
        pytest.skip("the tape of a loop of unknown length is in no arena: plans within a budget are others than orders of these ops")
    if 0 < len(frontier.graph.ops) <= LARGEST and frontier.best[0].arena:
        assert_near_the_integer_program(frontier, (0.9, 0.7))


@pytest.mark.parametrize("widths", [(8, 64, 8), (32, 32, 32)])
def test_near_the_best_of_all_sets_of_values(widths: tuple[int, ...]):
    """By the arena itself: no set of values to compute again gives a plan that takes less memory for 1.05 times the flops of the search's plan, or less."""
    frontier = network(*widths).vjp().frontier
    graph = frontier.graph
    total = sum(work or 0 for work in graph.work)
    numbers = sorted(graph.repeatable)
    assert 4 <= len(numbers) <= 12
    for count in range(len(numbers) + 1):
        for dropped in combinations(numbers, count):
            order = without(graph, frozenset(dropped))
            arena = arena_of(arranged(graph, order))
            assert total + frontier.within(arena).work <= NEAR * (total + added_work(graph, order))


def test_large_derivatives_have_no_integer_program():
    graph = network(*[4] * 12).vjp().frontier.graph
    with pytest.raises(ValueError, match="at most 60 ops"):
        optimal_order(graph, 1000)
