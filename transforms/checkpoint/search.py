"""The search for plans: candidates are estimated, and those that promise most are lowered down to buffers, which says what they really need.

An estimate (:mod:`~wengert.transforms.checkpoint.liveness`) takes a thousandth of the time of lowering, and is wrong by a factor that is much the same
within a family; so it is corrected by what was seen of the family. The next candidate is always the one that improves the frontier most, if its corrected
estimate is right. Whenever a plan joins the frontier its neighbours become candidates: what it computes again is kept after all, what takes most flops for
a byte first; in small programs every single change.

How many candidates are lowered depends on the size of the program alone, so that the same program always has the same plans.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import log

from msgspec import Struct, field

from wengert.transforms.checkpoint.families import Candidate, families, without
from wengert.transforms.checkpoint.graph import Graph
from wengert.transforms.checkpoint.liveness import Liveness
from wengert.transforms.checkpoint.order import Order, added_work

SMALL = 60
"""Ops up to which every single change of a plan is a candidate."""
LOWERED = 18_000
"""About how many ops are lowered in all, in at least 16 and at most 120 plans."""
WORTH = 1e-4
"""Candidates that promise less gain come behind all others, those with the smallest estimates first."""
IN_VAIN = 12
"""How many of those in a row are lowered; in small programs all."""


class Plan(Struct, frozen=True):
    """One way to run a derivative.

    Attributes:
        name: the family that it is of.
        order: the ops by number, in the order in which they run.
        arena: the bytes of the compiled program's arena: all memory beside inputs, results and constants.
        work: the flops beyond those of the derivative as it is, and transcendental functions. Negative where the derivative computes what nobody
        reads.
        variant: which derivative's ops these are: 0 the one that was asked for, others of choices for loops (:mod:`~wengert.transforms.checkpoint.loops`).
        grows: whether loops whose iterations are not counted record on tapes, which grow beside the arena without a bound.
    """

    name: str
    order: Order
    arena: int
    work: int
    variant: int = 0
    grows: bool = False


class _Estimated(Struct):
    candidate: Candidate
    peak: int
    work: int


class _Search(Struct):
    graph: Graph
    evaluate: Callable[[str, Order], Plan]
    liveness: Liveness
    total: int
    """The flops of the derivative as it is."""
    waiting: list[_Estimated] = field(default_factory=list[_Estimated])
    known: set[Order] = field(default_factory=set[Order])
    frontier: list[Plan] = field(default_factory=list[Plan])
    seen: dict[str, list[float]] = field(default_factory=dict[str, list[float]])
    """For each family the arenas of its plans against their estimates."""

    def add(self, candidate: Candidate) -> None:
        """Makes a candidate wait, unless it is there already."""
        if candidate.order not in self.known:
            self.known.add(candidate.order)
            self.waiting.append(_Estimated(candidate, self.liveness.peak(candidate.order), added_work(self.graph, candidate.order)))

    def gain(self, each: _Estimated) -> float:
        """By how much the frontier would improve, if the corrected estimate is right: the area between logarithms of arenas over flops, up to three times
        as many."""
        ratios = self.seen.get(each.candidate.family, [])
        expected = log(max(1.0, each.peak * (sum(ratios) / len(ratios) if ratios else 1.0)))
        total, area = max(1, self.total), 0.0
        ordered = sorted(self.frontier, key=lambda plan: plan.work)
        for plan, following in zip(ordered, [*(plan.work for plan in ordered[1:]), 2 * total], strict=True):
            width = min(following, 2 * total) - max(plan.work, each.work)
            area += max(0, width) / total * max(0.0, log(max(1, plan.arena)) - expected)
        return area

    def lower(self, each: _Estimated) -> None:
        """Evaluates a candidate; if it joins the frontier, its neighbours wait."""
        self.waiting.remove(each)
        plan = self.evaluate(each.candidate.name, each.candidate.order)
        self.seen.setdefault(each.candidate.family, []).append(plan.arena / max(1, each.peak))
        if any(other.arena <= plan.arena and other.work <= plan.work for other in self.frontier):
            return
        self.frontier = [other for other in self.frontier if not (plan.arena <= other.arena and plan.work <= other.work)] + [plan]
        for name, dropped in _neighbours(self.graph, _repeated(plan.order)):
            self.add(Candidate(each.candidate.family, f"{plan.name.partition(';')[0].partition(' (')[0]}; {name}", without(self.graph, dropped)))


def search(graph: Graph, evaluate: Callable[[str, Order], Plan], most: int = 120) -> None:
    """Evaluates orders, the derivative as it is first, until none that waits promises anything or enough were.

    Args:
        graph: the derivative.
        evaluate: lowers an order that has a name.
        most: how many orders are evaluated, at most.
    """
    state = _Search(graph, evaluate, Liveness(graph), sum(work or 0 for work in graph.work))
    for candidate in families(graph):
        state.add(candidate)
    limit = min(most, max(16, min(120, LOWERED // max(1, len(graph.ops)))))
    state.lower(state.waiting[0])
    in_vain = 0
    for _ in range(limit - 1):
        gain, _, best = max(((state.gain(each), -each.peak, each) for each in state.waiting), key=lambda listed: listed[:2], default=(0.0, 0, None))
        in_vain = 0 if gain >= WORTH else in_vain + 1
        if best is None or (in_vain > IN_VAIN and len(graph.ops) > SMALL):
            break
        state.lower(best)


def _repeated(order: Order) -> frozenset[int]:
    """The ops that an order runs more than once."""
    seen: set[int] = set()
    again: set[int] = set()
    for n in order:
        (again if n in seen else seen).add(n)
    return frozenset(again)


def _neighbours(graph: Graph, dropped: frozenset[int]) -> Iterator[tuple[str, frozenset[int]]]:
    """What else might be computed again, by name."""
    dear = sorted(dropped, key=lambda n: (-(graph.work[n] or 0) / (graph.bytes[n] + 1), n))
    counts = {len(dear) // 2, len(dear) // 4, len(dear) // 8, 1, 2, 4}
    for count in sorted(count for count in counts if 0 < count < len(dear)):
        yield f"{count} more kept", dropped - frozenset(dear[:count])
    if len(graph.ops) <= SMALL:
        for n in dear:
            yield f"{n} kept", dropped - {n}
        for n in sorted(graph.repeatable - dropped):
            yield f"{n} not kept", dropped | {n}
