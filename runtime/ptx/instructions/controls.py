"""Instructions that decide where threads go on: branches, ends, barriers, and meetings of warps."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from wengert.runtime.ptx.instructions.context import Context, Read, Run
from wengert.runtime.ptx.lanes import Lanes
from wengert.runtime.ptx.machine import ThreadFault
from wengert.runtime.ptx.types import TYPES, Array

if TYPE_CHECKING:
    from wengert.runtime.ptx.scheduler import Scheduler


def guard_of(context: Context) -> Read | None:
    """The reader of the condition under which the instruction is executed."""
    guard = context.instruction.guard
    if guard is None:
        return None
    read = context.reader(guard.register, TYPES["pred"])
    return (lambda lanes: ~read(lanes)) if guard.negated else read


class Guarded:
    """An instruction that threads pass if its guard does not hold."""

    def __init__(self, context: Context):
        self.guard = guard_of(context)

    def execute(self, scheduler: Scheduler, position: int, lanes: Lanes) -> None:
        """Sends on the threads that the guard leaves out, and acts on the others."""
        if self.guard is None:
            self.act(scheduler, position, lanes)
            return
        condition = self.guard(lanes)
        rest = lanes.where(~condition)
        if rest is not None:
            scheduler.put(position + 1, rest)
        taken = lanes.where(condition)
        if taken is not None:
            self.act(scheduler, position, taken)

    def act(self, scheduler: Scheduler, position: int, lanes: Lanes) -> None:
        """What the instruction does."""
        raise NotImplementedError


class Branch(Guarded):
    """Goes to a position."""

    def __init__(self, context: Context, target: int):
        super().__init__(context)
        self.target = target

    def act(self, scheduler: Scheduler, position: int, lanes: Lanes) -> None:
        """All go there."""
        scheduler.put(self.target, lanes)


class IndexedBranch(Guarded):
    """Goes to one of several positions."""

    def __init__(self, context: Context, index: Read, targets: tuple[int, ...]):
        super().__init__(context)
        self.index = index
        self.targets = targets

    def act(self, scheduler: Scheduler, position: int, lanes: Lanes) -> None:
        """Each goes where its index says."""
        index = lanes.spread(self.index(lanes))
        beyond = index >= len(self.targets)
        if beyond.any():
            at = int(np.argmax(beyond))
            raise ThreadFault("invalid operand", f"index {int(index[at])} of a table of {len(self.targets)} branches", int(lanes.numbers[at]))
        numbers: list[int] = np.unique(index).tolist()
        for number in numbers:
            some = lanes.where(index == number)
            if some is not None:
                scheduler.put(self.targets[number], some)


class Exit(Guarded):
    """The end of a thread."""

    def act(self, scheduler: Scheduler, position: int, lanes: Lanes) -> None:
        """They do not come back."""
        scheduler.end(lanes)


class Trap(Guarded):
    """The end of the launch."""

    def act(self, scheduler: Scheduler, position: int, lanes: Lanes) -> None:
        """It is a fault."""
        raise ThreadFault("trap", "the program ended itself", int(lanes.numbers[0]))


class Rendezvous(Guarded):
    """An instruction that threads of a warp execute together: those that a mask names, or all of the warp if there is no mask."""

    def __init__(self, context: Context, run: Run, mask: Read | None):
        super().__init__(context)
        self.run = run
        self.mask = mask

    def act(self, scheduler: Scheduler, position: int, lanes: Lanes) -> None:
        """Runs for the warps that are complete; the others wait."""
        lanes = scheduler.gathered(position, lanes)
        whole = scheduler.is_everyone(lanes) and (self.mask is None or _is_full(self.mask(lanes)))
        ready = lanes if whole else scheduler.complete(position, lanes, self._members(lanes))
        if ready is not None:
            self.run(ready)
            scheduler.put(position + 1, ready)

    def _members(self, lanes: Lanes) -> Array:
        if self.mask is None:
            return np.full(lanes.count, 0xFFFFFFFF, np.uint32)
        members = lanes.spread(self.mask(lanes))
        outside = (members >> (lanes.numbers % 32).astype(np.uint32)) & np.uint32(1) == 0
        if outside.any():
            at = int(np.argmax(outside))
            raise ThreadFault("invalid operand", f"mask {int(members[at]):#010x} leaves out the thread that executes the instruction", int(lanes.numbers[at]))
        return members


def _is_full(mask: Array) -> bool:
    return len(mask) == 1 and mask[0] == 0xFFFFFFFF


class Barrier(Guarded):
    """Waits for the threads of the block.

    Attributes:
        number: which of the barriers of the block.
        expected: how many threads take part; None for all.
        waits: False for threads that only say that they have been here.
        finish: called for the threads of one block that have met, for barriers that compute something.
    """

    def __init__(self, context: Context, number: Read, expected: Read | None, waits: bool, finish: Run | None):
        super().__init__(context)
        self.number = number
        self.expected = expected
        self.waits = waits
        self.finish = finish

    def act(self, scheduler: Scheduler, position: int, lanes: Lanes) -> None:
        """They wait."""
        number = self.number(lanes)
        expected = np.zeros(1, np.int64) if self.expected is None else self.expected(lanes).astype(np.int64)
        scheduler.barriers.arrive(self, position, lanes, number.astype(np.int64), expected)
        if not self.waits:
            scheduler.put(position + 1, lanes)
