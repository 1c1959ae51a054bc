"""Adjoints of tape ops, which occur in programs that are derivatives themselves.

The cotangent of a tape is a tape with the cotangents of its entries at the same positions; an entry without a contribution is absent.
The adjoint of a read adds at its position. That of a push reads the cotangent of the pushed value at its position, and passes the tape's
cotangent on to the previous tape. Positions are those at the time of the push, so they are computed in the forward sweep.
"""

from __future__ import annotations

from collections.abc import Sequence

from wengert.dialects import core
from wengert.dialects.builder import OpBuilder, Value
from wengert.ir.tensor_types import i64
from wengert.transforms.ad.direct.adjoint import Bars, Pullback, adjoint, inactive, step
from wengert.transforms.ad.direct.record import INDEX
from wengert.transforms.ad.direct.sweep import Sweep
from wengert.transforms.ad.linear.cotangents import Cotangents
from wengert.transforms.ad.rule import InPlaceAdd, Tangent

inactive(core.TapeCreateOp, core.TapeSizeOp)


def _or_empty(b: OpBuilder, so_far: Tangent, like: Value) -> Value:
    return b.create(core.TapeCreateOp, (), (like.type,))[0] if so_far is None else so_far


def _adding(b: OpBuilder, tape_bar: Value) -> InPlaceAdd:
    """A contribution that adds a whole tape to the cotangent of a tape."""

    def accumulate(so_far: Tangent) -> Value:
        return tape_bar if so_far is None else b.create(core.TapeAddFromOp, (so_far, b.scalar(0, i64), tape_bar), (tape_bar.type,))[0]

    return InPlaceAdd(accumulate)


def _size(b: OpBuilder, tape: Value) -> Value:
    return b.create(core.TapeSizeOp, (tape,), (INDEX,))[0]


@step(core.TapePushOp)
def push(sweep: Sweep, op: core.TapePushOp) -> Pullback:
    new = sweep.emit(op)
    sweep.bind(op.results, new.results)
    position = sweep.b.subtract(_size(sweep.b, new.results[0]), sweep.b.scalar(1, i64))
    tape, value = new.operands

    def pullback(b: OpBuilder, y_bars: Sequence[Tangent], cotangents: Cotangents) -> None:
        (tape_bar,) = y_bars
        assert tape_bar is not None
        if sweep.has_cotangent(value):
            cotangents.add(value, b.create(core.TapeGetOp, (tape_bar, position), (value.type,))[0])
        if sweep.has_cotangent(tape):
            cotangents.add(tape, _adding(b, tape_bar))

    return pullback


@step(core.TapeExtendOp)
def extend(sweep: Sweep, op: core.TapeExtendOp) -> Pullback:
    new = sweep.emit(op)
    sweep.bind(op.results, new.results)
    tape, other = new.operands
    position = sweep.b.subtract(_size(sweep.b, new.results[0]), _size(sweep.b, other))

    def pullback(b: OpBuilder, y_bars: Sequence[Tangent], cotangents: Cotangents) -> None:
        (tape_bar,) = y_bars
        assert tape_bar is not None
        if sweep.has_cotangent(other):
            cotangents.add(other, _adding(b, b.create(core.TapeFromOp, (tape_bar, position), (other.type,))[0]))
        if sweep.has_cotangent(tape):
            cotangents.add(tape, _adding(b, tape_bar))

    return pullback


@adjoint(core.TapeReadOp, core.TapeGetOp)
def read(b: OpBuilder, op: core.TapeReadOp, y_bars: Sequence[Value], needed: Sequence[bool]) -> Bars:
    def accumulate(so_far: Tangent) -> Value:
        return b.create(core.TapeAddOp, (_or_empty(b, so_far, op.operand), op.index, y_bars[0]), (op.operand.type,))[0]

    return [InPlaceAdd(accumulate), None]


@adjoint(core.TapeFromOp)
def part(b: OpBuilder, op: core.TapeFromOp, y_bars: Sequence[Value], needed: Sequence[bool]) -> Bars:
    def accumulate(so_far: Tangent) -> Value:
        return b.create(core.TapeAddFromOp, (_or_empty(b, so_far, op.operand), op.index, y_bars[0]), (op.operand.type,))[0]

    return [InPlaceAdd(accumulate), None]


@adjoint(core.TapeSetOp, core.TapeAddOp)
def write(b: OpBuilder, op: core.TapeSetOp, y_bars: Sequence[Value], needed: Sequence[bool]) -> Bars:
    # an entry is set before it is read, so the cotangents of all other entries are those of the previous tape
    value_bar = b.create(core.TapeGetOp, (y_bars[0], op.index), (op.value.type,))[0] if needed[2] else None
    return [_adding(b, y_bars[0]), None, value_bar]


@adjoint(core.TapeSetFromOp, core.TapeAddFromOp)
def write_from(b: OpBuilder, op: core.TapeSetFromOp, y_bars: Sequence[Value], needed: Sequence[bool]) -> Bars:
    other_bar = _adding(b, b.create(core.TapeFromOp, (y_bars[0], op.index), (op.other.type,))[0]) if needed[2] else None
    return [_adding(b, y_bars[0]), None, other_bar]
