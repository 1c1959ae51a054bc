"""Binomial checkpointing of a chain: with s checkpoints at a time, a chain of C(s + r, s) steps is reversed with every step run at most r times.

A. Griewank, A. Walther, "Algorithm 799: revolve: an implementation of checkpointing for the reverse or adjoint mode of computational differentiation", ACM
TOMS 26, 2000.
"""

from __future__ import annotations

from itertools import pairwise

from wengert.transforms.ad.replay.schedule import first_stop
from wengert.transforms.checkpoint.graph import Graph
from wengert.transforms.checkpoint.order import Order, pruned
from wengert.transforms.checkpoint.positions import Positions


def reversed_chain(graph: Graph, positions: Positions, slots: int) -> Order:
    """The order in which the segments between the candidate positions are reversed with so many states at a time, of which the arguments are the first."""
    return _Reversal(graph, positions).run(slots)


class _Reversal:
    """Builds an order. State k is what crosses the k-th candidate position; state 0, the arguments, is always there."""

    def __init__(self, graph: Graph, positions: Positions):
        self.graph = graph
        self.states = [frozenset[int](), *(positions.across(k) for k in positions.candidates)]
        starts = [0, *(k + 1 for k in positions.candidates), len(positions.ops)]
        self.segments = [positions.ops[a:b] for a, b in pairwise(starts)]
        self.steps = len(self.states)
        fixed = frozenset(graph.forward) - graph.repeatable
        self.coefficients = frozenset(graph.repeatable) - graph.ancestors(graph.returned_forward)
        self.there: set[int] = {*fixed}
        self.stored: list[frozenset[int]] = [fixed]
        self.waiting = list(reversed(graph.backward))
        self.order: list[int] = []

    def run(self, slots: int) -> Order:
        fixed = frozenset(self.graph.forward) - self.graph.repeatable
        needed = self.graph.ancestors([*fixed, *self.graph.returned_forward])
        self.order = [n for n in self.graph.forward if n in needed]
        lo, left = 0, slots
        kept: set[int] = set(self.segments[-1]) & needed
        while left > 1 and self.steps - lo > 1:
            lo += first_stop(self.steps - lo, left)
            left -= 1
            kept |= self.states[lo] & needed  # what only the reverse part reads was not computed yet
        self.there |= kept
        self._reverse(0, self.steps, slots)
        self._run_ready(finish=True)
        return pruned(self.graph, self.order)

    def _reverse(self, lo: int, hi: int, slots: int) -> None:
        """Reverses the segments from ``lo`` up to ``hi``; the state before the first is there."""
        while hi - lo > 1:
            if slots <= 1:
                self._advance(hi - 1)
                self._reverse_one(hi - 1)
                hi -= 1
                continue
            stop = lo + first_stop(hi - lo, slots)
            self._advance(stop)
            self.stored.append(self.states[stop])
            self._reverse(stop, hi, slots - 1)
            self.stored.pop()
            hi = stop
            self._release()
        self._reverse_one(lo)

    def _advance(self, stop: int) -> None:
        """Computes a state, and keeps nothing else of what that takes."""
        before = set(self.there)
        for n in sorted(self.states[stop]):
            self._compute(n)
        self.there &= before | self.states[stop]

    def _reverse_one(self, segment: int) -> None:
        """Runs the ops of the reverse part that read nothing from before a segment."""
        for n in self.segments[segment]:
            if n in self.graph.residuals:
                self._compute(n)
        self._run_ready()
        self._release()

    def _run_ready(self, *, finish: bool = False) -> None:
        while self.waiting and (finish or self._is_ready(self.waiting[-1])):
            self._compute(self.waiting.pop())

    def _is_ready(self, n: int) -> bool:
        """Whether all that an op reads is there, or follows from what is there by coefficients, which nothing but the reverse part reads."""
        pending, seen = [n], {n}
        while pending:
            for m in self.graph.operands[pending.pop()]:
                if m in self.there or m in seen:
                    continue
                if m not in self.coefficients:
                    return False
                seen.add(m)
                pending.append(m)
        return True

    def _release(self) -> None:
        """Forgets what is neither stored nor of the reverse part."""
        stored = frozenset[int]().union(*self.stored)
        self.there = {n for n in self.there if self.graph.reverse[n] or n in stored or n in self.graph.free}

    def _compute(self, n: int) -> None:
        compute(self.graph, n, self.there, self.order)


def compute(graph: Graph, n: int, there: set[int], order: list[int]) -> None:
    """Appends an op to an order, behind those that it reads whose results are not there."""
    pending = [n]
    while pending:
        top = pending[-1]
        missing = [m for m in graph.operands[top] if m not in there]
        if top in there:
            pending.pop()
        elif missing:
            pending.extend(reversed(missing))
        else:
            order.append(pending.pop())
            there.add(top)
