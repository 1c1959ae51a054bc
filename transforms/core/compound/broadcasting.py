"""CHLO's broadcasting ops as broadcast_in_dim and the op without broadcasting, and constants in the shape of something."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xdsl.dialects.builtin import FloatAttr, IntegerAttr
from xdsl.ir import Operation

from wengert.dialects import chlo
from wengert.dialects import stablehlo as hlo
from wengert.dialects.builder import OpBuilder, Value
from wengert.dialects.chlo import broadcast
from wengert.ir.attributes import ints
from wengert.ir.tensor_types import rank, shape, type_of

WITHOUT: dict[type[Operation], type[Operation]] = {
    broadcast.BroadcastAddOp: hlo.AddOp,
    broadcast.BroadcastAndOp: hlo.AndOp,
    broadcast.BroadcastAtan2Op: hlo.Atan2Op,
    broadcast.BroadcastComplexOp: hlo.ComplexOp,
    broadcast.BroadcastDivideOp: hlo.DivideOp,
    broadcast.BroadcastMaximumOp: hlo.MaximumOp,
    broadcast.BroadcastMinimumOp: hlo.MinimumOp,
    broadcast.BroadcastMultiplyOp: hlo.MultiplyOp,
    broadcast.BroadcastNextAfterOp: chlo.NextAfterOp,
    broadcast.BroadcastOrOp: hlo.OrOp,
    broadcast.BroadcastPolygammaOp: chlo.PolygammaOp,
    broadcast.BroadcastPowerOp: hlo.PowerOp,
    broadcast.BroadcastRemainderOp: hlo.RemainderOp,
    broadcast.BroadcastShiftLeftOp: hlo.ShiftLeftOp,
    broadcast.BroadcastShiftRightArithmeticOp: hlo.ShiftRightArithmeticOp,
    broadcast.BroadcastShiftRightLogicalOp: hlo.ShiftRightLogicalOp,
    broadcast.BroadcastSubtractOp: hlo.SubtractOp,
    broadcast.BroadcastXorOp: hlo.XorOp,
    broadcast.BroadcastZetaOp: chlo.ZetaOp,
}
"""The op without broadcasting."""


def expand_broadcasting(b: OpBuilder, op: broadcast.BroadcastingOp) -> list[Value]:
    """Both operands in the result's shape, then the op without broadcasting."""
    x, y = op.lhs, op.rhs
    result = shape(op.result)
    small = y if rank(x) > rank(y) else x
    dims = None if op.broadcast_dimensions is None else ints(op.broadcast_dimensions)
    x, y = [_spread(b, v, result, dims if v is small else None) for v in (x, y)]
    if isinstance(op, broadcast.BroadcastCompareOp):
        order = None if op.compare_type is None else str(op.compare_type.data)
        return [b.compare(str(op.comparison_direction.data), x, y, None if order == "NOTYPE" else order)]
    return [b.one(WITHOUT[type(op)], (x, y), op.result.type)]


def expand_select(b: OpBuilder, op: broadcast.BroadcastSelectOp) -> list[Value]:
    """A select of predicate and values in the result's shape; a predicate for all stays one."""
    pred = op.pred if rank(op.pred) == 0 else _spread(b, op.pred, shape(op.result))
    return [b.select(pred, _spread(b, op.on_true, shape(op.result)), _spread(b, op.on_false, shape(op.result)))]


def expand_broadcast(b: OpBuilder, op: hlo.BroadcastOp) -> list[Value]:
    """New dimensions in front."""
    return [_spread(b, op.operand, shape(op.result))]


def _spread(b: OpBuilder, x: Value, result: Sequence[int], dims: Sequence[int] | None = None) -> Value:
    """x in a shape; its last dimension is the shape's last, unless said otherwise."""
    places = range(len(result) - rank(x), len(result)) if dims is None else dims
    return b.broadcast_in_dim(x, places, result)


def expand_constant(b: OpBuilder, op: chlo.ConstantOp) -> list[Value]:
    """StableHLO's constant."""
    return [b.one(hlo.ConstantOp, (), op.output.type, value=op.value)]


def expand_constant_like(b: OpBuilder, op: chlo.ConstantLikeOp) -> list[Value]:
    """The number everywhere."""
    return [b.full(number(op.value), type_of(op.result))]


def number(value: Any) -> complex:
    """The value of a number as an attribute; a complex one is ``#complex.number<:f32 1.0, 2.0> : complex<f32>``."""
    if isinstance(value, FloatAttr | IntegerAttr):
        return value.value.data  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]
    return complex(value.real.data, value.imag.data)
