"""Work-groups that run at once: every thread is a lane, and every value an array with one element per lane.

A value that is the same in all lanes, such as a constant or the index of a loop that all threads run together, may be an array of one element. A mask says
which lanes take part in a step; None: all do.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np
from xdsl.ir import Operation, SSAValue

from wengert.runtime.errors import ExecutionError
from wengert.runtime.interpreter.counter import Counter

Array = np.ndarray[Any, np.dtype[Any]]
Mask = Array | None
Sizes = tuple[int, int, int]


class KernelFaultError(ExecutionError):
    """A kernel did what has no meaning on a device: threads that part at a barrier, that race, or that read what is not there."""


class Batch:
    """Some work-groups of a grid in lockstep.

    Attributes:
        values: for each slot of the kernel's values the array that it has now, or a buffer.
        undefined: for each slot the lanes in which the value is not defined; None: it is defined in all.
        epochs: for each work-group how many barriers it has passed.
        copies, copy_groups: what was begun to be copied and has not arrived, in no group yet, and in groups, the oldest first.
        groups, threads: how many work-groups, and threads of each.
        counter: counts what threads compute and the bytes of global memory that they read and write, or None.
    """

    def __init__(self, grid: Sizes, block: Sizes, first: int, groups: int, slots: int, subgroup: int, counter: Counter | None = None):
        self.grid, self.block, self.subgroup, self.counter = grid, block, subgroup, counter
        self.threads, self.groups, self.first = prod(block), groups, first
        self.lanes = groups * self.threads
        self.values: list[Any] = [None] * slots
        self.undefined: list[Mask] = [None] * slots
        self.epochs = np.zeros(groups, np.int32)
        self.copies: list[Callable[[], None]] = []
        self.copy_groups: list[list[Callable[[], None]]] = []
        self.all = np.arange(self.lanes)
        self.group = self.all // self.threads
        self.thread = self.all % self.threads
        self.number = first * self.threads + self.all
        """The number of each lane's thread in the whole grid."""

    def active(self, mask: Mask) -> Array:
        """The lanes that take part."""
        return self.all if mask is None else np.flatnonzero(mask)

    def count(self, mask: Mask) -> int:
        """How many lanes take part."""
        return self.lanes if mask is None else int(np.count_nonzero(mask))

    def thread_id(self, axis: int) -> Array:
        """The threads' numbers in their work-groups along x, y or z."""
        return _along(self.thread, self.block, axis)

    def block_id(self, axis: int) -> Array:
        """The work-groups' numbers in the grid along x, y or z."""
        return _along(self.first + self.group, self.grid, axis)

    def lane_id(self) -> Array:
        """The threads' numbers in their subgroups."""
        return self.thread % self.subgroup

    def spread(self, value: Array) -> Array:
        """A value with one element per lane."""
        return np.broadcast_to(value, (self.lanes,)) if value.shape != (self.lanes,) else value

    def describe(self, number: int) -> str:
        """``thread (3, 0, 0) of block (1, 0, 0)`` for a thread's number in the grid."""
        group, thread = divmod(number, self.threads)
        return f"thread {_coordinates(thread, self.block)} of block {_coordinates(group, self.grid)}"

    def lane_name(self, lane: Any) -> str:
        """The same for a lane."""
        return self.describe(int(self.number[int(lane)]))

    def expect_defined(self, op: Operation, what: str, slot: int, mask: Mask) -> None:
        """A fault if a value is not defined in a lane that takes part."""
        undefined = self.undefined[slot]
        if undefined is not None:
            lanes = np.flatnonzero(self.spread(undefined) if mask is None else undefined & mask)
            if lanes.size:
                raise KernelFaultError(op, f"has {what} that is not defined in {self.lane_name(lanes[0])}: a shuffle found no thread to read from")


def _along(number: Array, sizes: Sizes, axis: int) -> Array:
    return number // prod(sizes[:axis]) % sizes[axis]


def _coordinates(number: int, sizes: Sizes) -> str:
    x, y, _ = sizes
    return f"({number % x}, {number // x % y}, {number // (x * y)})"


def value_name(value: SSAValue) -> str:
    """``%name`` of a value, or what it is."""
    return f"%{value.name_hint}" if value.name_hint else "a buffer"
