"""The buffers of a kernel: global memory, memory of a work-group, and what each thread has for itself.

Every access is checked: its place lies in the buffer, what it reads has been written, and it is part of no race.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np
from msgspec import Struct
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Attribute, Operation

from wengert.ir.tensor_types import dtype_of
from wengert.runtime.interpreter.gpu.batch import Array, Batch, KernelFaultError, Mask
from wengert.runtime.interpreter.gpu.races import Races
from wengert.runtime.interpreter.written_bytes import POISON, marks_of


class Tracked(Struct):
    """The record of a buffer's accesses: its first element is element ``offset`` there, and each is so many there."""

    races: Races
    offset: int = 0
    scale: int = 1


class Buffer:
    """Elements in some memory. ``copies`` says which part of ``data`` a lane sees: each its own, each group its own, or all the same."""

    def __init__(self, name: str, shape: Sequence[int], data: Array, written: Array | None, part: Array | None, tracked: Tracked | None):
        self.name, self.shape, self.data, self.written, self.part, self.tracked = name, tuple(shape), data, written, part, tracked
        self.extent = prod(self.shape)

    def load(self, op: Operation, batch: Batch, mask: Mask, indices: Sequence[Array]) -> Array:
        """The elements that the lanes read. Where all lanes read one element of global memory, it is read once."""
        lanes = batch.active(mask)
        at = self.place(op, batch, lanes, indices)
        self.expect_written(op, batch, lanes, at)
        if self.tracked is not None:
            self.tracked.races.read(op, batch, lanes, self.tracked.offset + at * self.tracked.scale, lambda lane: self.element(batch, lane, indices))
        if mask is None:
            return self.data[at]
        result = np.zeros(batch.lanes, self.data.dtype)
        result[lanes] = self.data[at]
        return result

    def store(self, op: Operation, batch: Batch, mask: Mask, indices: Sequence[Array], value: Array, undefined: Mask) -> None:
        """Writes the lanes' elements. What is not defined counts as not written."""
        lanes = batch.active(mask)
        if not lanes.size:
            return
        at = self.place(op, batch, lanes, indices)
        self.note_write(op, batch, lanes, at, indices)
        self.data[at] = batch.spread(value)[lanes]
        if self.written is not None:
            self.set_written(at, True if undefined is None else ~batch.spread(undefined)[lanes])

    def place(self, op: Operation, batch: Batch, lanes: Array, indices: Sequence[Array]) -> Array:
        """The places in ``data`` of the elements that lanes access; a fault if one is outside of the buffer."""
        at: Array = np.zeros(1, np.int64)
        for axis, (index, extent) in enumerate(zip(indices, self.shape, strict=True)):
            place = index[lanes] if index.shape == (batch.lanes,) else index
            outside = (place < 0) | (place >= extent)
            if outside.any() and lanes.size:
                first = int(np.flatnonzero(outside)[0])
                bounds = f"but the {'buffer' if len(self.shape) == 1 else f'axis {axis}'} has {extent} elements"
                raise KernelFaultError(op, f"accesses {self.element(batch, lanes[first], indices)} in {batch.lane_name(lanes[first])}, {bounds}")
            at = at * extent + place
        if self.part is not None:
            return self.part[lanes] + at
        return at if at.shape == lanes.shape else np.broadcast_to(at, lanes.shape)

    def expect_written(self, op: Operation, batch: Batch, lanes: Array, at: Array) -> None:
        """A fault if a lane reads what nobody has written."""
        if self.written is not None and not (fine := self.written[at]).all():
            lane = lanes[int(np.flatnonzero(~fine)[0])]
            raise KernelFaultError(
                op, f"reads memory that nobody has written: element {self._where(batch, lane, at[lanes == lane])} of {self.name}, in {batch.lane_name(lane)}"
            )

    def _where(self, batch: Batch, lane: Any, at: Array) -> str:
        flat = int(at[0]) - (int(self.part[int(lane)]) if self.part is not None else 0)
        return str(flat) if len(self.shape) == 1 else str([int(n) for n in np.unravel_index(flat, self.shape)])

    def note_write(self, op: Operation, batch: Batch, lanes: Array, at: Array, indices: Sequence[Array], *, atomic: bool = False) -> None:
        """Checks that lanes may write elements now."""
        if not self.data.flags.writeable:
            raise KernelFaultError(op, f"writes {self.name}, which is a constant or an input of the function")
        if self.tracked is not None:
            places = self.tracked.offset + at * self.tracked.scale
            self.tracked.races.write(op, batch, lanes, places, lambda lane: self.element(batch, lane, indices), atomic=atomic)

    def set_written(self, at: Array, written: Any) -> None:
        """Marks elements."""
        assert self.written is not None
        self.written[at] = written

    def element(self, batch: Batch, lane: Any, indices: Sequence[Array]) -> str:
        """``element 5 of %x`` for what a lane accesses."""
        where = [int(batch.spread(index)[int(lane)]) for index in indices]
        return f"element {where[0] if len(where) == 1 else where} of {self.name}"


class GlobalBuffer(Buffer):
    """Memory of the host's program, which all threads see."""

    def __init__(self, name: str, array: Array, tracked: Tracked | None):
        marks = marks_of(array)
        self._marks = marks.reshape(-1, array.itemsize) if marks is not None and array.itemsize else None
        first = None if self._marks is None else self._marks[:, 0]
        super().__init__(name, array.shape, array.reshape(-1), first, None, tracked)

    def load(self, op: Operation, batch: Batch, mask: Mask, indices: Sequence[Array]) -> Array:
        """The elements that the lanes read."""
        if batch.counter is not None:
            batch.counter.bytes_read += batch.count(mask) * self.data.itemsize
        return super().load(op, batch, mask, indices)

    def note_write(self, op: Operation, batch: Batch, lanes: Array, at: Array, indices: Sequence[Array], *, atomic: bool = False) -> None:
        """Checks that lanes may write elements now."""
        super().note_write(op, batch, lanes, at, indices, atomic=atomic)
        if batch.counter is not None:
            count = lanes.size * self.data.itemsize
            batch.counter.bytes_written += count
            batch.counter.bytes_read += count * atomic

    def set_written(self, at: Array, written: Any) -> None:
        """Marks all bytes of elements."""
        assert self._marks is not None
        self._marks[at] = written if isinstance(written, bool) else written[:, None]


def workgroup_buffer(name: str, type: MemRefType[Any], batch: Batch) -> Buffer:
    """Memory that the threads of a work-group share, which nobody has written."""
    count = prod(type.get_shape())
    total = count * batch.groups
    return Buffer(name, type.get_shape(), _fresh(total, type.element_type), np.zeros(total, np.bool_), batch.group * count, Tracked(Races(total)))


def private_buffer(name: str, type: MemRefType[Any], batch: Batch) -> Buffer:
    """Memory of each thread, which nobody has written."""
    count = prod(type.get_shape())
    total = count * batch.lanes
    return Buffer(name, type.get_shape(), _fresh(total, type.element_type), np.zeros(total, np.bool_), batch.all * count, None)


def _fresh(count: int, element: Attribute) -> Array:
    dtype = dtype_of(element)
    return np.full(count * dtype.itemsize, POISON, np.uint8).view(dtype)
