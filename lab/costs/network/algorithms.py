"""Algorithms of collectives: rounds, and the bytes that a rank sends one round after the other, as formulas and as schedules to count them.

A message of m bytes takes ``alpha + m beta`` seconds (Hockney 1994). A collective takes as many rounds as its formula says, and in each round no rank sends
more than the largest message of the round; ``blocks`` are the sum of these, in parts of m / p. m is what each rank brings: its operand.

Sources: Thakur, Rabenseifner, Gropp, "Optimization of Collective Communication Operations in MPICH" (2005); Bruck et al., "Efficient Algorithms for
All-to-All Communications" (1997); Patarasuk, Yuan, "Bandwidth optimal all-reduce algorithms" (2009). Where p is no power of 2, the halving and doubling
algorithms first fold the ranks above the largest power of 2 into others, and give them the result at the end, as MPICH does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from msgspec import Struct

Counts = np.ndarray[Any, np.dtype[np.int64]]
Round = tuple[Counts, Counts, Counts]
"""The messages of a round: who sends, to whom, how many blocks of m / p bytes."""


class Algorithm(Struct, frozen=True):
    """One way to do a collective.

    Attributes:
        collective: what it does: ``all_reduce`` and so on.
        name: what it is called.
        rounds: the number of rounds, for p ranks.
        blocks: the blocks of m / p bytes that are sent one after the other, the largest message of each round.
        schedule: the messages round by round.
    """

    collective: str
    name: str
    rounds: Callable[[int], int]
    blocks: Callable[[int], float]
    schedule: Callable[[int], Iterator[Round]]

    def seconds(self, ranks: int, bytes: float, alpha: float, beta: float) -> float:
        """The time of the collective on so many ranks, each with an operand of so many bytes; alpha in seconds, beta in seconds for a byte."""
        return 0.0 if ranks == 1 else self.rounds(ranks) * alpha + self.blocks(ranks) * (bytes / ranks) * beta


def log2_below(p: int) -> int:
    """The largest k with 2**k <= p."""
    return p.bit_length() - 1


def log2_above(p: int) -> int:
    """The least k with 2**k >= p."""
    return (p - 1).bit_length()


def _power(p: int) -> int:
    return 1 << log2_below(p)


def _is_power(p: int) -> bool:
    return p == _power(p)


# -- schedules


def _ring(p: int, rounds: int, blocks: int) -> Iterator[Round]:
    """Everybody sends to the next one."""
    here = np.arange(p)
    for _ in range(rounds):
        yield here, (here + 1) % p, np.full(p, blocks)


def _fold(p: int, *, back: bool) -> Iterator[Round]:
    """The even ones of the first 2 (p - 2**k) ranks send all they have to their neighbours, or get it."""
    extra = p - _power(p)
    if extra:
        even = 2 * np.arange(extra)
        yield (even + 1, even, np.full(extra, p)) if back else (even, even + 1, np.full(extra, p))


def _members(p: int) -> Counts:
    """The ranks that go on after folding."""
    extra = p - _power(p)
    return np.concatenate([2 * np.arange(extra) + 1, np.arange(2 * extra, p)])


def _pairs(p: int, step: int) -> tuple[Counts, Counts]:
    members = _members(p)
    places = np.arange(members.size)
    return members, members[places ^ step]


def _recursive_doubling(p: int) -> Iterator[Round]:
    yield from _fold(p, back=False)
    for k in range(log2_below(p)):
        here, there = _pairs(p, 1 << k)
        yield here, there, np.full(here.size, p)
    yield from _fold(p, back=True)


def _rabenseifner(p: int) -> Iterator[Round]:
    """Recursive halving, then recursive doubling. Blocks are those of the power of 2, so that a half of them is p / 2 blocks of m / p."""
    yield from _fold(p, back=False)
    steps = log2_below(p)
    for k in [*range(steps), *reversed(range(steps))]:
        here, there = _pairs(p, _power(p) >> (k + 1))
        yield here, there, np.full(here.size, p / 2 ** (k + 1))
    yield from _fold(p, back=True)


def _bruck_gather(p: int) -> Iterator[Round]:
    """In round k everybody sends all it has, at most what is missing, 2**k back. Each block is one rank's whole operand: p blocks of m / p."""
    here = np.arange(p)
    for k in range(log2_above(p)):
        yield here, (here - (1 << k)) % p, np.full(p, min(1 << k, p - (1 << k)) * p)


