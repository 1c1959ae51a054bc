"""The best order that an integer program finds, for small derivatives: what the search is held against.

After P. Jain et al., "Checkmate: Breaking the Memory Wall with Optimal Tensor Rematerialization" (MLSys 2020), with a stage for each op of the
reverse part. ``R[t, i]`` says that op i of the forward part runs again in stage t, ``S[t, i]`` that its result is in memory when stage t begins. What
runs needs its operands there or run in the same stage; what is there was there before or has just run; and in each stage what is there, what runs and
what the reverse part holds fit into the budget. The forward part itself runs once, before the stages. Memory is that of
:class:`~wengert.transforms.checkpoint.liveness.Liveness`, in which nothing is freed within a stage. Solved by HiGHS (``scipy.optimize.milp``).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp  # pyright: ignore[reportUnknownVariableType]
from scipy.sparse import coo_array

from wengert.transforms.checkpoint.binomial import compute
from wengert.transforms.checkpoint.graph import Graph
from wengert.transforms.checkpoint.liveness import Liveness
from wengert.transforms.checkpoint.order import Order, pruned

LARGEST = 60
"""Ops of a derivative up to which the integer program is made."""


@dataclass(frozen=True)
class Optimum:
    """The solution of the integer program.

    Attributes:
        order: the order that it stands for.
        proven: whether it is known that there is no better one; otherwise time ran out.
    """

    order: Order
    proven: bool


def optimal_order(graph: Graph, budget: int, seconds: float = 20.0) -> Optimum | None:
    """The order with the least work whose estimated peak is at most ``budget`` bytes; None where there is none, or none was found in so many seconds.

    Raises:
        ValueError: the derivative has more than 60 ops.
    """
    if len(graph.ops) > LARGEST:
        raise ValueError(f"the integer program is for at most {LARGEST} ops, and these are {len(graph.ops)}")
    return _Model(graph, budget).solve(seconds)


class _Model:
    """The constraints as triples, and what variables stand for."""

    def __init__(self, graph: Graph, budget: int):
        self.graph, self.budget = graph, budget
        self.bytes = Liveness(graph).bytes
        self.values = [n for n in graph.forward if n not in graph.free]
        self.column = {n: k for k, n in enumerate(self.values)}
        self.stages = graph.backward
        self.count = len(self.values)
        self.rows: list[tuple[dict[int, float], float]] = []
        """Sums of variables times coefficients that are at most a number."""

    def run(self, stage: int, n: int) -> int:
        """The variable for an op that runs again in a stage."""
        return stage * self.count + self.column[n]

    def there(self, stage: int, n: int) -> int:
        """The variable for a result that is in memory when a stage begins."""
        return (len(self.stages) + stage) * self.count + self.column[n]

    def solve(self, seconds: float) -> Optimum | None:
        """Solves the program."""
        self._dependences()
        self._forward_memory()
        self._stage_memory()
        size = 2 * len(self.stages) * self.count
        weights = np.zeros(size)
        upper = np.ones(size)
        for stage in range(len(self.stages)):
            for n in self.values:
                weights[self.run(stage, n)] = (self.graph.work[n] or 0) + 1e-3
                if n not in self.graph.repeatable:
                    upper[self.run(stage, n)] = 0
        entries = [(row, column, factor) for row, (sum_, _) in enumerate(self.rows) for column, factor in sum_.items()]
        rows, columns, factors = zip(*entries, strict=True)
        matrix: Any = coo_array((factors, (rows, columns)), shape=(len(self.rows), size))
        constraint = cast(Any, LinearConstraint)(matrix.tocsr(), -np.inf, np.array([most for _, most in self.rows]))
        solution = cast(Any, milp)(
            weights, constraints=constraint, integrality=np.ones(size), bounds=cast(Any, Bounds)(0, upper), options={"time_limit": seconds}
        )
        return None if solution.x is None else Optimum(self._order(np.asarray(solution.x) > 0.5), solution.status == 0)

    def _dependences(self) -> None:
        for stage, reverse in enumerate(self.stages):
            for n in self.graph.operands[reverse]:
                if n in self.column:
                    self.rows.append(({self.run(stage, n): -1, self.there(stage, n): -1}, -1))
            for n in self.values:
                for m in self.graph.operands[n]:
                    if m in self.column:
                        self.rows.append(({self.run(stage, n): 1, self.run(stage, m): -1, self.there(stage, m): -1}, 0))
                if stage:
                    self.rows.append(({self.there(stage, n): 1, self.there(stage - 1, n): -1, self.run(stage - 1, n): -1}, 0))

    def _forward_memory(self) -> None:
        """While the forward part runs: what ops behind read, and what the first stage begins with."""
        last = {m: k for k, n in enumerate(self.values) for m in self.graph.operands[n] if m in self.column}
        for k in range(len(self.values)):
            live = sum(self.bytes[n] for n in self.values[: k + 1] if last.get(n, self.column[n]) >= k)
            kept: dict[int, float] = {self.there(0, n): self.bytes[n] for n in self.values[: k + 1] if last.get(n, self.column[n]) < k and self.bytes[n]}
            self.rows.append((kept, self.budget - live))

    def _stage_memory(self) -> None:
        ends = {m: stage for stage, n in enumerate(self.stages) for m in self.graph.operands[n]}
        returned = frozenset(self.graph.returned)
        for stage in range(len(self.stages)):
            mine = [n for k, n in enumerate(self.stages[: stage + 1]) if ends.get(n, k) >= stage and n not in returned]
            sums: dict[int, float] = {}
            for n in self.values:
                if self.bytes[n]:
                    sums |= {self.run(stage, n): self.bytes[n], self.there(stage, n): self.bytes[n]}
            self.rows.append((sums, self.budget - sum(self.bytes[n] for n in mine)))

    def _order(self, chosen: Any) -> Order:
        graph = self.graph
        kept = [n for n in self.values if chosen[self.there(0, n)]]
        needed = graph.ancestors([*graph.returned_forward, *kept])
        order = [n for n in graph.forward if n in needed or n not in graph.repeatable]
        done: set[int] = set()
        for stage, reverse in enumerate(self.stages):
            available = {*graph.free, *(n for n in self.values if chosen[self.there(stage, n)] and n in order), *done}
            for n in self.values:
                if chosen[self.run(stage, n)] and n not in available:
                    compute(graph, n, available, order)
            compute(graph, reverse, available, order)
            done.add(reverse)
        return pruned(graph, order)
