"""Transposes of ops that move elements, all of which are linear."""

from __future__ import annotations

from collections.abc import Sequence

from wengert.dialects import stablehlo as hlo
from wengert.dialects.builder import OpBuilder, Value
from wengert.ir.attributes import int_of, ints
from wengert.ir.tensor_types import element, shape
from wengert.transforms.ad.case import Arg, Case
from wengert.transforms.ad.rule import Tangent, inactive, transpose

inactive(hlo.IotaOp)


@transpose(hlo.BroadcastInDimOp)
def broadcast_in_dim(b: OpBuilder, op: hlo.BroadcastInDimOp, linear: Sequence[bool], y_bars: Sequence[Value]) -> Sequence[Tangent]:
    # repetition <-> summation, over new dimensions and over those that were stretched from extent 1
    dims, source, result = ints(op.broadcast_dimensions), shape(op.operand), shape(op.result)
    kept = [d for d, n in zip(dims, source, strict=True) if n == result[d]]
    summed = b.reduce_sum(y_bars[0], [d for d in range(len(result)) if d not in kept])
    # the remaining dimensions are in the result's order; transpose to the operand's
    order = sorted(kept)
    ordered = b.transpose(summed, [order.index(d) for d in kept])
    return [b.reshape(ordered, source)]


@transpose(hlo.ReshapeOp)
def reshape(b: OpBuilder, op: hlo.ReshapeOp, linear: Sequence[bool], y_bars: Sequence[Value]) -> Sequence[Tangent]:
    return [b.reshape(y_bars[0], shape(op.operand))]


@transpose(hlo.TransposeOp)
def transpose_(b: OpBuilder, op: hlo.TransposeOp, linear: Sequence[bool], y_bars: Sequence[Value]) -> Sequence[Tangent]:
    # a permutation <-> its inverse
    permutation = ints(op.permutation)
    return [b.transpose(y_bars[0], [permutation.index(d) for d in range(len(permutation))])]


@transpose(hlo.ReverseOp)
def reverse(b: OpBuilder, op: hlo.ReverseOp, linear: Sequence[bool], y_bars: Sequence[Value]) -> Sequence[Tangent]:
    return [b.reverse(y_bars[0], ints(op.dimensions))]


@transpose(hlo.SliceOp)
def slice_(b: OpBuilder, op: hlo.SliceOp, linear: Sequence[bool], y_bars: Sequence[Value]) -> Sequence[Tangent]:
    # slice <-> pad with zeros: stride s leaves s - 1 zeros between elements
    starts, strides = ints(op.start_indices), ints(op.strides)
    y_bar, source = y_bars[0], shape(op.operand)
    covered = [max(n - 1, 0) * s + min(n, 1) for n, s in zip(shape(y_bar), strides, strict=True)]
    high = [n - lo - c for n, lo, c in zip(source, starts, covered, strict=True)]
    return [b.pad(y_bar, zero_of(b, y_bar), starts, high, [s - 1 for s in strides])]


@transpose(hlo.PadOp)
def pad(b: OpBuilder, op: hlo.PadOp, linear: Sequence[bool], y_bars: Sequence[Value]) -> Sequence[Tangent]:
    # pad <-> slice for the operand; the padding value receives the sum of everything outside it
    y_bar = y_bars[0]
    low, high, interior = ints(op.edge_padding_low), ints(op.edge_padding_high), ints(op.interior_padding)
    operand_bar = _unpad(b, y_bar, shape(op.operand), low, high, interior) if linear[0] else None
    if not linear[1]:
        return [operand_bar, None]
    everything = range(len(low))
    inside = _unpad(b, y_bar, shape(op.operand), low, high, interior) if operand_bar is None else operand_bar
    return [operand_bar, b.subtract(b.reduce_sum(y_bar, everything), b.reduce_sum(inside, everything))]


def _unpad(b: OpBuilder, y_bar: Value, source: Sequence[int], low: Sequence[int], high: Sequence[int], interior: Sequence[int]) -> Value:
    """The elements of a padded tensor that came from the operand; those that a negative edge cropped are zero."""
    uncropped = b.pad(y_bar, zero_of(b, y_bar), [max(-lo, 0) for lo in low], [max(-hi, 0) for hi in high]) if min((*low, *high), default=0) < 0 else y_bar
    starts = [max(lo, 0) for lo in low]
    limits = [start + max(n - 1, 0) * (mid + 1) + min(n, 1) for start, n, mid in zip(starts, source, interior, strict=True)]
    strides = [mid + 1 for mid in interior]
    if all(s == 0 for s in starts) and all(s == 1 for s in strides) and tuple(limits) == shape(uncropped):
        return uncropped
    return b.slice(uncropped, starts, limits, strides)


@transpose(hlo.ConcatenateOp)
def concatenate(b: OpBuilder, op: hlo.ConcatenateOp, linear: Sequence[bool], y_bars: Sequence[Value]) -> Sequence[Tangent]:
    # concatenate <-> slices
    y_bar, dim = y_bars[0], int_of(op.dimension)
    cotangents: list[Tangent] = []
    start = 0
    for part, flag in zip(op.inputs, linear, strict=True):
        extent = shape(part)[dim]
        if flag:
            starts, limits = [0] * len(shape(y_bar)), list(shape(y_bar))
            starts[dim], limits[dim] = start, start + extent
            cotangents.append(y_bar if shape(part) == shape(y_bar) else b.slice(y_bar, starts, limits))
        else:
            cotangents.append(None)
        start += extent
    return cotangents


def zero_of(b: OpBuilder, x: Value) -> Value:
    """A rank-0 zero of x's element type, to pad with."""
    return b.scalar(0, element(x))


CASES = [
    Case("broadcast new dims", lambda b, x: b.broadcast_in_dim(x, [1], [2, 3, 4]), (Arg((3,)),)),
    Case("broadcast stretches", lambda b, x: b.broadcast_in_dim(x, [0, 2], [3, 2, 4]), (Arg((3, 1)),)),
    Case("broadcast scalar", lambda b, x: b.broadcast_in_dim(x, [], [2, 3]), (Arg(()),)),
    Case("broadcast extent one kept", lambda b, x: b.broadcast_in_dim(x, [0, 1], [1, 4]), (Arg((1, 1)),)),
    Case("reshape", lambda b, x: b.reshape(x, [3, 4]), (Arg((2, 6)),)),
    Case("transpose", lambda b, x: b.transpose(x, [2, 0, 1]), (Arg((2, 3, 4)),)),
    Case("reverse", lambda b, x: b.reverse(x, [1]), (Arg((2, 3)),)),
    Case("slice", lambda b, x: b.slice(x, [1, 0], [3, 7], [1, 3]), (Arg((4, 7)),)),
    Case("slice with rest", lambda b, x: b.slice(x, [0], [7], [2]), (Arg((8,)),)),
    Case("empty slice", lambda b, x: b.slice(x, [2], [2]), (Arg((5,)),)),
    Case("pad", lambda b, x, v: b.pad(x, v, [1, 0], [2, 1], [1, 2]), (Arg((2, 3)), Arg(()))),
    Case("negative pad", lambda b, x, v: b.pad(x, v, [-1, 2], [1, -2], [0, 1]), (Arg((4, 3)), Arg(()))),
    Case("negative pad on both sides", lambda b, x, v: b.pad(x, v, [-1], [-2], [2]), (Arg((4,)), Arg(()))),
    Case("concatenate", lambda b, x, y, z: b.concatenate([x, y, x, z], 1), (Arg((2, 1)), Arg((2, 3)), Arg((2, 2)))),
]
