"""Data races: two accesses to one element by different threads, at least one of which writes, with nothing that puts one before the other.

What puts accesses in order is a barrier between two threads of one work-group. Threads of different groups are never in order, and two atomic accesses need
none. For each element there is kept who wrote it last, who has read it since, and in which *epoch* of its group, which is the number of barriers that the group
has passed. That is enough: an access that is no longer kept was in order with the one that took its place, or the two would have been a race. This is the
happens-before relation as FastTrack keeps it (Flanagan and Freund, PLDI 2009), with one clock for each group.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from msgspec import Struct
from xdsl.ir import Operation

from wengert.ir.location.places import describe
from wengert.runtime.interpreter.gpu.batch import Array, Batch, KernelFaultError

_NOBODY, _SEVERAL = -1, -2


class _Last:
    """For each element the last access of a kind: its thread, group and epoch, and the op that made it."""

    def __init__(self, count: int):
        self.thread = np.full(count, _NOBODY, np.int64)
        self.group = np.full(count, _NOBODY, np.int64)
        self.epoch = np.zeros(count, np.int32)
        self.op = np.zeros(count, np.int32)

    def unordered(self, at: Array, by: _By) -> Array:
        """Where that access was by another thread and nothing puts it before one that is made now."""
        thread = self.thread[at]
        ordered = (self.group[at] == by.group) & (self.epoch[at] < by.epoch)
        return (thread != _NOBODY) & (thread != by.thread) & ~ordered

    def note(self, at: Array, by: _By, op: int, kept: Array) -> None:
        """Notes the access; where ``kept`` holds, what was noted before still counts, so that the two are one by several."""
        several = kept & (self.thread[at] != by.thread)
        elsewhere = kept & (self.group[at] != by.group)
        thread, group = np.where(several, _SEVERAL, by.thread), np.where(elsewhere, _SEVERAL, by.group)
        self.thread[at], self.group[at], self.epoch[at], self.op[at] = thread, group, by.epoch, op
        for noted, meant in ((self.thread, thread), (self.group, group)):
            lost = noted[at] != meant  # several lanes access one element
            if lost.any():
                noted[at[lost]] = _SEVERAL


class _By(Struct):
    """The author of an access: for each of its lanes the thread's number in the grid, its group's, and that group's epoch."""

    thread: Array
    group: Array
    epoch: Array


class Races:
    """The accesses to a range of memory during a launch. ``name`` is what the memory is called in messages."""

    def __init__(self, count: int):
        self._writes, self._reads = _Last(count), _Last(count)
        self._atomic = np.zeros(count, np.bool_)
        self._ops: list[Operation] = []

    def read(self, op: Operation, batch: Batch, lanes: Array, at: Array, name: Callable[[int], str]) -> None:
        """Lanes read elements."""
        by = self._by(batch, lanes)
        self._refuse(op, batch, lanes, at, self._writes.unordered(at, by), self._writes, name, "reads")
        reads = self._reads
        kept = (reads.group[at] != _NOBODY) & ~((reads.group[at] == by.group) & (reads.epoch[at] < by.epoch))
        reads.note(at, by, self._number(op), kept)

    def write(self, op: Operation, batch: Batch, lanes: Array, at: Array, name: Callable[[int], str], *, atomic: bool = False) -> None:
        """Lanes write elements."""
        by, verb = self._by(batch, lanes), "updates" if atomic else "writes"
        before = self._writes.unordered(at, by)
        self._refuse(op, batch, lanes, at, before & ~self._atomic[at] if atomic else before, self._writes, name, verb)
        self._refuse(op, batch, lanes, at, self._reads.unordered(at, by), self._reads, name, verb)
        kept = before if atomic else np.zeros(at.shape, np.bool_)
        self._writes.note(at, by, self._number(op), kept)
        self._atomic[at] = atomic
        self._reads.group[at] = self._reads.thread[at] = _NOBODY
        if not atomic:
            twice = self._writes.thread[at] == _SEVERAL
            if twice.any():
                self._refuse_twice(op, batch, lanes[twice], at[twice], name)

    def _by(self, batch: Batch, lanes: Array) -> _By:
        group = batch.group[lanes]
        return _By(batch.number[lanes], batch.first + group, batch.epochs[group])

    def _number(self, op: Operation) -> int:
        for number, known in enumerate(self._ops):
            if known is op:
                return number
        self._ops.append(op)
        return len(self._ops) - 1

    def _refuse(self, op: Operation, batch: Batch, lanes: Array, at: Array, wrong: Array, last: _Last, name: Callable[[int], str], verb: str) -> None:
        if not wrong.any():
            return
        place = int(np.flatnonzero(wrong)[0])
        element, lane = int(at[place]), lanes[place]
        other, before = int(last.thread[element]), self._ops[int(last.op[element])]
        who = batch.describe(other) if other >= 0 else "another thread"
        did = "reads" if last is self._reads else "writes"
        message = f"{batch.lane_name(lane)} {verb} {name(lane)}, which {who} {did} at {describe(before.location)} with no barrier between them"
        raise KernelFaultError(op, f"is part of a data race: {message}")

    def _refuse_twice(self, op: Operation, batch: Batch, lanes: Array, at: Array, name: Callable[[int], str]) -> None:
        one, other = [lane for lane, place in zip(lanes, at) if place == at[0]][:2]
        raise KernelFaultError(op, f"is part of a data race: {batch.lane_name(one)} and {batch.lane_name(other)} write {name(one)} at the same time")
