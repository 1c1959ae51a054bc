"""Barriers of blocks: who waits, and when they go on.

A barrier is complete when as many threads of the block have come to it as it expects, or all that have not ended if it names no number.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from wengert.runtime.ptx.instructions.controls import Barrier
from wengert.runtime.ptx.lanes import Lanes
from wengert.runtime.ptx.machine import Machine, ThreadFault, described
from wengert.runtime.ptx.special import WARP
from wengert.runtime.ptx.types import Array

if TYPE_CHECKING:
    from wengert.runtime.ptx.scheduler import Scheduler


@dataclass(frozen=True)
class Arrival:
    """Threads that have come to a barrier instruction, with its number and the number of threads that it expects, for each of them."""

    barrier: Barrier
    position: int
    lanes: Lanes
    number: Array
    expected: Array

    def of_block(self, block: int, machine: Machine) -> Array:
        """Which of the threads belong to a block."""
        return machine.block_of[self.lanes.index] == block


class Barriers:
    """The barriers of a batch of blocks."""

    def __init__(self, machine: Machine):
        self.machine = machine
        self.arrivals: list[Arrival] = []

    def arrive(self, barrier: Barrier, position: int, lanes: Lanes, number: Array, expected: Array) -> None:
        """Records threads at a barrier."""
        self.arrivals.append(Arrival(barrier, position, lanes, lanes.spread(number), lanes.spread(expected)))

    def release(self, scheduler: Scheduler) -> bool:
        """Lets go on whom it may, when nobody else can run. False if that is nobody."""
        arrivals = self.arrivals
        first = arrivals[0] if arrivals else None
        if first and all(a.position == first.position for a in arrivals) and self._plain(scheduler, arrivals):
            lanes = first.lanes
            for other in arrivals[1:]:
                lanes = lanes.union(other.lanes)
            self.arrivals = []
            self.machine.clocks.join_blocks(np.unique(self.machine.block_of[lanes.index]))
            scheduler.put(first.position + 1, lanes)
            return True
        released = False
        for block in np.unique(np.concatenate([self.machine.block_of[a.lanes.index] for a in arrivals])) if arrivals else ():
            for number in np.unique(np.concatenate([a.number[a.of_block(block, self.machine)] for a in arrivals])):
                released |= self._release_one(scheduler, int(block), int(number))
        return released

    def _plain(self, scheduler: Scheduler, arrivals: list[Arrival]) -> bool:
        """Whether all threads of all blocks that have not ended wait at one instruction, and none has ended that others wait for."""
        some = arrivals[0]
        if some.barrier.finish is not None or not some.barrier.waits:
            return False
        alive = sum(a.lanes.count for a in arrivals) == scheduler.alive_count
        alike = all((a.number == some.number[0]).all() and not a.expected.any() for a in arrivals)
        return alive and alike and scheduler.alive_count == scheduler.started.count

    def _release_one(self, scheduler: Scheduler, block: int, number: int) -> bool:
        """Releases one barrier of one block if it is complete."""
        parts: list[tuple[Arrival, Array]] = []
        for arrival in self.arrivals:
            here = arrival.of_block(block, self.machine) & (arrival.number == number)
            if here.any():
                parts.append((arrival, here))
        if not parts:
            return False
        expected = np.unique(np.concatenate([a.expected[here] for a, here in parts]))
        arrived = np.concatenate([a.lanes.numbers[here] for a, here in parts])
        if len(expected) != 1:
            raise ThreadFault("invalid operand", f"barrier {number} with different numbers of threads: {expected.tolist()}", int(arrived[0]))
        members = scheduler.alive_of(block)
        wanted = int(expected[0]) or len(members)
        if len(arrived) < wanted:
            return False
        if len(arrived) > wanted:
            raise ThreadFault("invalid operand", f"{len(arrived)} threads at barrier {number}, which expects {wanted}", int(arrived[0]))
        if self.machine.checks.barriers:
            self._check(scheduler, block, parts, whole=not expected[0])
        self._go_on(scheduler, block, parts, len(arrived) == self.machine.threads)
        return True

    def _check(self, scheduler: Scheduler, block: int, parts: list[tuple[Arrival, Array]], whole: bool) -> None:
        """Threads that have ended are waited for in vain, and those of one warp must wait at one instruction."""
        first = int(parts[0][0].lanes.numbers[parts[0][1]][0])
        ended = np.setdiff1d(self._started(scheduler, block), scheduler.alive_of(block))
        if whole and len(ended):
            who = described(*self.machine.where(int(ended[0])))
            raise ThreadFault("divergence", f"a barrier that {who} does not reach, since it has ended", first)
        waiting = [(a, a.lanes.numbers[here] // WARP) for a, here in parts]
        for at, (arrival, warps) in enumerate(waiting):
            for other, others in waiting[at + 1 :]:
                if other.position != arrival.position and (whole or len(np.intersect1d(warps, others))):
                    lines = [self.machine.kernel.instructions[a.position].place.line for a in (arrival, other)]
                    raise ThreadFault("divergence", f"threads of a block wait at the barriers of lines {lines[0]} and {lines[1]}", first)

    def _started(self, scheduler: Scheduler, block: int) -> Array:
        numbers = scheduler.started.numbers
        return numbers[self.machine.block_of[scheduler.started.index] == block]

    def _go_on(self, scheduler: Scheduler, block: int, parts: list[tuple[Arrival, Array]], whole: bool) -> None:
        machine = self.machine
        met = Lanes(np.sort(np.concatenate([a.lanes.numbers[here] for a, here in parts])))
        if whole:
            machine.clocks.join_blocks(np.array([block]))
        else:
            machine.clocks.join(block, np.unique(met.numbers % machine.block_lanes // WARP))
        merged: dict[int, tuple[Barrier, Lanes]] = {}
        for arrival, here in parts:
            lanes = Lanes(arrival.lanes.numbers[here])
            earlier = merged.get(arrival.position)
            merged[arrival.position] = arrival.barrier, lanes if earlier is None else earlier[1].union(lanes)
        for position, (barrier, lanes) in merged.items():
            if barrier.finish is not None:
                barrier.finish(lanes)
            if barrier.waits:
                scheduler.put(position + 1, lanes)
        done = {id(a): here for a, here in parts}
        self.arrivals = [kept for a in self.arrivals for kept in _without(a, done.get(id(a)))]

    def waiting(self) -> Lanes | None:
        """The threads of the first arrival, or None if nobody waits."""
        return self.arrivals[0].lanes if self.arrivals else None


def _without(arrival: Arrival, gone: Array | None) -> list[Arrival]:
    if gone is None:
        return [arrival]
    if gone.all():
        return []
    stay = ~gone
    return [Arrival(arrival.barrier, arrival.position, Lanes(arrival.lanes.numbers[stay]), arrival.number[stay], arrival.expected[stay])]
