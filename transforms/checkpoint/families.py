"""Families of orders: candidates from which a plan is chosen.

Every order runs the forward part as it is and the ops of the reverse part in their order. What differs is which results of the forward part stay in memory
until the reverse part reads them; others are computed again right before the first op that reads them, from what is in memory.

=================  =====================================================================================================================
``late``           nothing is computed twice; what only the reverse part needs is computed where it needs it
``segments K``     what crosses K positions of the forward part is kept, and all else is computed again, a segment at a time (T. Chen,
                   B. Xu, C. Zhang, C. Guestrin, "Training Deep Nets with Sublinear Memory Cost", 2016). Positions are those that few
                   bytes cross: between layers, wherever there are layers
``..., last kept`` the last segment, which is reversed first, is kept whole; ``last cheap``: what is cheap of it is computed again
``... cheap L``    of that, only what takes at most L flops for each element is computed again
``cheap L``        whatever takes at most L flops for each element is computed again
``cut L``          the smallest number of bytes is kept from which everything else follows by ops of at most L flops for each element: a
                   minimum cut (as PyTorch's min-cut partitioner, after L. R. Ford and D. R. Fulkerson, 1956)
``binomial S``     S positions are kept at a time and new ones are set on the way back (A. Griewank, A. Walther, "Algorithm 799: revolve",
                   2000): several times the forward part's flops for logarithmic memory
=================  =====================================================================================================================
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from msgspec import Struct

from wengert.transforms.checkpoint.binomial import compute, reversed_chain
from wengert.transforms.checkpoint.cut import cheapest_to_keep
from wengert.transforms.checkpoint.graph import Graph
from wengert.transforms.checkpoint.order import Order, pruned
from wengert.transforms.checkpoint.positions import Positions

CHEAP = (1, 4, 12, 40)
"""Flops for each element of a result up to which an op counts as cheap to compute again."""
SEGMENTS = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 14, 16, 20, 24, 28, 32, 40, 48, 64)
"""How many positions are kept."""
SLOTS = (2, 3, 4, 5, 6, 8, 10, 12, 16)
"""How many positions are kept at a time."""


class Candidate(Struct, frozen=True):
    """An order and the family that it is of, or near."""

    family: str
    name: str
    order: Order


def families(graph: Graph) -> Iterator[Candidate]:
    """The candidates, that of the derivative as it is first; some may be equal."""
    yield Candidate("as derived", "as derived", pruned(graph, range(len(graph.ops))))
    yield Candidate("late", "late", without(graph, frozenset()))
    positions, every = Positions(graph), frozenset(graph.repeatable)
    cheap = {most: frozenset(n for n in every if (graph.work[n] or 0) <= most * max(1, graph.bytes[n] // 8)) for most in CHEAP}
    for most, again in (*cheap.items(), (None, every)):
        suffix = "" if most is None else f" {most}"
        yield Candidate("cut", f"cut{suffix}", without(graph, every - cheapest_to_keep(graph, again)))
        if most is not None:
            yield Candidate("cheap", f"cheap{suffix}", without(graph, again))
    for count in (count for count in SEGMENTS if count <= len(positions.candidates)):
        yield from _segments(graph, positions, every, cheap, count)
    for slots in (slots for slots in SLOTS if slots <= len(positions.candidates)):
        yield Candidate("binomial", f"binomial {slots}", reversed_chain(graph, positions, slots))


def _segments(graph: Graph, positions: Positions, every: frozenset[int], cheap: Mapping[int, frozenset[int]], count: int) -> Iterator[Candidate]:
    """What crosses so many positions is kept, and of the last segment, which is reversed first, nothing, what is dear, or all."""
    crossing, last = positions.crossing(count)
    dropped = every - crossing
    yield Candidate("segments", f"segments {count}", without(graph, dropped))
    yield Candidate("segments", f"segments {count}, last kept", without(graph, dropped - last))
    yield Candidate("segments", f"segments {count}, last cheap", without(graph, dropped - (last - cheap[CHEAP[1]])))
    for most, again in cheap.items():
        yield Candidate(f"segments cheap {most}", f"segments {count} cheap {most}", without(graph, dropped & again))


def without(graph: Graph, dropped: frozenset[int]) -> Order:
    """The order in which these results of the forward part are not kept for the reverse part: each is computed again before its first reader there."""
    order, there = list(graph.forward), set(graph.forward) - dropped
    sunk = _only_for_reverse(graph) & graph.repeatable
    there -= sunk
    order = [n for n in order if n not in sunk]
    for n in graph.backward:
        compute(graph, n, there, order)
    return pruned(graph, order)


def _only_for_reverse(graph: Graph) -> set[int]:
    """The ops of the forward part that no result of it needs: coefficients of the derivative."""
    needed = graph.ancestors(graph.returned_forward)
    return {n for n in graph.forward if n not in needed and n not in graph.free}
