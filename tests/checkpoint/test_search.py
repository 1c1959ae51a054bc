"""The parts of the search: the formula of binomial checkpointing, minimum cuts, orders and their IR."""

from __future__ import annotations

from functools import cache
from itertools import combinations
from types import SimpleNamespace
from typing import Any, cast

import pytest

import wengert as wg
from wengert.ir.printing.printer import print_module
from wengert.transforms.ad.replay.schedule import advances, first_stop, repetitions
from wengert.transforms.checkpoint.cut import cheapest_to_keep
from wengert.transforms.checkpoint.graph import Graph
from wengert.transforms.checkpoint.order import added_work, arranged, pruned


@cache
def least_advances(steps: int, slots: int) -> int:
    """By dynamic programming over the place of the next checkpoint."""
    if steps <= 1:
        return 0
    if slots == 1:
        return steps * (steps - 1) // 2
    return min(stop + least_advances(steps - stop, slots - 1) + least_advances(stop, slots) for stop in range(1, steps))


@pytest.mark.parametrize("slots", range(1, 7))
def test_advances_are_those_of_the_formula(slots: int):
    for steps in range(1, 60):
        assert advances(steps, slots) == least_advances(steps, slots)
        assert steps == 1 or slots == 1 or 0 < first_stop(steps, slots) < steps
    assert repetitions(1, slots) == 0


def _diamond(sizes: list[int]) -> Any:
    """x -> a -> b -> c, a -> c, with c and b read by the reverse part."""
    operands = [(), (0,), (1,), (1, 2)]
    return SimpleNamespace(forward=[0, 1, 2, 3], free=frozenset[int](), bytes=sizes, operands=operands, residuals=frozenset((2, 3)))


@pytest.mark.parametrize("sizes", [[5, 1, 9, 9], [1, 5, 9, 9], [9, 9, 2, 3], [2**33, 2**34, 2**35, 2**35], [2**35, 2**34, 2**31 + 7, 2**31 + 1]])
def test_the_cut_keeps_the_fewest_bytes(sizes: list[int]):
    """Against all subsets; sizes beyond 32 bits are cut as well, to rounding."""
    graph = _diamond(sizes)
    again = frozenset((1, 2, 3))

    def enough(kept: frozenset[int]) -> bool:
        def there(n: int) -> bool:
            return n in kept or (n in again and all(there(m) for m in graph.operands[n]))

        return all(there(n) for n in graph.residuals)

    subsets = (frozenset(chosen) for count in range(5) for chosen in combinations(range(4), count))
    least = min(sum(sizes[n] for n in kept) for kept in subsets if enough(kept))
    kept = cheapest_to_keep(cast(Graph, graph), again)
    assert enough(kept)
    assert sum(sizes[n] for n in kept) <= least * (1 + 1e-6)


SQUARE = """
func.func public @main(%x: tensor<8xf64>) -> tensor<8xf64> {
  %0 = stablehlo.sine %x : tensor<8xf64>
  %1 = stablehlo.multiply %0, %0 : tensor<8xf64>
  return %1 : tensor<8xf64>
}
"""


def test_what_runs_twice_stands_behind_a_barrier():
    derivative = wg.parse(SQUARE).vjp()
    graph = Graph(derivative.optimized_module)
    names = [op.name.partition(".")[2] for op in graph.ops]
    sine, add = names.index("sine"), next(n for n in graph.backward)
    order = (*range(add + 1), sine, *range(add + 1, len(names)))
    module = arranged(graph, order)
    text = print_module(module)
    assert text.count("stablehlo.sine") == 2
    assert text.count("optimization_barrier %") == 1
    assert added_work(graph, order) == graph.work[sine] == 16


def test_the_parts_of_a_derivative():
    graph = Graph(wg.parse(SQUARE).vjp().optimized_module)
    names = [op.name.partition(".")[2] for op in graph.ops]
    assert {names[n] for n in graph.forward} >= {"sine", "cosine"}
    assert all(names[n] in ("multiply", "add") for n in graph.backward)
    assert len(pruned(graph, range(len(names)))) == len(names)
