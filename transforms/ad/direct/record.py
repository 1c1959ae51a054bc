"""What a loop keeps of each trip for its reverse sweep.

A value of a trip is kept as a row of a stack, if the number of trips is a constant, or at the end of a tape that grows. What
an inner loop put on a tape goes to the end of a tape of the outer loop, and the position at which it begins is kept like any
other value. Every kept value has a *slot*: one or two values that the loop carries.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from msgspec import Struct
from xdsl.ir import Attribute

from wengert.dialects import core
from wengert.dialects.builder import OpBuilder, Value
from wengert.ir.tensor_types import element, i64, shape, tensor, type_of

INDEX = tensor((), i64)


class Slot(Protocol):
    """Where a value is kept: made empty before the loop, written in the forward loop, read in the reverse one."""

    @property
    def types(self) -> list[Attribute]: ...

    def empty(self, b: OpBuilder) -> list[Value]: ...

    def write(self, b: OpBuilder, held: Sequence[Value], value: Value, trip: Value) -> list[Value]: ...

    def read(self, b: OpBuilder, held: Sequence[Value], trip: Value) -> Value: ...


class Stack(Struct, frozen=True):
    """A tensor with a row per trip."""

    like: Value
    trips: int

    @property
    def types(self) -> list[Attribute]:
        return [tensor([self.trips, *shape(self.like)], element(self.like))]

    def empty(self, b: OpBuilder) -> list[Value]:
        return [b.zeros(tensor([self.trips, *shape(self.like)], element(self.like)))]

    def write(self, b: OpBuilder, held: Sequence[Value], value: Value, trip: Value) -> list[Value]:
        return [b.dynamic_update_slice(held[0], b.reshape(value, [1, *shape(value)]), self._at(b, trip))]

    def read(self, b: OpBuilder, held: Sequence[Value], trip: Value) -> Value:
        return b.reshape(b.dynamic_slice(held[0], self._at(b, trip), [1, *shape(self.like)]), shape(self.like))

    def _at(self, b: OpBuilder, trip: Value) -> list[Value]:
        return [trip, *[b.scalar(0, i64)] * len(shape(self.like))]


class Tape(Struct, frozen=True):
    """A tape with an entry per trip."""

    like: Value

    @property
    def types(self) -> list[Attribute]:
        return [core.TapeType(type_of(self.like))]

    def empty(self, b: OpBuilder) -> list[Value]:
        return list(b.create(core.TapeCreateOp, (), self.types))

    def write(self, b: OpBuilder, held: Sequence[Value], value: Value, trip: Value) -> list[Value]:
        return [b.create(core.TapePushOp, (held[0], value), (held[0].type,))[0]]

    def read(self, b: OpBuilder, held: Sequence[Value], trip: Value) -> Value:
        return b.create(core.TapeReadOp, (held[0], trip), (self.like.type,))[0]


class TapeOfTapes(Struct, frozen=True):
    """The tapes of an inner loop one after the other, and where each begins."""

    like: Value
    starts: Slot

    @property
    def types(self) -> list[Attribute]:
        return [self.like.type, *self.starts.types]

    def empty(self, b: OpBuilder) -> list[Value]:
        return [b.create(core.TapeCreateOp, (), (self.like.type,))[0], *self.starts.empty(b)]

    def write(self, b: OpBuilder, held: Sequence[Value], value: Value, trip: Value) -> list[Value]:
        start = b.create(core.TapeSizeOp, (held[0],), (INDEX,))[0]  # before the tape is consumed
        written = self.starts.write(b, held[1:], start, trip)
        return [b.create(core.TapeExtendOp, (held[0], value), (held[0].type,))[0], *written]

    def read(self, b: OpBuilder, held: Sequence[Value], trip: Value) -> Value:
        start = self.starts.read(b, held[1:], trip)
        return b.create(core.TapeFromOp, (held[0], start), (self.like.type,))[0]


def slot_for(value: Value, trips: int | None, index: Value) -> Slot:
    """Where to keep a value in a loop of so many trips, None if that is not a constant; ``index`` is any value of INDEX type."""
    if isinstance(value.type, core.TapeType):
        return TapeOfTapes(value, slot_for(index, trips, index))
    return Tape(value) if trips is None else Stack(value, trips)
