"""Records of the residuals of each iteration of a loop, for its reverse sweep.

A residual is stored as a row of a stack, if the trip count is a constant, or at the end of a tape that grows. The tape of
an inner loop is appended to a tape of the outer loop, and the position at which it begins is stored like any
other value. Every stored value has a *slot*: one or two values that the loop carries.
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
    """Storage for one residual: created empty before the loop, written in the forward loop, read in the reverse loop."""

    @property
    def types(self) -> list[Attribute]: ...

    def empty(self, b: OpBuilder) -> list[Value]: ...

    def write(self, b: OpBuilder, storage: Sequence[Value], value: Value, iteration: Value) -> list[Value]: ...

    def read(self, b: OpBuilder, storage: Sequence[Value], iteration: Value) -> Value: ...


class Stack(Struct, frozen=True):
    """A tensor with one row per iteration."""

    like: Value
    trip_count: int

    @property
    def types(self) -> list[Attribute]:
        return [tensor([self.trip_count, *shape(self.like)], element(self.like))]

    def empty(self, b: OpBuilder) -> list[Value]:
        return [b.zeros(tensor([self.trip_count, *shape(self.like)], element(self.like)))]

    def write(self, b: OpBuilder, storage: Sequence[Value], value: Value, iteration: Value) -> list[Value]:
        return [b.dynamic_update_slice(storage[0], b.reshape(value, [1, *shape(value)]), self._at(b, iteration))]

    def read(self, b: OpBuilder, storage: Sequence[Value], iteration: Value) -> Value:
        return b.reshape(b.dynamic_slice(storage[0], self._at(b, iteration), [1, *shape(self.like)]), shape(self.like))

    def _at(self, b: OpBuilder, iteration: Value) -> list[Value]:
        return [iteration, *[b.scalar(0, i64)] * len(shape(self.like))]


class Tape(Struct, frozen=True):
    """A tape with one entry per iteration."""

    like: Value

    @property
    def types(self) -> list[Attribute]:
        return [core.TapeType(type_of(self.like))]

    def empty(self, b: OpBuilder) -> list[Value]:
        return list(b.create(core.TapeCreateOp, (), self.types))

    def write(self, b: OpBuilder, storage: Sequence[Value], value: Value, iteration: Value) -> list[Value]:
        return [b.create(core.TapePushOp, (storage[0], value), (storage[0].type,))[0]]

    def read(self, b: OpBuilder, storage: Sequence[Value], iteration: Value) -> Value:
        return b.create(core.TapeReadOp, (storage[0], iteration), (self.like.type,))[0]


class TapeOfTapes(Struct, frozen=True):
    """The tapes of an inner loop, concatenated, and the position at which each begins."""

    like: Value
    starts: Slot

    @property
    def types(self) -> list[Attribute]:
        return [self.like.type, *self.starts.types]

    def empty(self, b: OpBuilder) -> list[Value]:
        return [b.create(core.TapeCreateOp, (), (self.like.type,))[0], *self.starts.empty(b)]

    def write(self, b: OpBuilder, storage: Sequence[Value], value: Value, iteration: Value) -> list[Value]:
        start = b.create(core.TapeSizeOp, (storage[0],), (INDEX,))[0]  # before the tape is consumed
        written = self.starts.write(b, storage[1:], start, iteration)
        return [b.create(core.TapeExtendOp, (storage[0], value), (storage[0].type,))[0], *written]

    def read(self, b: OpBuilder, storage: Sequence[Value], iteration: Value) -> Value:
        start = self.starts.read(b, storage[1:], iteration)
        return b.create(core.TapeFromOp, (storage[0], start), (self.like.type,))[0]


def slot_for(value: Value, trip_count: int | None, index: Value) -> Slot:
    """The slot for a value in a loop with this trip count (None if it is not a constant); ``index`` is any value of INDEX type."""
    if isinstance(value.type, core.TapeType):
        return TapeOfTapes(value, slot_for(index, trip_count, index))
    return Tape(value) if trip_count is None else Stack(value, trip_count)
