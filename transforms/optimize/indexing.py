"""Laws of reading and writing at positions that turn out to be known."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from xdsl.ir import SSAValue

from wengert.dialects import core, stablehlo
from wengert.dialects.builder import OpBuilder
from wengert.dialects.stablehlo.attributes import ComparisonDirection
from wengert.ir import elements
from wengert.ir.attributes import int_of, ints
from wengert.ir.tensor_types import DYNAMIC, element, i1, is_complex, shape, tensor, type_of
from wengert.transforms.optimize.matching import constant_of, is_splat_of, made_by, splat
from wengert.transforms.optimize.rewrites import Rewritten, rewrite

_ORDERS: dict[ComparisonDirection, Callable[[Any, Any], Any]] = {
    ComparisonDirection.GE: operator.ge,
    ComparisonDirection.GT: operator.gt,
    ComparisonDirection.LE: operator.le,
    ComparisonDirection.LT: operator.lt,
}


def _known_starts(starts: Sequence[SSAValue], extents: Sequence[int], sizes: Sequence[int]) -> list[int] | None:
    """Constant starts of a slice, clamped so that it fits; None if one is not constant."""
    positions = [splat(s) for s in starts]
    if any(f is None for f in positions):
        return None
    return [min(max(int(f), 0), n - size) for f, n, size in zip(positions, extents, sizes, strict=True)]


@rewrite(stablehlo.DynamicSliceOp)
def dynamic_slice_at_constant(b: OpBuilder, op: stablehlo.DynamicSliceOp) -> Rewritten:
    """dynamic_slice(x) at constant positions = slice(x)"""
    sizes, extents = ints(op.slice_sizes), shape(op.operand)
    if DYNAMIC in extents:
        return None
    if tuple(sizes) == extents:
        return op.operand
    starts = _known_starts(op.start_indices, extents, sizes)
    return None if starts is None else b.slice(op.operand, starts, [s + n for s, n in zip(starts, sizes, strict=True)])


@rewrite(stablehlo.DynamicUpdateSliceOp)
def update_everything(b: OpBuilder, op: stablehlo.DynamicUpdateSliceOp) -> Rewritten:
    """dynamic_update_slice(x, y) = y if y is as large as x, and x if y has no elements"""
    if op.update.type == op.operand.type and DYNAMIC not in shape(op.operand):
        return op.update
    return op.operand if 0 in shape(op.update) else None


@rewrite(stablehlo.GatherOp)
def gather_of_nothing(b: OpBuilder, op: stablehlo.GatherOp) -> Rewritten:
    """gather(x) = 0 where x has no elements; a collapsed dimension may hide that"""
    return b.zeros(type_of(op.result)) if 0 in shape(op.operand) and DYNAMIC not in shape(op.result) else None


@rewrite(stablehlo.GatherOp, given=[stablehlo.ConstantOp])
def gather_at_constant(b: OpBuilder, op: stablehlo.GatherOp) -> Rewritten:
    """gather of one slice at a constant position = slice"""
    numbers = op.dimension_numbers
    starts, extents, sizes = constant_of(op.start_indices), shape(op.operand), ints(op.slice_sizes)
    if starts is None or DYNAMIC in extents or numbers.dims("operand_batching_dims"):
        return None
    offsets = numbers.dims("offset_dims")
    if any(n != 1 for d, n in enumerate(shape(op.result)) if d not in offsets):
        return None
    index = np.ravel(elements.to_numpy(starts))
    mapped = numbers.dims("start_index_map")
    low = [0] * len(extents)
    for value, dim in zip(index, mapped, strict=True):
        low[dim] = min(max(int(value), 0), extents[dim] - sizes[dim])
    piece = b.slice(op.operand, low, [s + n for s, n in zip(low, sizes, strict=True)])
    return b.reshape(piece, shape(op.result))


@rewrite(stablehlo.GatherOp, given=[stablehlo.ConcatenateOp])
def gather_of_concatenate(b: OpBuilder, op: stablehlo.GatherOp) -> Rewritten:
    """gather(concatenate(x, y)) = concatenate(gather(x), gather(y)) if all of that dimension is gathered, and only slices are used"""
    inner = made_by(op.operand, stablehlo.ConcatenateOp)
    if inner is None or not all(isinstance(use.operation, stablehlo.SliceOp) for use in op.result.uses):
        return None
    numbers, sizes, dim = op.dimension_numbers, ints(op.slice_sizes), int_of(inner.dimension)
    apart = (*numbers.dims("collapsed_slice_dims"), *numbers.dims("operand_batching_dims"))
    if dim in apart or dim in numbers.dims("start_index_map") or sizes[dim] != shape(op.operand)[dim]:
        return None
    place = sorted(numbers.dims("offset_dims"))[sum(d not in apart for d in range(dim))]
    is_sorted = op.indices_are_sorted is not None and bool(int_of(op.indices_are_sorted))
    parts: list[SSAValue] = []
    for part in inner.inputs:
        extent, result = shape(part)[dim], list(shape(op.result))
        result[place] = extent
        parts.append(b.gather(part, op.start_indices, numbers, [*sizes[:dim], extent, *sizes[dim + 1 :]], result, is_sorted))
    return b.concatenate(parts, place)


@rewrite(stablehlo.GatherOp, given=[core.LuOp])
def diagonal_of_factors(b: OpBuilder, op: stablehlo.GatherOp) -> Rewritten:
    """gather(lu, [iota, iota]) = core.lu_diagonal"""
    made, places, numbers = made_by(op.operand, core.LuOp), made_by(op.start_indices, stablehlo.ConcatenateOp), op.dimension_numbers
    if made is None or op.operand is not made.lu or places is None or len(places.inputs) != 2:
        return None
    *batch, m, n = shape(made.a)
    both, lead = (len(batch), len(batch) + 1), tuple(range(len(batch)))
    if m != n or DYNAMIC in shape(made.a) or int_of(numbers.index_vector_dim) != 1 or not all(_counts(x, n) for x in places.inputs):
        return None
    if (numbers.dims("start_index_map"), numbers.dims("collapsed_slice_dims"), numbers.dims("offset_dims")) != (both, both, lead):
        return None
    if tuple(ints(op.slice_sizes)) != (*batch, 1, 1):
        return None
    return b.one(core.LuDiagonalOp, (made.a, made.lu, made.pivots), op.result.type)


def _counts(places: SSAValue, n: int) -> bool:
    """Whether the elements of a column are 0, 1, ..., n - 1."""
    if shape(places) != (n, 1):
        return False
    while isinstance(places.owner, stablehlo.ReshapeOp | stablehlo.ConvertOp):
        places = places.owner.operand
    return (isinstance(places.owner, stablehlo.IotaOp) and shape(places) == (n,)) or (n == 1 and is_splat_of(places, 0))


@rewrite(stablehlo.CompareOp, given=[stablehlo.IotaOp])
def iota_beside_constant(b: OpBuilder, op: stablehlo.CompareOp) -> Rewritten:
    """compare(iota, c) is known if it is the same for the first and the last position"""
    counted, limit = made_by(op.lhs, stablehlo.IotaOp), splat(op.rhs)
    test = _ORDERS.get(op.comparison_direction.data)
    if counted is None or limit is None or test is None or DYNAMIC in shape(op.lhs) or 0 in shape(op.lhs) or is_complex(element(op.lhs)):
        return None
    last = shape(op.lhs)[int_of(counted.iota_dimension)] - 1
    at_first, at_last = bool(test(0, limit)), bool(test(last, limit))
    return b.full(at_first, tensor(shape(op.result), i1)) if at_first == at_last else None
