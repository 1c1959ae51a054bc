"""Laws of transposes, reshapes and broadcasts.

Of two ops that move nothing the reshape is kept: it costs nothing anywhere.
"""

from __future__ import annotations

from typing import Any, cast

from xdsl.ir import Operation, SSAValue

from wengert.dialects import chlo, core, stablehlo
from wengert.dialects.builder import OpBuilder
from wengert.dialects.facts import facts_of
from wengert.ir.attributes import int_of, ints
from wengert.ir.tensor_types import DYNAMIC, element, shape, tensor, type_of
from wengert.transforms.optimize.matching import made_by, splat, unit_insertion
from wengert.transforms.optimize.rewrites import Rewritten, rewrite

_UNCHANGED = (stablehlo.BroadcastInDimOp, stablehlo.ReshapeOp, stablehlo.TransposeOp, stablehlo.SliceOp, stablehlo.ReverseOp, stablehlo.DynamicSliceOp)
_POINTWISE = tuple(op for dialect in (stablehlo.StableHLO, chlo.Chlo, core.Core) for op in dialect.operations if facts_of(op).is_pointwise)


def _is_static(*values: SSAValue) -> bool:
    return all(DYNAMIC not in shape(v) for v in values)


@rewrite(*_UNCHANGED, given=[stablehlo.ConstantOp])
def move_equal_elements(b: OpBuilder, op: Any) -> Rewritten:
    """Moving the elements of a constant that are all equal gives the constant of the new shape"""
    value = splat(op.operands[0])
    return b.full(value, type_of(op.result)) if value is not None and _is_static(op.result) else None


# -- transposes


@rewrite(stablehlo.TransposeOp)
def transpose_moves_nothing(b: OpBuilder, op: stablehlo.TransposeOp) -> Rewritten:
    """transpose(x) = reshape(x) if only dimensions of extent 1 change places (x if none does)"""
    permutation, extents = ints(op.permutation), shape(op.operand)
    moved = [p for p in permutation if extents[p] != 1]
    if moved != sorted(moved) or not _is_static(op.operand):
        return None
    return b.reshape(op.operand, shape(op.result))


@rewrite(stablehlo.TransposeOp, given=[stablehlo.TransposeOp])
def transpose_of_transpose(b: OpBuilder, op: stablehlo.TransposeOp) -> Rewritten:
    """transpose(transpose(x, p), q) = transpose(x, p[q])"""
    inner = made_by(op.operand, stablehlo.TransposeOp)
    if inner is None:
        return None
    first = ints(inner.permutation)
    return b.transpose(inner.operand, [first[q] for q in ints(op.permutation)])


@rewrite(stablehlo.TransposeOp, given=[stablehlo.BroadcastInDimOp])
def transpose_of_broadcast(b: OpBuilder, op: stablehlo.TransposeOp) -> Rewritten:
    """transpose(broadcast(x)) = broadcast(x), where x's dimensions keep their order"""
    inner = made_by(op.operand, stablehlo.BroadcastInDimOp)
    if inner is None or not _is_static(op.operand):
        return None
    permutation = ints(op.permutation)
    dims = [permutation.index(d) for d in ints(inner.broadcast_dimensions)]
    return b.broadcast_in_dim(inner.operand, dims, shape(op.result)) if dims == sorted(dims) else None


# -- reshapes


@rewrite(stablehlo.ReshapeOp)
def reshape_of_reshape(b: OpBuilder, op: stablehlo.ReshapeOp) -> Rewritten:
    """reshape(reshape(x)) = reshape(x); reshape(x) = x where the shape stays"""
    inner = made_by(op.operand, stablehlo.ReshapeOp)
    if inner is not None:
        return b.reshape(inner.operand, shape(op.result))
    return op.operand if op.operand.type == op.result.type else None


