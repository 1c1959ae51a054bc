"""A minimum vertex cut of a graph, by shortest augmenting paths.

J. Edmonds, R. Karp: "Theoretical improvements in algorithmic efficiency for network flow problems", Journal of the ACM 19, 1972.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Sequence
from typing import Generic, TypeVar

N = TypeVar("N", bound=Hashable)
_UNBOUNDED = 1 << 62
_START, _END = 0, 1


class VertexCut(Generic[N]):
    """The cheapest nodes of which every path from a demand to a root has one; of several such sets the one nearest to the demands.

    Attributes:
        cut: these nodes.
        open: the nodes that paths from demands meet before the cut.
        cost: that of the cut.
    """

    def __init__(self, demands: Sequence[N], sources: Callable[[N], Sequence[N] | None], cost: Callable[[N], int]):
        """Args:
        demands: the nodes at which paths begin; they may be in the cut.
        sources: the nodes behind a node; None for a root, which has none and ends a path.
        cost: what it costs to have a node in the cut.
        """
        self._numbers: dict[N, int] = {}
        self._flow: list[dict[int, int]] = [{}, {}]
        self._discover(demands, sources, cost)
        self.cost = 0
        while (amount := self._augment()) > 0:
            self.cost += amount
        reached = self._reached()
        self.cut = {node for node, number in self._numbers.items() if number in reached and number + 1 not in reached}
        self.open = {node for node, number in self._numbers.items() if number + 1 in reached}

    def _discover(self, demands: Sequence[N], sources: Callable[[N], Sequence[N] | None], cost: Callable[[N], int]) -> None:
        """Numbers all nodes: a node is an edge of its cost, which others are tied to by edges without a bound."""
        pending = list(dict.fromkeys(demands))
        for node in pending:
            self._edge(_START, self._number(node, cost), _UNBOUNDED)
        seen = set(pending)
        while pending:
            node = pending.pop()
            behind, leaves = sources(node), self._numbers[node] + 1
            if behind is None:
                self._edge(leaves, _END, _UNBOUNDED)
                continue
            for other in behind:
                self._edge(leaves, self._number(other, cost), _UNBOUNDED)
                if other not in seen:
                    seen.add(other)
                    pending.append(other)

    def _number(self, node: N, cost: Callable[[N], int]) -> int:
        if node not in self._numbers:
            number = self._numbers[node] = len(self._flow)
            self._flow += [{}, {}]
            self._edge(number, number + 1, cost(node))
        return self._numbers[node]

    def _edge(self, tail: int, head: int, capacity: int) -> None:
        self._flow[tail][head] = capacity
        self._flow[head].setdefault(tail, 0)

    def _paths(self) -> dict[int, int]:
        """The nodes that a flow can still reach from the start, each with the one before it on a shortest path."""
        before, pending = {_START: _START}, deque([_START])
        while pending and _END not in before:
            tail = pending.popleft()
            for head, left in self._flow[tail].items():
                if left > 0 and head not in before:
                    before[head] = tail
                    pending.append(head)
        return before

    def _augment(self) -> int:
        """Adds a path to the flow; returns how much goes along it."""
        before, path, head = self._paths(), list[tuple[int, int]](), _END
        if _END not in before:
            return 0
        while head != _START:
            path.append((before[head], head))
            head = before[head]
        amount = min(self._flow[tail][head] for tail, head in path)
        for tail, head in path:
            self._flow[tail][head] -= amount
            self._flow[head][tail] += amount
        return amount

    def _reached(self) -> set[int]:
        return set(self._paths())
