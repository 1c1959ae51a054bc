"""Adjoints of tapes, which programs have that are derivatives already.

The cotangent of a tape is a tape with the cotangents of its values at the same positions, and nothing where none has come
yet. A read adds at its position; a push hands over what has come to its position, and the cotangent goes on as that of the
tape before. Positions are those at the time of the push, so they are computed in the forward sweep.
"""

from __future__ import annotations

from collections.abc import Sequence

from wengert.dialects import core
from wengert.dialects.builder import OpBuilder, Value
from wengert.ir.tensor_types import i64
from wengert.transforms.ad.direct.adjoint import Back, Bars, adjoint, inactive, step
from wengert.transforms.ad.direct.record import INDEX
from wengert.transforms.ad.direct.sweep import Sweep
from wengert.transforms.ad.linear.cotangents import Cotangents
from wengert.transforms.ad.rule import Into, Tangent

inactive(core.TapeCreateOp, core.TapeSizeOp)


def _or_empty(b: OpBuilder, held: Tangent, like: Value) -> Value:
    return b.create(core.TapeCreateOp, (), (like.type,))[0] if held is None else held


def _onto(b: OpBuilder, tape_bar: Value) -> Into:
    """A whole tape's cotangent added to what there is."""

    def accumulate(held: Tangent) -> Value:
        return tape_bar if held is None else b.create(core.TapeAddFromOp, (held, b.scalar(0, i64), tape_bar), (tape_bar.type,))[0]

    return Into(accumulate)


def _size(b: OpBuilder, tape: Value) -> Value:
    return b.create(core.TapeSizeOp, (tape,), (INDEX,))[0]


@step(core.TapePushOp)
def push(sweep: Sweep, op: core.TapePushOp) -> Back:
    new = sweep.emit(op)
    sweep.bind(op.results, new.results)
    position = sweep.b.subtract(_size(sweep.b, new.results[0]), sweep.b.scalar(1, i64))
    tape, value = new.operands

    def back(b: OpBuilder, y_bars: Sequence[Tangent], cotangents: Cotangents) -> None:
        (tape_bar,) = y_bars
        assert tape_bar is not None
        if sweep.has_cotangent(value):
            cotangents.add(value, b.create(core.TapeGetOp, (tape_bar, position), (value.type,))[0])
        if sweep.has_cotangent(tape):
            cotangents.add(tape, _onto(b, tape_bar))

    return back


@step(core.TapeExtendOp)
def extend(sweep: Sweep, op: core.TapeExtendOp) -> Back:
    new = sweep.emit(op)
    sweep.bind(op.results, new.results)
    tape, other = new.operands
    position = sweep.b.subtract(_size(sweep.b, new.results[0]), _size(sweep.b, other))

    def back(b: OpBuilder, y_bars: Sequence[Tangent], cotangents: Cotangents) -> None:
        (tape_bar,) = y_bars
        assert tape_bar is not None
        if sweep.has_cotangent(other):
            cotangents.add(other, _onto(b, b.create(core.TapeFromOp, (tape_bar, position), (other.type,))[0]))
        if sweep.has_cotangent(tape):
            cotangents.add(tape, _onto(b, tape_bar))

    return back


@adjoint(core.TapeReadOp, core.TapeGetOp)
def read(b: OpBuilder, op: core.TapeReadOp, y_bars: Sequence[Value], needed: Sequence[bool]) -> Bars:
    def accumulate(held: Tangent) -> Value:
        return b.create(core.TapeAddOp, (_or_empty(b, held, op.operand), op.index, y_bars[0]), (op.operand.type,))[0]

    return [Into(accumulate), None]


@adjoint(core.TapeFromOp)
def part(b: OpBuilder, op: core.TapeFromOp, y_bars: Sequence[Value], needed: Sequence[bool]) -> Bars:
    def accumulate(held: Tangent) -> Value:
        return b.create(core.TapeAddFromOp, (_or_empty(b, held, op.operand), op.index, y_bars[0]), (op.operand.type,))[0]

    return [Into(accumulate), None]


@adjoint(core.TapeSetOp, core.TapeAddOp)
def write(b: OpBuilder, op: core.TapeSetOp, y_bars: Sequence[Value], needed: Sequence[bool]) -> Bars:
    # a position is set before anything else is there, so the tape before has the cotangents of all other positions
    value_bar = b.create(core.TapeGetOp, (y_bars[0], op.index), (op.value.type,))[0] if needed[2] else None
    return [_onto(b, y_bars[0]), None, value_bar]


@adjoint(core.TapeSetFromOp, core.TapeAddFromOp)
def write_from(b: OpBuilder, op: core.TapeSetFromOp, y_bars: Sequence[Value], needed: Sequence[bool]) -> Bars:
    other_bar = _onto(b, b.create(core.TapeFromOp, (y_bars[0], op.index), (op.other.type,))[0]) if needed[2] else None
    return [_onto(b, y_bars[0]), None, other_bar]
