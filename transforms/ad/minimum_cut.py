"""Minimum cuts of values: flow networks in which a value that is cut costs its capacity.

By the theorem of max-flow and min-cut (L. R. Ford and D. R. Fulkerson, "Maximal flow through a network", 1956); the flow is found by Dinic's algorithm (E. A.
Dinic, "Algorithm for solution of a problem of maximum flow in networks with power estimation", 1970). Capacities are floats, which may be infinite.
"""

from __future__ import annotations

from collections import deque

from msgspec import Struct, field
from xdsl.ir import SSAValue

SOURCE, SINK = 0, 1


class _Edge(Struct):
    target: int
    room: float
    back: int
    """The number of the edge in the other direction, among those of the target."""


class FlowNetwork(Struct):
    """A flow network. A value has two nodes, its entry and the next number, with an edge of its capacity between them."""

    edges: list[list[_Edge]] = field(default_factory=lambda: [[], []])
    entry: dict[SSAValue, int] = field(default_factory=dict[SSAValue, int])

    def add(self, value: SSAValue, capacity: float) -> None:
        """Adds a value."""
        self.entry[value] = len(self.edges)
        self.edges += [[], []]
        self.connect(self.entry[value], self.entry[value] + 1, capacity)

    def cut(self, reached: set[int]) -> tuple[SSAValue, ...]:
        """The values of which one side alone is reached, in the order in which they were added."""
        return tuple([value for value, entry in self.entry.items() if entry in reached and entry + 1 not in reached])

    def connect(self, start: int, end: int, capacity: float) -> None:
        """Adds an edge, and that in the other direction, which has no room yet."""
        self.edges[start].append(_Edge(end, capacity, len(self.edges[end])))
        self.edges[end].append(_Edge(start, 0, len(self.edges[start]) - 1))

    def saturate(self) -> None:
        """Sends as much from the source to the sink as there is room for: along shortest paths, all those of a length at a time."""
        while (levels := self._levels())[SINK] >= 0:
            left = [0] * len(self.edges)
            while self._sent(levels, left):
                pass

    def _levels(self) -> list[int]:
        """How far each node is from the source along edges with room; -1 for what cannot be reached."""
        levels = [-1] * len(self.edges)
        levels[SOURCE] = 0
        pending = deque([SOURCE])
        while pending:
            node = pending.popleft()
            for edge in self.edges[node]:
                if edge.room > 0 and levels[edge.target] < 0:
                    levels[edge.target] = levels[node] + 1
                    pending.append(edge.target)
        return levels

    def _sent(self, levels: list[int], left: list[int]) -> bool:
        """Sends along one path; False if none is left of this length. ``left`` holds the first edge of each node that may still lead to the sink."""
        path: list[_Edge] = []
        node = SOURCE
        while node != SINK:
            edges = self.edges[node]
            while left[node] < len(edges) and not (edges[left[node]].room > 0 and levels[edges[left[node]].target] == levels[node] + 1):
                left[node] += 1
            if left[node] < len(edges):
                path.append(edges[left[node]])
                node = path[-1].target
            elif path:
                dead = path.pop()
                node = self.edges[dead.target][dead.back].target
                left[node] += 1
            else:
                return False
        amount = min(edge.room for edge in path)
        for edge in path:
            edge.room -= amount
            self.edges[edge.target][edge.back].room += amount
        return True

    def reached(self) -> set[int]:
        """The nodes that the source reaches along edges with room."""
        return {node for node, level in enumerate(self._levels()) if level >= 0}

    def not_reaching(self) -> set[int]:
        """The nodes that reach the sink along no edges with room."""
        reaching, pending = {SINK}, [SINK]
        while pending:
            for back in self.edges[pending.pop()]:
                edge = self.edges[back.target][back.back]
                if edge.room > 0 and back.target not in reaching:
                    reaching.add(back.target)
                    pending.append(back.target)
        return set(range(len(self.edges))) - reaching
