"""Derivatives of tapes, for derivatives of programs that are derivatives already.

The tangent of a tape is a tape with the tangents of its values at the same positions, nothing where they are structurally
zero. Its cotangent is filled from the end, as the reverse sweep reads the tape; so linear ops name positions.
"""

from __future__ import annotations

from collections.abc import Sequence

from wengert.dialects import core
from wengert.dialects.builder import OpBuilder, Value
from wengert.ir.tensor_types import i64, tensor
from wengert.transforms.ad.rule import Into, LinearMap, Tangent, derivative, inactive, transpose

INDEX = tensor((), i64)

inactive(core.TapeCreateOp, core.TapeSizeOp)


def _or_empty(lb: OpBuilder, tape_dot: Tangent, like: Value) -> Value:
    return lb.create(core.TapeCreateOp, (), (like.type,))[0] if tape_dot is None else tape_dot


@derivative(core.TapePushOp)
def push(b: OpBuilder, op: core.TapePushOp) -> LinearMap:
    # after the push, for the tape given is consumed by it
    position = b.subtract(b.create(core.TapeSizeOp, (op.tape,), (INDEX,))[0], b.scalar(1, i64))

    def apply(lb: OpBuilder, tangents: Sequence[Tangent]) -> Sequence[Tangent]:
        tape_dot, value_dot = tangents
        if value_dot is None:
            return [tape_dot]
        return lb.create(core.TapeSetOp, (_or_empty(lb, tape_dot, op.tape), position, value_dot), (op.tape.type,))

    return apply


@derivative(core.TapeExtendOp)
def extend(b: OpBuilder, op: core.TapeExtendOp) -> LinearMap:
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
    def apply(lb: OpBuilder, tangents: Sequence[Tangent]) -> Sequence[Tangent]:
        tape_dot = tangents[0]
        return [None] if tape_dot is None else lb.create(core.TapeGetOp, (tape_dot, op.index), (op.value.type,))

    return apply


@derivative(core.TapeSetOp, core.TapeAddOp)
def write(b: OpBuilder, op: core.TapeSetOp | core.TapeAddOp) -> LinearMap:
    # a position is set once, before anything is read from it, so a missing tangent leaves nothing behind
    def apply(lb: OpBuilder, tangents: Sequence[Tangent]) -> Sequence[Tangent]:
        tape_dot, _, value_dot = tangents
        if value_dot is None:
            return [tape_dot]
        return lb.create(type(op), (_or_empty(lb, tape_dot, op.tape), op.index, value_dot), (op.tape.type,))

    return apply


@derivative(core.TapeSetFromOp, core.TapeAddFromOp)
def write_from(b: OpBuilder, op: core.TapeSetFromOp | core.TapeAddFromOp) -> LinearMap:
    def apply(lb: OpBuilder, tangents: Sequence[Tangent]) -> Sequence[Tangent]:
        tape_dot, _, other_dot = tangents
        if other_dot is None:
            return [tape_dot]
        return lb.create(type(op), (_or_empty(lb, tape_dot, op.tape), op.index, other_dot), (op.tape.type,))

    return apply


@derivative(core.TapeFromOp)
def part(b: OpBuilder, op: core.TapeFromOp) -> LinearMap:
    def apply(lb: OpBuilder, tangents: Sequence[Tangent]) -> Sequence[Tangent]:
        tape_dot = tangents[0]
        return [None] if tape_dot is None else lb.create(core.TapeFromOp, (tape_dot, op.index), (op.tape.type,))

    return apply


@transpose(core.TapeGetOp)
def get_transpose(b: OpBuilder, op: core.TapeGetOp, linear: Sequence[bool], y_bars: Sequence[Value]) -> Sequence[Tangent | Into]:
    # reading <-> adding at the position
    def accumulate(held: Tangent) -> Value:
        return b.create(core.TapeAddOp, (_or_empty(b, held, op.operand), op.index, y_bars[0]), (op.operand.type,))[0]

    return [Into(accumulate), None]


@transpose(core.TapeSetOp, core.TapeAddOp)
def write_transpose(b: OpBuilder, op: core.TapeSetOp, linear: Sequence[bool], y_bars: Sequence[Value]) -> Sequence[Tangent | Into]:
    # writing <-> reading at the position; what was there before a first write is nothing, so the tape's cotangent goes on as it is
    value_bar = b.create(core.TapeGetOp, (y_bars[0], op.index), (op.value.type,))[0] if linear[2] else None
    return [Into(lambda held: _merged(b, held, y_bars[0])) if linear[0] else None, None, value_bar]


@transpose(core.TapeSetFromOp, core.TapeAddFromOp)
def write_from_transpose(b: OpBuilder, op: core.TapeSetFromOp, linear: Sequence[bool], y_bars: Sequence[Value]) -> Sequence[Tangent | Into]:
    other = b.create(core.TapeFromOp, (y_bars[0], op.index), (op.other.type,))[0] if linear[2] else None
    return [
        Into(lambda held: _merged(b, held, y_bars[0])) if linear[0] else None,
        None,
        None if other is None else Into(lambda held: _merged(b, held, other)),
    ]


@transpose(core.TapeFromOp)
def part_transpose(b: OpBuilder, op: core.TapeFromOp, linear: Sequence[bool], y_bars: Sequence[Value]) -> Sequence[Tangent | Into]:
    def accumulate(held: Tangent) -> Value:
        return b.create(core.TapeAddFromOp, (_or_empty(b, held, op.operand), op.index, y_bars[0]), (op.operand.type,))[0]

    return [Into(accumulate), None]


def _merged(b: OpBuilder, held: Tangent, tape: Value) -> Value:
    """The sum of two cotangents of one tape."""
    if held is None:
        return tape
    return b.create(core.TapeAddFromOp, (held, b.scalar(0, i64), tape), (tape.type,))[0]
