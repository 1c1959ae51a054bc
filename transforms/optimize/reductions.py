"""Laws of reductions.

A floating-point sum starts from +0, so the sum of one element is that element with a negative zero made positive; that addition is
written out where it matters. A reduction may combine in any order, as ``core.reduce`` is documented to, which is what the assumption
``unordered`` is named after; maxima, minima, logic and integers are exact in any order.
"""

from __future__ import annotations

from math import prod

from xdsl.ir import SSAValue

from wengert.dialects import core, stablehlo
from wengert.dialects.builder import OpBuilder
from wengert.dialects.core import Kind
from wengert.ir.attributes import int_of, ints
from wengert.ir.tensor_types import DYNAMIC, dtype_of, element, is_float, shape, type_of
from wengert.transforms.optimize.matching import is_inexact, made_by, splat, with_positive_zeros
from wengert.transforms.optimize.rewrites import Assumption, Rewritten, rewrite


def _is_ordered(op: core.ReduceOp) -> bool:
    """Whether the order of combination shows in the result: rounding sums and products."""
    return op.kind.data in (Kind.add, Kind.mul) and is_inexact(op.operand)


def _as_sum(b: OpBuilder, kind: Kind, x: SSAValue) -> SSAValue:
    """x as a reduction of this kind gives it."""
    return with_positive_zeros(b, x) if kind is Kind.add else x


@rewrite(core.ReduceOp)
def reduce_one_element(b: OpBuilder, op: core.ReduceOp) -> Rewritten:
    """Reducing a dimension of extent 1 = reshape (+ 0 for sums); other dimensions are still reduced"""
    extents, dims = shape(op.operand), ints(op.dimensions)
    if DYNAMIC in extents or all(extents[d] != 1 for d in dims):
        return None
    wide = [d for d in dims if extents[d] != 1]
    kept = [d for d in range(len(extents)) if d not in dims or d in wide]
    x = b.reshape(op.operand, [extents[d] for d in kept])
    if wide:
        return b.reduce(op.kind.data, x, [kept.index(d) for d in wide])
    return _as_sum(b, op.kind.data, x)


def _merge(b: OpBuilder, op: core.ReduceOp) -> SSAValue | None:
    inner = made_by(op.operand, core.ReduceOp)
    if inner is None or inner.kind != op.kind:
        return None
    removed = set(ints(inner.dimensions))
    left = [d for d in range(len(shape(inner.operand))) if d not in removed]
    return b.reduce(op.kind.data, inner.operand, sorted(removed | {left[d] for d in ints(op.dimensions)}))


@rewrite(core.ReduceOp, given=[core.ReduceOp])
def reduce_of_reduce(b: OpBuilder, op: core.ReduceOp) -> Rewritten:
    """reduce(reduce(x)) = reduce(x) over both dimensions, where the order does not show"""
    return None if _is_ordered(op) else _merge(b, op)


@rewrite(core.ReduceOp, needs=[Assumption.UNORDERED], given=[core.ReduceOp])
def sum_of_sum(b: OpBuilder, op: core.ReduceOp) -> Rewritten:
    """reduce(reduce(x)) = reduce(x) over both dimensions, for sums and products that round"""
    return _merge(b, op) if _is_ordered(op) and op.operand.has_one_use() else None


def _through_transpose(b: OpBuilder, op: core.ReduceOp) -> SSAValue | None:
    inner = made_by(op.operand, stablehlo.TransposeOp)
    if inner is None:
        return None
    permutation, dims = ints(inner.permutation), set(ints(op.dimensions))
    kept = [p for d, p in enumerate(permutation) if d not in dims]
    reduced = b.reduce(op.kind.data, inner.operand, sorted(permutation[d] for d in dims))
    return b.transpose(reduced, [sorted(kept).index(p) for p in kept])


@rewrite(core.ReduceOp, given=[stablehlo.TransposeOp])
def reduce_of_transpose(b: OpBuilder, op: core.ReduceOp) -> Rewritten:
    """reduce(transpose(x)) = transpose(reduce(x)), where the order does not show"""
    return None if _is_ordered(op) else _through_transpose(b, op)


@rewrite(core.ReduceOp, needs=[Assumption.UNORDERED], given=[stablehlo.TransposeOp])
def sum_of_transpose(b: OpBuilder, op: core.ReduceOp) -> Rewritten:
    """reduce(transpose(x)) = transpose(reduce(x)), for sums and products that round"""
    return _through_transpose(b, op) if _is_ordered(op) else None


def _of_everything(b: OpBuilder, op: core.ReduceOp) -> SSAValue | None:
    inner = made_by(op.operand, stablehlo.ReshapeOp)
    if inner is None or shape(op.result) != () or DYNAMIC in shape(inner.operand):
        return None
    plain = [n for n in shape(inner.operand) if n != 1]
    if not plain or tuple(plain) == shape(op.operand):
        return None
    return b.reduce(op.kind.data, b.reshape(inner.operand, plain), range(len(plain)))


@rewrite(core.ReduceOp, given=[stablehlo.ReshapeOp])
def reduce_of_reshape(b: OpBuilder, op: core.ReduceOp) -> Rewritten:
    """reduce(reshape(x)) = reduce(x) over all dimensions, where the order does not show"""
    return None if _is_ordered(op) else _of_everything(b, op)


