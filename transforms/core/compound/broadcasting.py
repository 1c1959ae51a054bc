"""CHLO's broadcasting ops as broadcast_in_dim and the op without broadcasting, and constants in the shape of something."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xdsl.dialects.builtin import FloatAttr, IntegerAttr
from xdsl.ir import Operation

from wengert.dialects import chlo, chlo_broadcast
from wengert.dialects import stablehlo as hlo
from wengert.dialects.builder import OpBuilder, Value
from wengert.ir.attributes import ints
from wengert.ir.tensor_types import rank, shape, type_of

WITHOUT: dict[type[Operation], type[Operation]] = {
    chlo_broadcast.BroadcastAddOp: hlo.AddOp,
    chlo_broadcast.BroadcastAndOp: hlo.AndOp,
    chlo_broadcast.BroadcastAtan2Op: hlo.Atan2Op,
    chlo_broadcast.BroadcastComplexOp: hlo.ComplexOp,
    chlo_broadcast.BroadcastDivideOp: hlo.DivideOp,
    chlo_broadcast.BroadcastMaximumOp: hlo.MaximumOp,
    chlo_broadcast.BroadcastMinimumOp: hlo.MinimumOp,
    chlo_broadcast.BroadcastMultiplyOp: hlo.MultiplyOp,
    chlo_broadcast.BroadcastNextAfterOp: chlo.NextAfterOp,
    chlo_broadcast.BroadcastOrOp: hlo.OrOp,
    chlo_broadcast.BroadcastPolygammaOp: chlo.PolygammaOp,
    chlo_broadcast.BroadcastPowerOp: hlo.PowerOp,
    chlo_broadcast.BroadcastRemainderOp: hlo.RemainderOp,
    chlo_broadcast.BroadcastShiftLeftOp: hlo.ShiftLeftOp,
    chlo_broadcast.BroadcastShiftRightArithmeticOp: hlo.ShiftRightArithmeticOp,
    chlo_broadcast.BroadcastShiftRightLogicalOp: hlo.ShiftRightLogicalOp,
    chlo_broadcast.BroadcastSubtractOp: hlo.SubtractOp,
    chlo_broadcast.BroadcastXorOp: hlo.XorOp,
    chlo_broadcast.BroadcastZetaOp: chlo.ZetaOp,
}
"""The op without broadcasting."""


def expand_broadcasting(b: OpBuilder, op: chlo_broadcast.BroadcastingOp) -> list[Value]:
    """Both operands in the result's shape, then the op without broadcasting."""
    x, y = op.lhs, op.rhs
    result = shape(op.result)
    small = y if rank(x) > rank(y) else x
    dims = None if op.broadcast_dimensions is None else ints(op.broadcast_dimensions)
    x, y = [_spread(b, v, result, dims if v is small else None) for v in (x, y)]
    if isinstance(op, chlo_broadcast.BroadcastCompareOp):
        order = None if op.compare_type is None else str(op.compare_type.data)
        return [b.compare(str(op.comparison_direction.data), x, y, None if order == "NOTYPE" else order)]
    return [b.one(WITHOUT[type(op)], (x, y), op.result.type)]


def expand_select(b: OpBuilder, op: chlo_broadcast.BroadcastSelectOp) -> list[Value]:
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
