"""Derivatives of tape ops, which occur in programs that are derivatives themselves.

The tangent of a tape is a tape with the tangents of its entries at the same positions; entries whose tangent is structurally zero are absent.
Its cotangent is filled from the end, since the reverse sweep reads the tape backward; so linear ops have explicit positions.
"""

from __future__ import annotations

from collections.abc import Sequence

from wengert.dialects import core
from wengert.dialects.builder import OpBuilder, Value
from wengert.ir.tensor_types import i64, tensor
from wengert.transforms.ad.rule import InPlaceAdd, LinearMap, Tangent, derivative, inactive, transpose

INDEX = tensor((), i64)

inactive(core.TapeCreateOp, core.TapeSizeOp)


def _or_empty(lb: OpBuilder, tape_dot: Tangent, like: Value) -> Value:
    return lb.create(core.TapeCreateOp, (), (like.type,))[0] if tape_dot is None else tape_dot


@derivative(core.TapePushOp)
def push(b: OpBuilder, op: core.TapePushOp) -> LinearMap:
    # the size after the push, which consumes its operand
    position = b.subtract(b.create(core.TapeSizeOp, (op.tape,), (INDEX,))[0], b.scalar(1, i64))

    def apply(lb: OpBuilder, tangents: Sequence[Tangent]) -> Sequence[Tangent]:
        tape_dot, value_dot = tangents
        if value_dot is None:
            return [tape_dot]
        return lb.create(core.TapeSetOp, (_or_empty(lb, tape_dot, op.tape), position, value_dot), (op.tape.type,))

    return apply


@derivative(core.TapeExtendOp)
def extend(b: OpBuilder, op: core.TapeExtendOp) -> LinearMap:
    """The tangents of what is appended, at the positions where it is appended."""
    whole, part = (b.create(core.TapeSizeOp, (tape,), (INDEX,))[0] for tape in (op.tape, op.other))
    position = b.subtract(whole, part)

    def apply(lb: OpBuilder, tangents: Sequence[Tangent]) -> Sequence[Tangent]:
        tape_dot, other_dot = tangents
        if other_dot is None:
            return [tape_dot]
        return lb.create(core.TapeSetFromOp, (_or_empty(lb, tape_dot, op.tape), position, other_dot), (op.tape.type,))

    return apply


@derivative(core.TapeReadOp, core.TapeGetOp)
def read(b: OpBuilder, op: core.TapeReadOp | core.TapeGetOp) -> LinearMap:
    """dy = the entry of the tape of tangents at the same position."""

    def apply(lb: OpBuilder, tangents: Sequence[Tangent]) -> Sequence[Tangent]:
        tape_dot = tangents[0]
        return [None] if tape_dot is None else lb.create(core.TapeGetOp, (tape_dot, op.index), (op.value.type,))

    return apply


@derivative(core.TapeSetOp, core.TapeAddOp)
def write(b: OpBuilder, op: core.TapeSetOp | core.TapeAddOp) -> LinearMap:
    # an entry is set once, before it is read, so nothing has to be written for a zero tangent
    def apply(lb: OpBuilder, tangents: Sequence[Tangent]) -> Sequence[Tangent]:
        tape_dot, _, value_dot = tangents
        if value_dot is None:
            return [tape_dot]
        return lb.create(type(op), (_or_empty(lb, tape_dot, op.tape), op.index, value_dot), (op.tape.type,))

    return apply


@derivative(core.TapeSetFromOp, core.TapeAddFromOp)
def write_from(b: OpBuilder, op: core.TapeSetFromOp | core.TapeAddFromOp) -> LinearMap:
    """dy = the tape of tangents with those of the other one in its place."""

    def apply(lb: OpBuilder, tangents: Sequence[Tangent]) -> Sequence[Tangent]:
        tape_dot, _, other_dot = tangents
        if other_dot is None:
            return [tape_dot]
        return lb.create(type(op), (_or_empty(lb, tape_dot, op.tape), op.index, other_dot), (op.tape.type,))

    return apply


@derivative(core.TapeFromOp)
def part(b: OpBuilder, op: core.TapeFromOp) -> LinearMap:
    """dy = the part of the tape of tangents from the same position on."""

    def apply(lb: OpBuilder, tangents: Sequence[Tangent]) -> Sequence[Tangent]:
        tape_dot = tangents[0]
        return [None] if tape_dot is None else lb.create(core.TapeFromOp, (tape_dot, op.index), (op.tape.type,))

    return apply


@transpose(core.TapeGetOp)
def get_transpose(b: OpBuilder, op: core.TapeGetOp, linear: Sequence[bool], y_bars: Sequence[Value]) -> Sequence[Tangent | InPlaceAdd]:
    # reading <-> adding at the position
    def accumulate(so_far: Tangent) -> Value:
        return b.create(core.TapeAddOp, (_or_empty(b, so_far, op.operand), op.index, y_bars[0]), (op.operand.type,))[0]

    return [InPlaceAdd(accumulate), None]


@transpose(core.TapeSetOp, core.TapeAddOp)
def write_transpose(b: OpBuilder, op: core.TapeSetOp, linear: Sequence[bool], y_bars: Sequence[Value]) -> Sequence[Tangent | InPlaceAdd]:
    # writing <-> reading at the position; the entry is absent before the first write, so the cotangent of the tape is passed on unchanged
    value_bar = b.create(core.TapeGetOp, (y_bars[0], op.index), (op.value.type,))[0] if linear[2] else None
    return [InPlaceAdd(lambda so_far: _merged(b, so_far, y_bars[0])) if linear[0] else None, None, value_bar]


@transpose(core.TapeSetFromOp, core.TapeAddFromOp)
def write_from_transpose(b: OpBuilder, op: core.TapeSetFromOp, linear: Sequence[bool], y_bars: Sequence[Value]) -> Sequence[Tangent | InPlaceAdd]:
    other = b.create(core.TapeFromOp, (y_bars[0], op.index), (op.other.type,))[0] if linear[2] else None
    return [
        InPlaceAdd(lambda so_far: _merged(b, so_far, y_bars[0])) if linear[0] else None,
        None,
        None if other is None else InPlaceAdd(lambda so_far: _merged(b, so_far, other)),
    ]


@transpose(core.TapeFromOp)
def part_transpose(b: OpBuilder, op: core.TapeFromOp, linear: Sequence[bool], y_bars: Sequence[Value]) -> Sequence[Tangent | InPlaceAdd]:
    def accumulate(so_far: Tangent) -> Value:
        return b.create(core.TapeAddFromOp, (_or_empty(b, so_far, op.operand), op.index, y_bars[0]), (op.operand.type,))[0]

    return [InPlaceAdd(accumulate), None]


def _merged(b: OpBuilder, so_far: Tangent, tape: Value) -> Value:
    """The sum of two cotangents of one tape."""
    if so_far is None:
        return tape
    return b.create(core.TapeAddFromOp, (so_far, b.scalar(0, i64), tape), (tape.type,))[0]
