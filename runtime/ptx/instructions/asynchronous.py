"""Copies from global to shared memory that go on while the thread does: the bytes are poison until the thread has waited for them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from wengert.runtime.ptx.accesses import AccessPath
from wengert.runtime.ptx.instructions.context import Context, Run
from wengert.runtime.ptx.instructions.loads import HINTS
from wengert.runtime.ptx.instructions.table import models
from wengert.runtime.ptx.lanes import Lanes
from wengert.runtime.ptx.machine import Machine, ThreadFault
from wengert.runtime.ptx.program import Integer
from wengert.runtime.ptx.types import TYPES, Array


@dataclass(frozen=True)
class Pending:
    """Copies that threads began together: the positions of words, how many bytes are copied, and the group of each thread's copy."""

    source: AccessPath
    target: AccessPath
    lanes: Lanes
    source_words: Array
    target_words: Array
    sizes: Array
    group: Array

    def part(self, which: Array) -> Pending:
        """The copies of some of the threads."""
        lanes = Lanes(self.lanes.numbers[which])
        return Pending(self.source, self.target, lanes, self.source_words[which], self.target_words[which], self.sizes[which], self.group[which])

    def finish(self) -> None:
        """Copies the bytes; zeros follow them."""
        data = self.source.space.words[4]
        values: list[Array] = []
        for k in range(self.target.count):
            inside = 4 * k < self.sizes
            values.append(np.where(inside, data[np.where(inside, self.source_words + k, self.source_words)], np.uint32(0)))
        self.target.store(self.target_words, self.lanes, values)


@models(
    "cp",
    family="Asynchronous copies",
    forms="`.async` with `.ca .cg`, 4, 8 and 16 bytes, and a number of bytes that count; `.commit_group .wait_group .wait_all`",
)
def copy(context: Context) -> Run:
    """Begins copies, or waits for them."""
    context.required("async")
    machine = context.machine
    if context.flag("commit_group"):
        context.finish(0)
        return _commit(machine)
    if context.flag("wait_all"):
        context.finish(0)
        return lambda lanes: wait(machine, lanes, 0, committed_only=False)
    if context.flag("wait_group"):
        context.finish(1)
        number = context.operands[0]
        left = number.value if isinstance(number, Integer) else context.refuse()
        return lambda lanes: wait(machine, lanes, left, committed_only=True)
    return _begin(context)


def _commit(machine: Machine) -> Run:
    def run(lanes: Lanes) -> None:
        machine.copy_groups[lanes.index] += 1

    return run


def _begin(context: Context) -> Run:
    context.required("ca", "cg")
    context.required("shared", "shared::cta")
    context.required("global")
    while context.flag(*HINTS):
        pass
    context.finish()
    size = context.operands[2] if len(context.operands) in (3, 4) else None
    if not isinstance(size, Integer) or size.value not in (4, 8, 16):
        context.refuse()
    machine = context.machine
    count = size.value // 4
    source, target = context.path("global", 4, count), context.path("shared", 4, count)
    to, come_from = context.address(0), context.address(1)
    limit = context.reader(context.operands[3] if len(context.operands) == 4 else size, TYPES["u32"])

    def run(lanes: Lanes) -> None:
        sizes = lanes.spread(limit(lanes)).copy()  # the register may change before the bytes arrive
        if (sizes % 4).any() or (sizes > size.value).any():
            raise ThreadFault("invalid operand", f"a copy of {int(sizes.max())} of {size.value} bytes", int(lanes.numbers[0]))
        target_words = target.words(to(lanes), lanes)
        source_words = source.words(come_from(lanes), lanes)
        reading = lanes.where(sizes > 0)
        if reading is not None:
            source.check_read(source_words[sizes > 0], reading)
        target.forget(target_words)
        machine.copies.append(Pending(source, target, lanes, source_words, target_words, sizes, machine.copy_groups[lanes.index].copy()))

    return run


def wait(machine: Machine, lanes: Lanes, left: int, *, committed_only: bool) -> None:
    """Finishes copies of these threads, but for those of the last ``left`` groups of each, and of groups that are still open."""
    waiting = np.zeros(machine.lanes, np.bool_)
    waiting[lanes.index] = True
    kept: list[Pending] = []
    for pending in machine.copies:
        closed = machine.copy_groups[pending.lanes.index]
        due = waiting[pending.lanes.index] & ((pending.group < closed - left) | (not committed_only))
        if due.any():
            pending.part(due).finish()
        if not due.all():
            kept.append(pending if not due.any() else pending.part(~due))
    machine.copies = kept