@rewrite(core.ReduceOp, needs=[Assumption.UNORDERED], given=[stablehlo.ReshapeOp])
def sum_of_reshape(b: OpBuilder, op: core.ReduceOp) -> Rewritten:
    """reduce(reshape(x)) = reduce(x) over all dimensions, for sums and products that round"""
    return _of_everything(b, op) if _is_ordered(op) else None


def _repeated(op: core.ReduceOp) -> tuple[SSAValue, list[int], list[int], int] | None:
    """For a reduce of a broadcast: what was broadcast, where its dimensions are after removing the repeated ones that are
    reduced, the other reduced dimensions, and how often each element repeats."""
    inner = made_by(op.operand, stablehlo.BroadcastInDimOp)
    if inner is None or DYNAMIC in shape(op.operand):
        return None
    extents, dims = shape(op.operand), list(ints(inner.broadcast_dimensions))
    own = {d for d, n in zip(dims, shape(inner.operand), strict=True) if n == extents[d]}
    gone = [d for d in ints(op.dimensions) if d not in dims]
    if not gone or any(d in dims and d not in own for d in ints(op.dimensions)):
        return None
    return inner.operand, dims, gone, prod(extents[d] for d in gone)


def _without_repetition(b: OpBuilder, op: core.ReduceOp) -> tuple[SSAValue, int] | None:
    """The reduce of a broadcast that no longer repeats along reduced dimensions, and how often it repeated."""
    repeated = _repeated(op)
    if repeated is None:
        return None
    x, dims, gone, count = repeated
    kept = [d for d in range(len(shape(op.operand))) if d not in gone]
    y = b.broadcast_in_dim(x, [kept.index(d) for d in dims], [shape(op.operand)[d] for d in kept])
    left = [kept.index(d) for d in ints(op.dimensions) if d not in gone]
    return (b.reduce(op.kind.data, y, left) if left else y), count


@rewrite(core.ReduceOp, given=[stablehlo.BroadcastInDimOp])
def extreme_of_broadcast(b: OpBuilder, op: core.ReduceOp) -> Rewritten:
    """max of equal elements = the element; so for min, and, or"""
    if op.kind.data in (Kind.add, Kind.mul) or 0 in shape(op.operand):
        return None
    reduced = _without_repetition(b, op)
    return None if reduced is None else reduced[0]


@rewrite(core.ReduceOp, needs=[Assumption.UNORDERED], given=[stablehlo.BroadcastInDimOp])
def sum_of_broadcast(b: OpBuilder, op: core.ReduceOp) -> Rewritten:
    """The sum of n equal elements = n times the element (rounded once; + 0, since a sum starts there)"""
    element_type = element(op.operand)
    if op.kind.data is not Kind.add or not is_float(element_type) or dtype_of(element_type).itemsize < 4 or 0 in shape(op.operand):
        return None
    repeated = _repeated(op)
    if repeated is None or repeated[3] > 2 ** (24 if dtype_of(element_type).itemsize == 4 else 53):
        return None
    reduced = _without_repetition(b, op)
    assert reduced is not None
    y, count = reduced
    return with_positive_zeros(b, b.multiply(y, b.full_like(y, count)))


@rewrite(core.ReduceOp, given=[stablehlo.BroadcastInDimOp])
def integer_sum_of_broadcast(b: OpBuilder, op: core.ReduceOp) -> Rewritten:
    """The sum of n equal integers = n times the integer, which wraps around alike"""
    if op.kind.data is not Kind.add or is_inexact(op.operand):
        return None
    reduced = _without_repetition(b, op)
    if reduced is None:
        return None
    y, count = reduced
    bits = 8 * dtype_of(element(y)).itemsize
    wrapped = count % 2**bits
    return b.multiply(y, b.full_like(y, wrapped - 2**bits if wrapped >= 2 ** (bits - 1) and dtype_of(element(y)).kind == "i" else wrapped))


@rewrite(core.ReduceOp, given=[stablehlo.ConstantOp])
def extreme_of_constant(b: OpBuilder, op: core.ReduceOp) -> Rewritten:
    """max of a constant's equal elements = the element; so for min, and, or"""
    value = splat(op.operand)
    if value is None or op.kind.data in (Kind.add, Kind.mul) or 0 in shape(op.operand):
        return None
    return b.full(value, type_of(op.result))


@rewrite(core.ReduceOp, given=[stablehlo.ConstantOp])
def sum_of_zeros(b: OpBuilder, op: core.ReduceOp) -> Rewritten:
    """The sum of zeros = 0; the product of ones = 1"""
    value = splat(op.operand)
    if value is None or op.kind.data not in (Kind.add, Kind.mul) or value != (0 if op.kind.data is Kind.add else 1):
        return None
    return b.full(0 if op.kind.data is Kind.add else 1, type_of(op.result))


@rewrite(core.CumulativeOp)
def cumulative_of_one_element(b: OpBuilder, op: core.CumulativeOp) -> Rewritten:
    """The running sum of one element = the element (+ 0)"""
    return _as_sum(b, op.kind.data, op.operand) if shape(op.operand)[int_of(op.dimension)] == 1 else None


@rewrite(core.WindowReduceOp)
def window_of_one_element(b: OpBuilder, op: core.WindowReduceOp) -> Rewritten:
    """Windows of one element each, none of it padding = the elements (+ 0 for sums)"""
    windows = (op.window_dimensions, op.window_strides, op.base_dilations)
    if any(n != 1 for window in windows for n in ints(window)) or any(ints(op.padding)):
        return None
    return _as_sum(b, op.kind.data, op.operand)
