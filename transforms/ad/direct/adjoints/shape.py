"""Adjoints of ops that move elements: cotangents are moved back."""

from __future__ import annotations

from collections.abc import Sequence

from wengert.dialects import stablehlo as hlo
from wengert.dialects.builder import OpBuilder, Value
from wengert.ir.attributes import int_of, ints
from wengert.ir.tensor_types import element, rank, shape
from wengert.transforms.ad.direct.adjoint import Bars, adjoint, inactive, unary

inactive(hlo.IotaOp)


@adjoint(hlo.BroadcastInDimOp)
def broadcast_in_dim(b: OpBuilder, op: hlo.BroadcastInDimOp, y_bars: Sequence[Value], needed: Sequence[bool]) -> Bars:
    # a sum over the copies: over new dimensions, and over those that were broadcast from extent 1
    placed, before, after = ints(op.broadcast_dimensions), shape(op.operand), shape(op.result)
    repeated = {d for d, n in zip(placed, before, strict=True) if n != after[d]}
    summed = b.reduce_sum(y_bars[0], [d for d in range(len(after)) if d not in placed or d in repeated])
    # the remaining dimensions are in the result's order
    remaining = sorted(d for d in placed if d not in repeated)
    order = [remaining.index(d) for d in placed if d not in repeated]
    return [b.reshape(b.transpose(summed, order), before)]


@unary(hlo.ReshapeOp)
def reshape(b: OpBuilder, x: Value, y: Value, y_bar: Value) -> Value:
    return b.reshape(y_bar, shape(x))


@adjoint(hlo.TransposeOp)
def transpose(b: OpBuilder, op: hlo.TransposeOp, y_bars: Sequence[Value], needed: Sequence[bool]) -> Bars:
    permutation = ints(op.permutation)
    inverse = sorted(range(len(permutation)), key=lambda d: permutation[d])
    return [b.transpose(y_bars[0], inverse)]


@adjoint(hlo.ReverseOp)
def reverse(b: OpBuilder, op: hlo.ReverseOp, y_bars: Sequence[Value], needed: Sequence[bool]) -> Bars:
    return [b.reverse(y_bars[0], ints(op.dimensions))]


@adjoint(hlo.SliceOp)
def slice_(b: OpBuilder, op: hlo.SliceOp, y_bars: Sequence[Value], needed: Sequence[bool]) -> Bars:
    # element i is the operand's element start + i stride; all others have a zero cotangent
    y_bar, starts, strides = y_bars[0], ints(op.start_indices), ints(op.strides)
    ends = [start if n == 0 else start + (n - 1) * stride + 1 for start, n, stride in zip(starts, shape(y_bar), strides, strict=True)]
    high = [n - end for n, end in zip(shape(op.operand), ends, strict=True)]
    return [b.pad(y_bar, b.scalar(0, element(y_bar)), starts, high, [stride - 1 for stride in strides])]


@adjoint(hlo.PadOp)
def pad(b: OpBuilder, op: hlo.PadOp, y_bars: Sequence[Value], needed: Sequence[bool]) -> Bars:
    # slice out the operand's elements (cropped ones have a zero cotangent); all others are copies of the padding value
    inside = _operand_part(b, op, y_bars[0])
    value_bar = None
    if needed[1]:
        everything = range(rank(y_bars[0]))
        value_bar = b.subtract(b.reduce_sum(y_bars[0], everything), b.reduce_sum(inside, everything))
    return [inside if needed[0] else None, value_bar]


def _operand_part(b: OpBuilder, op: hlo.PadOp, y_bar: Value) -> Value:
    """The elements of y_bar at the operand's positions, zero for cropped ones: negative edge padding crops,
    so positive padding by the same amount restores the positions."""
    low, high, interior = ints(op.edge_padding_low), ints(op.edge_padding_high), ints(op.interior_padding)
    if any(edge < 0 for edge in (*low, *high)):
        y_bar = b.pad(y_bar, b.scalar(0, element(y_bar)), [max(0, -edge) for edge in low], [max(0, -edge) for edge in high])
    starts, steps = [max(0, edge) for edge in low], [gap + 1 for gap in interior]
    limits = [start if n == 0 else start + (n - 1) * step + 1 for start, n, step in zip(starts, shape(op.operand), steps, strict=True)]
    whole = not any(starts) and tuple(limits) == shape(y_bar) and all(step == 1 for step in steps)
    return y_bar if whole else b.slice(y_bar, starts, limits, steps)


@adjoint(hlo.ConcatenateOp)
def concatenate(b: OpBuilder, op: hlo.ConcatenateOp, y_bars: Sequence[Value], needed: Sequence[bool]) -> Bars:
    y_bar, dim, at = y_bars[0], int_of(op.dimension), 0
    bars: list[Value | None] = []
    for part, flag in zip(op.inputs, needed, strict=True):
        lows, highs = [0] * rank(y_bar), list(shape(y_bar))
        lows[dim], highs[dim] = at, at + shape(part)[dim]
        at = highs[dim]
        bars.append((y_bar if shape(part) == shape(y_bar) else b.slice(y_bar, lows, highs)) if flag else None)
    return bars
