"""Binomial schedules: where to store states of a chain of steps, of which only a few fit into memory, so that it is reversed with the fewest steps.

A. Griewank, A. Walther, "Algorithm 799: revolve: an implementation of checkpointing for the reverse or adjoint mode of computational differentiation", ACM
TOMS 26, 2000. With s slots, a chain of ``C(s + r, s)`` steps is reversed with every step run at most r times.

A loop in a program is a chain of one more step than it has iterations: the last one is the rest of the program, which runs between the loop and its reversal.
"""

from __future__ import annotations

from math import comb

from msgspec import Struct


def repetitions(steps: int, slots: int) -> int:
    """The least r with ``steps <= C(slots + r, slots)``: how often a step is run forward at most."""
    r = 0
    while comb(slots + r, slots) < steps:
        r += 1
    return r


def advances(steps: int, slots: int) -> int:
    """The fewest steps forward by which a chain is reversed, beside the one that each reversal makes itself: ``r l - C(s + r, s + 1)`` (Griewank and
    Walther, 2000).

    Args:
        steps: the length l of the chain.
        slots: how many states may be stored at a time, the first one included: s.
    """
    r = repetitions(steps, slots)
    return r * steps - comb(slots + r, slots + 1)


def first_stop(steps: int, slots: int) -> int:
    """How far to run before the next state is stored, so that :func:`advances` is met: the first of the best positions.

    Both parts of the chain must be of lengths that r repetitions are least for: the part behind has at most ``C(s + r - 1, s - 1)`` steps, the part in front
    at least ``C(s + r - 2, s)``.
    """
    if steps <= 2 or slots <= 1:
        return 1
    r = repetitions(steps, slots)
    return max(1, comb(slots + r - 2, slots), steps - comb(slots + r - 1, slots - 1))


def forward_steps(iterations: int, slots: int) -> int:
    """How often the body of a loop runs forward in its reverse derivative, beside the run that each iteration's reversal makes itself."""
    return advances(iterations + 1, slots)


class Sweep(Struct, frozen=True):
    """A run forward: the slot that it begins at, and the segments of which each stores its first state in a slot.

    Attributes:
        top: the slot whose state is read; 0 for the run of the program itself, which begins at the loop's arguments.
        start: the iteration that follows this state.
        segments: slot, first iteration and iterations of each.
    """

    top: int
    start: int
    segments: tuple[tuple[int, int, int], ...]


class Schedule(Struct, frozen=True):
    """The runs forward of a loop with a known number of iterations, in order.

    Attributes:
        slots: how many states are stored at a time.
        first: the run through all iterations, which gives the loop's results.
        again: for each iteration, from the last to the first, the run to the state before it.
    """

    slots: int
    first: Sweep
    again: tuple[Sweep, ...]

    @property
    def steps(self) -> int:
        """How often the body runs forward in all."""
        return sum(count for sweep in (self.first, *self.again) for _, _, count in sweep.segments)


def binomial(iterations: int, slots: int) -> Schedule:
    """The schedule with the fewest steps for a loop of so many iterations."""
    stored: list[int] = []
    first = _sweep(stored, iterations, iterations + 1, slots)
    again: list[Sweep] = []
    for iteration in reversed(range(iterations)):
        while stored[-1] > iteration:
            stored.pop()
        again.append(_sweep(stored, iteration, iteration + 1, slots))
    return Schedule(slots, first, tuple(again))


def _sweep(stored: list[int], target: int, end: int, slots: int) -> Sweep:
    """Runs to the state before iteration ``target`` of a chain that ends at ``end``; the states that are stored on the way join those that are."""
    if not stored:
        stored.append(0)
    top, start = len(stored) - 1, stored[-1]
    segments: list[tuple[int, int, int]] = []
    position = start
    while position < target:
        if position != stored[-1]:
            stored.append(position)
        free = slots - len(stored)
        ahead = min(first_stop(end - position, free + 1), target - position) if free else target - position
        segments.append((len(stored) - 1, position, ahead))
        position += ahead
    return Sweep(top, start, tuple(segments))
