"""Positions in the forward part at which it may be cut into segments: what crosses each, and which of them few bytes cross."""

from __future__ import annotations

from functools import cached_property

from wengert.transforms.checkpoint.graph import Graph


class Positions:
    """The cuts of the forward part behind each of its ops.

    Position k lies behind the k-th op of the forward part that something of it reads. What crosses a position are the results of ops before it that ops of the
    forward part behind it read; arguments and constants cross nothing.
    """

    def __init__(self, graph: Graph):
        self.graph = graph
        needed = graph.ancestors(graph.returned_forward)
        self.ops = [n for n in graph.forward if n in needed or n in graph.residuals]

    @cached_property
    def last(self) -> dict[int, int]:
        """For each op the position of its last reader in the forward part."""
        last: dict[int, int] = {}
        for k, n in enumerate(self.ops):
            for m in self.graph.operands[n]:
                last[m] = k
        return last

    @cached_property
    def live(self) -> list[int]:
        """The bytes that cross each position."""
        change = [0] * (len(self.ops) + 1)
        for k, n in enumerate(self.ops):
            end = self.last.get(n, k)
            if end > k:
                change[k] += self.graph.bytes[n]
                change[end] -= self.graph.bytes[n]
        total, live = 0, list[int]()
        for delta in change[:-1]:
            total += delta
            live.append(total)
        return live

    def across(self, position: int) -> frozenset[int]:
        """The ops whose results cross a position."""
        return frozenset(n for k, n in enumerate(self.ops[: position + 1]) if self.last.get(n, k) > position and n not in self.graph.free)

    @cached_property
    def saved(self) -> list[int]:
        """The bytes of the residuals up to each position: what a segment needs when it is reversed."""
        total, saved = 0, list[int]()
        for n in self.ops:
            total += self.graph.bytes[n] if n in self.graph.residuals else 0
            saved.append(total)
        return saved

    @cached_property
    def candidates(self) -> list[int]:
        """Positions that fewer bytes cross than any near them: with layers, those between layers."""
        live, count = self.live, len(self.ops)
        reach = max(1, count // 64)
        listed = [k for k in range(count - 1) if live[k] > 0 and live[k] == min(live[max(0, k - reach) : k + reach + 1])]
        if not listed:
            return []
        smallest = sorted(live[k] for k in listed)[len(listed) // 4]
        chosen: list[int] = []
        for k in listed:
            if live[k] <= 2 * smallest and not (chosen and live[chosen[-1]] == live[k] and self.across(chosen[-1]) == self.across(k)):
                chosen.append(k)
        return chosen

    def spread(self, count: int) -> list[int]:
        """So many candidates that cut the residuals into parts of about equal bytes."""
        if count >= len(self.candidates):
            return self.candidates
        total = self.saved[-1]
        chosen: list[int] = []
        for part in range(1, count + 1):
            goal = total * part / (count + 1)
            near = [k for k in self.candidates if abs(self.saved[k] - goal) * 2 * (count + 1) <= total] or self.candidates
            best = min(near, key=lambda k: (self.live[k] if near is not self.candidates else 0, abs(self.saved[k] - goal)))
            if best not in chosen:
                chosen.append(best)
        return chosen

    def crossing(self, count: int) -> tuple[frozenset[int], frozenset[int]]:
        """The ops whose results cross one of about so many positions, and those of the last segment."""
        chosen = self.spread(count)
        return frozenset(n for k in chosen for n in self.across(k)), frozenset(self.ops[max(chosen, default=-1) + 1 :])