def _halving(p: int) -> Iterator[Round]:
    """Recursive halving of p = 2**k blocks."""
    for k in range(log2_below(p)):
        here, there = _pairs(p, p >> (k + 1))
        yield here, there, np.full(here.size, p >> (k + 1))


def _pairwise(p: int) -> Iterator[Round]:
    here = np.arange(p)
    for k in range(1, p):
        yield here, (here + k) % p, np.ones(p, np.int64)


def _bruck_exchange(p: int) -> Iterator[Round]:
    """In round k everybody sends the blocks whose distance has bit k."""
    here, distance = np.arange(p), np.arange(p)
    for k in range(log2_above(p)):
        yield here, (here + (1 << k)) % p, np.full(p, int(np.count_nonzero(distance >> k & 1)))


def _binomial(p: int) -> Iterator[Round]:
    for k in range(log2_above(p)):
        here = np.arange(min(1 << k, p - (1 << k)))
        yield here, here + (1 << k), np.full(here.size, p)


def _one_message(p: int) -> Iterator[Round]:
    yield from _ring(p, 1, p)


# -- formulas


def _folded(p: int) -> int:
    """The rounds that folding takes."""
    return 0 if _is_power(p) else 2


def _ones(k: int, p: int) -> int:
    """How many of 0, ..., p - 1 have bit k."""
    return (p >> (k + 1) << k) + max(0, (p & ((2 << k) - 1)) - (1 << k))


ALGORITHMS = (
    Algorithm("all_reduce", "ring", lambda p: 2 * (p - 1), lambda p: 2 * (p - 1), lambda p: _ring(p, 2 * (p - 1), 1)),
    Algorithm(
        "all_reduce",
        "Rabenseifner",
        lambda p: 2 * log2_below(p) + _folded(p),
        # 2 m (q - 1) / q for the power of 2 q, and m twice for folding
        lambda p: 2 * p * (_power(p) - 1) / _power(p) + _folded(p) * p,
        _rabenseifner,
    ),
    Algorithm("all_reduce", "recursive doubling", lambda p: log2_below(p) + _folded(p), lambda p: (log2_below(p) + _folded(p)) * p, _recursive_doubling),
    Algorithm("all_gather", "ring", lambda p: p - 1, lambda p: (p - 1) * p, lambda p: _ring(p, p - 1, p)),
    Algorithm("all_gather", "Bruck", log2_above, lambda p: (p - 1) * p, _bruck_gather),
    Algorithm("reduce_scatter", "ring", lambda p: p - 1, lambda p: p - 1, lambda p: _ring(p, p - 1, 1)),
    Algorithm("reduce_scatter", "recursive halving", log2_below, lambda p: p - 1, _halving),
    Algorithm("all_to_all", "pairwise", lambda p: p - 1, lambda p: p - 1, _pairwise),
    Algorithm("all_to_all", "Bruck", log2_above, lambda p: sum(_ones(k, p) for k in range(log2_above(p))), _bruck_exchange),
    Algorithm("collective_permute", "one message", lambda p: 1, lambda p: p, _one_message),
    Algorithm("collective_broadcast", "binomial tree", log2_above, lambda p: log2_above(p) * p, _binomial),
)


def is_for(algorithm: Algorithm, p: int) -> bool:
    """Whether an algorithm is for so many ranks."""
    return algorithm.name != "recursive halving" or _is_power(p)


def algorithms_of(collective: str, p: int) -> list[Algorithm]:
    """The algorithms of a collective for so many ranks."""
    return [algorithm for algorithm in ALGORITHMS if algorithm.collective == collective and is_for(algorithm, p)]


def fastest(collective: str, p: int, bytes: float, alpha: float, beta: float) -> Algorithm:
    """The algorithm that takes the least time, as a library would choose it."""
    return min(algorithms_of(collective, p), key=lambda algorithm: algorithm.seconds(p, bytes, alpha, beta))


def counted(algorithm: Algorithm, p: int) -> tuple[int, float]:
    """Rounds and blocks of an algorithm as its schedule has them: the simulator.

    Raises ValueError where a rank sends, or receives, two messages in a round, or one to itself.
    """
    rounds, blocks = 0, 0.0
    for source, target, sizes in algorithm.schedule(p):
        if max(np.bincount(source).max(), np.bincount(target).max()) > 1 or (source == target).any():
            raise ValueError(f"{algorithm.collective} by {algorithm.name} on {p} ranks: round {rounds} has two messages of one rank, or one to itself")
        rounds += 1
        blocks += float(sizes.max())
    return rounds, blocks
