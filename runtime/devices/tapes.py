"""Tapes of loops in a device's memory: the host knows which chunks a tape has and how long it is, and values never leave the device.

A handle is 16 bytes of the device's memory for ``bufferize``. Nobody reads these bytes here: the host keeps what a handle stands for by the place of
the buffer, and moves it where the program copies the handle.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np
from msgspec import Struct
from xdsl.ir import Operation

from wengert.dialects import core
from wengert.dialects.core.control import TapeType
from wengert.dialects.kernel import NativeOp
from wengert.dialects.kernel import buffers as ops
from wengert.dialects.kernel.memory import bytes_of, value_type
from wengert.runtime.devices.interface import Buffer, Device
from wengert.runtime.devices.slots import Slot
from wengert.runtime.tape_memory import out_of_memory, tape_limit

FIRST_CHUNK_BYTES = 1 << 16
"""The first chunk of a tape has about so many bytes, and each one twice as many as the one before."""
_LONGEST_FIRST = 64

Step = Callable[[], None]


def is_tape(memref: Any) -> bool:
    """Whether a buffer of this type holds the handle of a tape."""
    return isinstance(value_type(memref), TapeType)


class Tape:
    """Values of one size, in chunks that stay where they are while the tape grows."""

    def __init__(self, memory: TapeMemory, size: int):
        self.memory, self.size = memory, size
        self.first = min(max(FIRST_CHUNK_BYTES // max(size, 1), 1), _LONGEST_FIRST)
        self.chunks: list[Buffer] = []
        self.count = 0

    def place(self, position: int) -> Buffer:
        """Where a value lies."""
        number = (position // self.first + 1).bit_length() - 1
        before = self.first * ((1 << number) - 1)
        return self.chunks[number].part((position - before) * self.size, self.size)

    def grow(self, count: int) -> None:
        """Makes room for so many values."""
        while self.first * ((1 << len(self.chunks)) - 1) < count:
            self.chunks.append(self.memory.chunk((self.first << len(self.chunks)) * self.size))

    def write(self, position: int, value: Buffer) -> None:
        """Copies a value to a position; zeros are between the end of the tape and a position behind it."""
        self.grow(position + 1)
        for gap in range(self.count, position):
            self.memory.clear(self.place(gap))
        self.memory.device.copy(value, self.place(position))
        self.count = max(self.count, position + 1)


class Part(Struct, frozen=True):
    """The part of a tape that a handle stands for: from a position on."""

    tape: Tape
    start: int = 0

    @property
    def length(self) -> int:
        """The number of values."""
        return max(self.tape.count - self.start, 0)

    def place(self, index: int) -> Buffer | None:
        """Where a value lies, if there is one."""
        return self.tape.place(self.start + index) if 0 <= index < self.length else None


class TapeMemory:
    """The tapes of a program: their chunks, which the next call uses again, and what the handles in its buffers stand for.

    Chunks of one call take no more than :func:`wengert.runtime.tape_memory.tape_limit`, nor half of the device's memory.
    """

    def __init__(self, device: Device):
        self.device = device
        self._limit = min(tape_limit(), device.memory_bytes // 2)
        self._free: dict[int, list[Buffer]] = {}
        self._taken: list[Buffer] = []
        self._bytes = 0
        self._parts: dict[tuple[int, int], Part] = {}

    def begin(self) -> None:
        """Forgets all tapes, at the beginning of a call."""
        for buffer in self._taken:
            self._free.setdefault(buffer.size, []).append(buffer)
        self._taken.clear()
        self._parts.clear()
        self._bytes = 0

    def chunk(self, size: int) -> Buffer:
        """Memory for some values; a TapeMemoryError beyond the limit."""
        self._bytes += size
        if self._bytes > self._limit:
            raise out_of_memory()
        free = self._free.get(size)
        buffer = free.pop() if free else self.device.allocate(size)
        self._taken.append(buffer)
        return buffer

    def clear(self, buffer: Buffer) -> None:
        """Writes zeros."""
        self.device.write(buffer, np.zeros(buffer.size, np.uint8))

    def part(self, handle: Buffer) -> Part:
        """What a handle stands for."""
        return self._parts[_key(handle)]

    def keep(self, handle: Buffer, part: Part) -> None:
        """Makes a handle stand for this."""
        self._parts[_key(handle)] = part

    def move(self, source: Buffer, target: Buffer) -> None:
        """Copies a handle."""
        self.keep(target, self.part(source))


def _key(handle: Buffer) -> tuple[int, int]:
    return id(handle.memory), handle.offset


def tape_step(op: ops.LaunchOp, memory: TapeMemory, slots: Callable[[Sequence[Any]], list[Slot]]) -> Step | None:
    """The step for the launch of an op on tapes; None for other launches."""
    if not isinstance(op.kernel, NativeOp):
        return None
    inner = op.kernel.body.block.first_op
    run = _STEPS.get(type(inner)) if inner is not None else None
    if inner is None or run is None:
        return None
    arguments = list(op.kernel.body.block.args)
    operands = slots([op.ins[arguments.index(cast("Any", value))] for value in inner.operands])
    (result,) = slots(list(op.outs))
    call = _Call(memory, inner, operands, result)
    return lambda: run(call)


class _Call(Struct, frozen=True, eq=False):
    """An op on tapes with its buffers."""

    memory: TapeMemory
    op: Operation
    operands: list[Slot]
    result: Slot

    def part(self, number: int) -> Part:
        """The tape that is an operand."""
        return self.memory.part(self.operands[number].now)

    def index(self) -> int:
        """The position that is the second operand."""
        return int(self.memory.device.read(self.operands[1].now).view(np.int64)[0])

    def keep(self, part: Part) -> None:
        """Makes the result this tape."""
        self.memory.keep(self.result.now, part)


def _create(call: _Call) -> None:
    entry = cast("TapeType", call.op.results[0].type).entry_type
    call.keep(Part(Tape(call.memory, bytes_of(entry))))


def _push(call: _Call) -> None:
    part = call.part(0)
    part.tape.write(part.tape.count, call.operands[1].now)
    call.keep(part)


def _extend(call: _Call) -> None:
    part, other = call.part(0), call.part(1)
    for index in range(other.length):
        part.tape.write(part.tape.count, cast("Buffer", other.place(index)))
    call.keep(part)


def _size(call: _Call) -> None:
    call.memory.device.write(call.result.now, np.array([call.part(0).length], np.int64).view(np.uint8))


def _read(call: _Call) -> None:
    place = call.part(0).place(call.index())
    if place is None:
        call.memory.clear(call.result.now)
    else:
        call.memory.device.copy(place, call.result.now)


def _from(call: _Call) -> None:
    part = call.part(0)
    call.keep(Part(part.tape, part.start + max(call.index(), 0)))


def _set(call: _Call) -> None:
    part, index = call.part(0), call.index()
    if index >= 0:
        part.tape.write(part.start + index, call.operands[2].now)
    call.keep(part)


def _set_from(call: _Call) -> None:
    part, index, other = call.part(0), call.index(), call.part(2)
    for number in range(other.length if index >= 0 else 0):
        part.tape.write(part.start + index + number, cast("Buffer", other.place(number)))
    call.keep(part)


_STEPS: dict[type[Operation], Callable[[_Call], None]] = {
    core.TapeCreateOp: _create,
    core.TapePushOp: _push,
    core.TapeExtendOp: _extend,
    core.TapeSizeOp: _size,
    core.TapeReadOp: _read,
    core.TapeGetOp: _read,
    core.TapeFromOp: _from,
    core.TapeSetOp: _set,
    core.TapeSetFromOp: _set_from,
}
"""What each op does. Sums on tapes are reads and writes by now (``tape-sums-to-reads``)."""
