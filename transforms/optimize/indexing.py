"""Laws of reading and writing at positions that turn out to be known."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.ir import SSAValue

from wengert.dialects import stablehlo
from wengert.dialects.builder import OpBuilder
from wengert.ir import elements
from wengert.ir.attributes import int_of, ints
from wengert.ir.tensor_types import DYNAMIC, shape
from wengert.transforms.optimize.matching import constant_of, made_by, splat
from wengert.transforms.optimize.rewrites import Rewritten, rewrite


def _known_starts(starts: Sequence[SSAValue], extents: Sequence[int], sizes: Sequence[int]) -> list[int] | None:
    """Constant starts of a slice, clamped so that it fits; None if one is not constant."""
    found = [splat(s) for s in starts]
    if any(f is None for f in found):
        return None
    return [min(max(int(f), 0), n - size) for f, n, size in zip(found, extents, sizes, strict=True)]


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
