"""Laws of slices, pads, concatenations and reversals."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from wengert.dialects import stablehlo
from wengert.dialects.builder import OpBuilder
from wengert.ir.attributes import int_of, ints
from wengert.ir.tensor_types import DYNAMIC, shape, type_of
from wengert.transforms.optimize.matching import made_by, splat
from wengert.transforms.optimize.rewrites import Rewritten, rewrite

Ranges = list[tuple[int, int, int]]
"""Start, limit and stride in every dimension."""


def _ranges(op: stablehlo.SliceOp) -> Ranges:
    return list(zip(ints(op.start_indices), ints(op.limit_indices), ints(op.strides), strict=True))


def _cut(b: OpBuilder, x: SSAValue, ranges: Ranges) -> SSAValue:
    """x cut to these ranges; x itself where they cut nothing."""
    if all((start, limit, stride) == (0, n, 1) for n, (start, limit, stride) in zip(shape(x), ranges, strict=True)):
        return x
    return b.slice(x, *([r[k] for r in ranges] for k in range(3)))


def _is_static(x: SSAValue) -> bool:
    return DYNAMIC not in shape(x)


# -- slices


@rewrite(stablehlo.SliceOp)
def slice_of_everything(b: OpBuilder, op: stablehlo.SliceOp) -> Rewritten:
    """slice(x) = x if it cuts nothing"""
    return op.operand if op.operand.type == op.result.type and _is_static(op.operand) else None


@rewrite(stablehlo.SliceOp, given=[stablehlo.SliceOp])
def slice_of_slice(b: OpBuilder, op: stablehlo.SliceOp) -> Rewritten:
    """slice(slice(x)) = slice(x)"""
    inner = made_by(op.operand, stablehlo.SliceOp)
    if inner is None:
        return None
    ranges: Ranges = []
    for (start, _, stride), (outer_start, _, outer_stride), count in zip(_ranges(inner), _ranges(op), shape(op.result), strict=True):
        low, step = start + outer_start * stride, stride * outer_stride
        ranges.append((low, low + (count - 1) * step + 1 if count else low, step))
    return _cut(b, inner.operand, ranges)


@rewrite(stablehlo.SliceOp, given=[stablehlo.BroadcastInDimOp])
def slice_of_broadcast(b: OpBuilder, op: stablehlo.SliceOp) -> Rewritten:
    """slice(broadcast(x)) = broadcast(slice(x)), cutting only the dimensions that are not repeated"""
    inner = made_by(op.operand, stablehlo.BroadcastInDimOp)
    if inner is None or not _is_static(op.operand):
        return None
    ranges, dims = _ranges(op), ints(inner.broadcast_dimensions)
    kept: Ranges = [(0, 1, 1) if n == 1 else ranges[d] for n, d in zip(shape(inner.operand), dims, strict=True)]
    return b.broadcast_in_dim(_cut(b, inner.operand, kept), dims, shape(op.result))


@rewrite(stablehlo.SliceOp, given=[stablehlo.ConcatenateOp])
def slice_of_concatenate(b: OpBuilder, op: stablehlo.SliceOp) -> Rewritten:
    """slice(concatenate(x, y)) = slice(x) if it takes from x alone"""
    inner = made_by(op.operand, stablehlo.ConcatenateOp)
    if inner is None or 0 in shape(op.result):
        return None
    dim, ranges = int_of(inner.dimension), _ranges(op)
    start, _, stride = ranges[dim]
    last = start + (shape(op.result)[dim] - 1) * stride
    offset = 0
    for part in inner.inputs:
        extent = shape(part)[dim]
        if offset <= start and last < offset + extent:
            ranges[dim] = (start - offset, last - offset + 1, stride)
            return _cut(b, part, ranges)
        offset += extent
    return None


@rewrite(stablehlo.SliceOp, given=[stablehlo.PadOp])
def slice_of_pad(b: OpBuilder, op: stablehlo.SliceOp) -> Rewritten:
    """slice(pad(x, v)) = slice(x) if it takes no padding, and v if it takes nothing else"""
    inner = made_by(op.operand, stablehlo.PadOp)
    if inner is None or any(ints(inner.interior_padding)) or 0 in shape(op.result):
        return None
    ranges: Ranges = []
    within = True
    pads = zip(_ranges(op), ints(inner.edge_padding_low), shape(inner.operand), shape(op.result), strict=True)
    for (start, _, stride), low, extent, count in pads:
        last = start + (count - 1) * stride
        if last < low or start >= low + extent:
            return b.broadcast_in_dim(inner.padding_value, (), shape(op.result))
        within = within and start >= low and last < low + extent
        ranges.append((start - low, last - low + 1, stride))
    return _cut(b, inner.operand, ranges) if within else None


# -- pads


@rewrite(stablehlo.PadOp)
def pad_by_nothing(b: OpBuilder, op: stablehlo.PadOp) -> Rewritten:
    """pad(x) = x if it adds nothing, and a slice of x if it only crops"""
    low, high = ints(op.edge_padding_low), ints(op.edge_padding_high)
    if any(m and n > 1 for m, n in zip(ints(op.interior_padding), shape(op.operand), strict=True)) or any(edge > 0 for edge in (*low, *high)):
        return None
    extents = shape(op.operand)
    if any(-lo - hi > n for lo, hi, n in zip(low, high, extents, strict=True)):
        return None
    return _cut(b, op.operand, [(-lo, n + hi, 1) for lo, hi, n in zip(low, high, extents, strict=True)])


@rewrite(stablehlo.PadOp, given=[stablehlo.PadOp])
def pad_of_pad(b: OpBuilder, op: stablehlo.PadOp) -> Rewritten:
    """pad(pad(x, v), v) = pad(x, v) for edges that add"""
    inner = made_by(op.operand, stablehlo.PadOp)
    if inner is None or inner.padding_value is not op.padding_value or any((*ints(inner.interior_padding), *ints(op.interior_padding))):
        return None
    low, high = (ints(inner.edge_padding_low), ints(op.edge_padding_low)), (ints(inner.edge_padding_high), ints(op.edge_padding_high))
    if any(edge < 0 for edges in (*low, *high) for edge in edges):
        return None
    return b.pad(inner.operand, op.padding_value, [sum(pair) for pair in zip(*low, strict=True)], [sum(pair) for pair in zip(*high, strict=True)])


@rewrite(stablehlo.PadOp)
def pad_equal_elements(b: OpBuilder, op: stablehlo.PadOp) -> Rewritten:
    """pad(v, v) = v for constants, and for any operand without elements"""
    if 0 in shape(op.operand) and _is_static(op.operand):
        return b.broadcast_in_dim(op.padding_value, (), shape(op.result))
    return b.full(splat(op.operand), type_of(op.result)) if _equal_splats((op.operand, op.padding_value)) else None


def _equal_splats(values: Sequence[SSAValue]) -> bool:
    """Whether all are constants filled with the same bits."""
    constants = [splat(v) for v in values]
    return all(f is not None for f in constants) and len({f.tobytes() for f in constants}) == 1


# -- concatenations


@rewrite(stablehlo.ConcatenateOp)
def concatenate_one(b: OpBuilder, op: stablehlo.ConcatenateOp) -> Rewritten:
    """concatenate(x) = x; parts without elements are left out; concatenations within are flattened"""
    dim = int_of(op.dimension)
    parts: list[SSAValue] = []
    for part in op.inputs:
        inner = made_by(part, stablehlo.ConcatenateOp)
        if inner is not None and int_of(inner.dimension) == dim and part.has_one_use():
            parts.extend(inner.inputs)
        elif shape(part)[dim] != 0:
            parts.append(part)
    if len(parts) == len(op.inputs) and len(parts) != 1:
        return None
    return op.inputs[0] if not parts else parts[0] if len(parts) == 1 else b.concatenate(parts, dim)


@rewrite(stablehlo.ConcatenateOp, given=[stablehlo.ConstantOp])
def concatenate_equal_elements(b: OpBuilder, op: stablehlo.ConcatenateOp) -> Rewritten:
    """concatenate(v, v) = v for constants"""
    return b.full(splat(op.inputs[0]), type_of(op.result)) if _equal_splats(op.inputs) else None


@rewrite(stablehlo.ConcatenateOp, given=[stablehlo.SliceOp])
def concatenate_adjacent_slices(b: OpBuilder, op: stablehlo.ConcatenateOp) -> Rewritten:
    """concatenate(x[i:j], x[j:k]) = x[i:k]"""
    dim = int_of(op.dimension)
    parts: list[SSAValue] = [op.inputs[0]]
    for part in op.inputs[1:]:
        joined = _join(b, parts[-1], part, dim)
        if joined is None:
            parts.append(part)
        else:
            parts[-1] = joined
    if len(parts) == len(op.inputs):
        return None
    return parts[0] if len(parts) == 1 else b.concatenate(parts, dim)


def _join(b: OpBuilder, left: SSAValue, right: SSAValue, dim: int) -> SSAValue | None:
    first, second = made_by(left, stablehlo.SliceOp), made_by(right, stablehlo.SliceOp)
    if first is None or second is None or first.operand is not second.operand:
        return None
    ranges, others = _ranges(first), _ranges(second)
    if any(ranges[d] != others[d] for d in range(len(ranges)) if d != dim):
        return None
    if ranges[dim][2] != 1 or others[dim][2] != 1 or ranges[dim][1] != others[dim][0]:
        return None
    ranges[dim] = (ranges[dim][0], others[dim][1], 1)
    return _cut(b, first.operand, ranges)


# -- reversals


@rewrite(stablehlo.ReverseOp)
def reverse_of_reverse(b: OpBuilder, op: stablehlo.ReverseOp) -> Rewritten:
    """reverse(reverse(x)) = x; a dimension of extent 1 has no direction"""
    extents = shape(op.operand)
    dims = {d for d in ints(op.dimensions) if extents[d] not in (0, 1)}
    inner = made_by(op.operand, stablehlo.ReverseOp)
    x = op.operand
    if inner is not None:
        dims ^= {d for d in ints(inner.dimensions) if extents[d] not in (0, 1)}
        x = inner.operand
    elif len(dims) == len(ints(op.dimensions)):
        return None
    return b.reverse(x, sorted(dims)) if dims else x
