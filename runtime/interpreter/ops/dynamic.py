"""Ops whose shapes are computed. They run because arrays carry their shapes; ops that read static shapes refuse them."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.dialects import stablehlo
from wengert.ir.attributes import int_of, ints
from wengert.ir.tensor_types import dtype_of, element
from wengert.runtime.errors import UnsupportedOpError
from wengert.runtime.interpreter.ops.shape import iota_array, padded
from wengert.runtime.interpreter.rules import Array, Binary, Function, Unary, evaluates


def _extents(shape: Any) -> tuple[int, ...]:
    return tuple(int(n) for n in shape)


@evaluates(stablehlo.GetDimensionSizeOp)
def get_dimension_size(op: stablehlo.GetDimensionSizeOp) -> Unary:
    """The extent of a dimension."""
    dimension = int_of(op.dimension)
    return lambda x: np.int32(x.shape[dimension])


@evaluates(stablehlo.SetDimensionSizeOp)
def set_dimension_size(op: stablehlo.SetDimensionSizeOp) -> Binary:
    """The first ``size`` elements along a dimension."""
    dimension = int_of(op.dimension)
    return lambda x, size: x[(slice(None),) * dimension + (slice(0, int(size)),)]


@evaluates(stablehlo.DynamicBroadcastInDimOp)
def dynamic_broadcast_in_dim(op: stablehlo.DynamicBroadcastInDimOp) -> Function:
    """broadcast_in_dim to a computed shape."""
    dims = ints(op.broadcast_dimensions)
    order = tuple(int(d) for d in np.argsort(dims))

    def spread(x: Any, shape: Any) -> Array:
        aligned = [1] * len(shape)
        for source, target in enumerate(dims):
            aligned[target] = x.shape[source]
        return np.broadcast_to(x.transpose(order).reshape(aligned), _extents(shape))

    return spread


@evaluates(stablehlo.DynamicIotaOp)
def dynamic_iota(op: stablehlo.DynamicIotaOp) -> Unary:
    """iota of a computed shape."""
    dimension, dtype = int_of(op.iota_dimension), dtype_of(element(op.result))
    return lambda shape: iota_array(_extents(shape), dimension, dtype)


@evaluates(stablehlo.DynamicReshapeOp)
def dynamic_reshape(op: stablehlo.DynamicReshapeOp) -> Binary:
    """reshape to a computed shape."""
    return lambda x, shape: x.reshape(_extents(shape))


@evaluates(stablehlo.DynamicPadOp)
def dynamic_pad(op: stablehlo.DynamicPadOp) -> Function:
    """pad by computed amounts."""

    def pad(x: Any, value: Any, *amounts: Any) -> Array:
        low, high, interior = map(_extents, amounts)
        return padded(x, value, tuple(zip(low, high, interior, strict=True)))

    return pad


@evaluates(stablehlo.RealDynamicSliceOp)
def real_dynamic_slice(op: stablehlo.RealDynamicSliceOp) -> Function:
    """slice with computed bounds."""

    def cut(x: Any, *bounds: Any) -> Array:
        return x[tuple(slice(*part) for part in zip(*map(_extents, bounds), strict=True))]

    return cut


@evaluates(stablehlo.DynamicConvOp, stablehlo.DynamicGatherOp)
def dynamic_window(op: stablehlo.DynamicConvOp | stablehlo.DynamicGatherOp) -> Function:
    """Refused: programs are run in their static form, where padding and slice sizes are attributes."""
    raise UnsupportedOpError(op, "takes its window as an operand and runs in its static form only (refine-shapes)")