@rewrite(stablehlo.ReshapeOp, given=[stablehlo.BroadcastInDimOp])
def reshape_of_broadcast(b: OpBuilder, op: stablehlo.ReshapeOp) -> Rewritten:
    """reshape(broadcast(x)) = broadcast(x) where the reshape puts in or takes out new dimensions of extent 1"""
    inner = made_by(op.operand, stablehlo.BroadcastInDimOp)
    if inner is None or not _is_static(op.operand):
        return None
    dims, before, after = ints(inner.broadcast_dimensions), shape(op.operand), shape(op.result)
    places = unit_insertion(before, after)
    if places is not None:
        return b.broadcast_in_dim(inner.operand, [places[d] for d in dims], after)
    places = unit_insertion(after, before)
    if places is None or not set(dims) <= set(places):
        return None
    return b.broadcast_in_dim(inner.operand, [places.index(d) for d in dims], after)


# -- broadcasts


@rewrite(stablehlo.BroadcastInDimOp)
def broadcast_repeats_nothing(b: OpBuilder, op: stablehlo.BroadcastInDimOp) -> Rewritten:
    """broadcast(x) = reshape(x) if it only puts in dimensions of extent 1 (x if it puts in none)"""
    dims, extents, result = ints(op.broadcast_dimensions), shape(op.operand), shape(op.result)
    if list(dims) != sorted(dims) or not _is_static(op.operand, op.result):
        return None
    if any(n != 1 for d, n in enumerate(result) if d not in dims) or any(result[d] != n for d, n in zip(dims, extents, strict=True)):
        return None
    return b.reshape(op.operand, result)


@rewrite(stablehlo.BroadcastInDimOp, given=[stablehlo.BroadcastInDimOp])
def broadcast_of_broadcast(b: OpBuilder, op: stablehlo.BroadcastInDimOp) -> Rewritten:
    """broadcast(broadcast(x, d), e) = broadcast(x, e[d])"""
    inner = made_by(op.operand, stablehlo.BroadcastInDimOp)
    if inner is None or not _is_static(op.result):
        return None
    outer = ints(op.broadcast_dimensions)
    return b.broadcast_in_dim(inner.operand, [outer[d] for d in ints(inner.broadcast_dimensions)], shape(op.result))


@rewrite(stablehlo.BroadcastInDimOp, given=[stablehlo.ReshapeOp])
def broadcast_of_reshape(b: OpBuilder, op: stablehlo.BroadcastInDimOp) -> Rewritten:
    """broadcast(reshape(x)) = broadcast(x) where the reshape only puts in dimensions of extent 1"""
    inner = made_by(op.operand, stablehlo.ReshapeOp)
    if inner is None or not _is_static(op.result, inner.operand):
        return None
    places = unit_insertion(shape(inner.operand), shape(op.operand))
    if places is None:
        return None
    dims = ints(op.broadcast_dimensions)
    return b.broadcast_in_dim(inner.operand, [dims[p] for p in places], shape(op.result))


@rewrite(*_POINTWISE, given=[stablehlo.BroadcastInDimOp])
def compute_before_broadcast(b: OpBuilder, op: Any) -> Rewritten:
    """f(broadcast(x), broadcast(y)) = broadcast(f(x, y)), constants counting as broadcasts of anything"""
    spread = [made_by(o, stablehlo.BroadcastInDimOp) for o in op.operands]
    first = next((s for s in spread if s is not None), None)
    if first is None or not _is_static(op.operands[0], first.operand):
        return None
    dims, small = ints(first.broadcast_dimensions), shape(first.operand)
    operands: list[SSAValue] = []
    for operand, made in zip(op.operands, spread, strict=True):
        value = splat(operand)
        if made is not None and ints(made.broadcast_dimensions) == dims and shape(made.operand) == small:
            operands.append(made.operand)
        elif value is not None:
            operands.append(b.full(value, tensor(small, element(operand))))
        else:
            return None
    result = b.one(cast("type[Operation]", type(op)), operands, tensor(small, element(op.result)), **op.properties)
    return b.broadcast_in_dim(result, dims, shape(op.result))


# -- iota


@rewrite(stablehlo.IotaOp)
def iota_of_one_element(b: OpBuilder, op: stablehlo.IotaOp) -> Rewritten:
    """iota along a dimension of extent 1 = 0"""
    return b.zeros(type_of(op.output)) if shape(op.output)[int_of(op.iota_dimension)] == 1 and _is_static(op.output) else None
