"""Runs the threads of a batch: together as far as they go the same way, and otherwise those first that are furthest behind.

Threads are in groups by the position at which they go on. The group with the lowest position runs, until it branches or comes to where another
group waits, which it then joins. Since LLVM lays out a loop before what follows it, and both sides of a branch before where they meet, threads
that part come together again where they can. Nothing depends on it: barriers, and instructions of whole warps, wait for whom they need.
"""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np

from wengert.runtime.ptx.barriers import Barriers
from wengert.runtime.ptx.instructions.context import Control, Step
from wengert.runtime.ptx.instructions.warp import bits_of
from wengert.runtime.ptx.lanes import Lanes
from wengert.runtime.ptx.machine import Machine, ThreadFault
from wengert.runtime.ptx.special import WARP
from wengert.runtime.ptx.types import Array


class Scheduler:
    """The groups of threads of a machine, and who has ended.

    Attributes:
        started: the threads with which the batch began.
        alive_count: how many of them have not ended.
        executed: how many instructions groups have executed in this launch.
    """

    def __init__(self, machine: Machine, steps: list[Step]):
        self.machine = machine
        self.plain: list[Any] = [None if isinstance(step, Control) else step for step in steps]
        self.controls: list[Any] = [step if isinstance(step, Control) else None for step in steps]
        self.end_position = len(steps)
        self.groups: dict[int, Lanes] = {}
        self.parked: dict[int, Lanes] = {}
        self.barriers = Barriers(machine)
        self.alive: Array = np.zeros(machine.lanes, np.bool_)
        self.alive_count = 0
        self.started = machine.everyone
        self.executed = 0

    # -- what instructions do with threads

    def put(self, position: int, lanes: Lanes) -> None:
        """Threads go on at a position."""
        group = self.groups.get(position)
        self.groups[position] = lanes if group is None else group.union(lanes)

    def end(self, lanes: Lanes) -> None:
        """Threads have ended."""
        self.alive[lanes.index] = False
        self.alive_count -= lanes.count

    def is_everyone(self, lanes: Lanes) -> bool:
        """Whether no other thread is alive, and whole warps are."""
        return lanes.count == self.alive_count == self.machine.lanes

    def alive_of(self, block: int) -> Array:
        """The threads of a block that have not ended."""
        start = block * self.machine.block_lanes
        return start + np.flatnonzero(self.alive[start : start + self.machine.block_lanes])

    def gathered(self, position: int, lanes: Lanes) -> Lanes:
        """Threads that have come to a position, with those that wait there already."""
        waiting = self.parked.pop(position, None)
        return lanes if waiting is None else waiting.union(lanes)

    def complete(self, position: int, lanes: Lanes, members: Array) -> Lanes | None:
        """The threads whose warp has all ``members`` here that have not ended; the others wait."""
        total = self.machine.lanes
        warps = lanes.numbers // WARP
        here = bits_of(total, lanes.numbers)[warps]
        alive = np.packbits(self.alive.reshape(-1, WARP), axis=1, bitorder="little").view(np.uint32)[:, 0][warps]
        ready = members & alive & ~here == 0
        rest = lanes.where(~ready)
        if rest is not None:
            self.parked[position] = rest
        return lanes.where(ready)

    # -- running

    def run(self, lanes: Lanes, limit: int) -> None:
        """Runs threads from the beginning of the kernel until all have ended."""
        self.started, self.alive_count = lanes, lanes.count
        self.alive[:] = False
        self.alive[lanes.index] = True
        self.groups, self.parked, self.barriers.arrivals = {0: lanes}, {}, []
        with np.errstate(all="ignore"):
            while self.groups or self._wake():
                self._advance(limit)

    def _advance(self, limit: int) -> None:
        """Runs the group with the lowest position up to its next branch, or to where another group is."""
        groups, plain = self.groups, self.plain
        position = min(groups)
        lanes = groups.pop(position)
        meeting = min(groups, default=self.end_position)
        start = position
        try:
            while position < meeting:
                step = plain[position]
                if step is None:
                    break
                step(lanes)
                position += 1
            self.executed += position - start + 1
            if position == self.end_position:
                self.end(lanes)
            elif position == meeting:
                self.put(position, lanes)
            else:
                self.controls[position].execute(self, position, lanes)
            if self.executed > limit:
                raise ThreadFault("step limit", f"more than {limit} instructions were executed", int(lanes.numbers[0]))
        except ThreadFault as fault:
            self._report(min(position, self.end_position - 1), fault)

    def _wake(self) -> bool:
        """Lets waiting threads go on when nobody runs. False when all have ended."""
        if not self.alive_count:
            return False
        for position in sorted(self.parked):
            lanes = self.parked.pop(position)
            try:
                self.controls[position].act(self, position, lanes)
            except ThreadFault as fault:
                self._report(position, fault)
        if self.groups:
            return True
        try:
            if self.barriers.release(self):
                return True
        except ThreadFault as fault:
            self._report(self.barriers.arrivals[0].position, fault)
        self._deadlock()

    def _deadlock(self) -> NoReturn:
        """Reports threads that wait for ever."""
        if self.parked:
            position, lanes = min(self.parked.items())
            message = "threads of the warp wait for others of their mask, which do not come"
        else:
            position, waiting = self.barriers.arrivals[0].position, self.barriers.waiting()
            lanes = waiting or self.started
            message = "threads wait at a barrier to which others do not come"
        self._report(position, ThreadFault("deadlock", message, int(lanes.numbers[0])))

    def _report(self, position: int, fault: ThreadFault) -> NoReturn:
        place = self.machine.kernel.instructions[position].place
        self.machine.fault(place, fault.kind, fault.message, fault.lane)
