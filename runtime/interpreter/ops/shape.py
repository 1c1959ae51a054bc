"""Ops that make tensors or move elements: constants, iota, broadcasts, reshapes, slices, padding."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.dialects import chlo, stablehlo
from wengert.ir.attributes import int_of, ints
from wengert.ir.elements import to_numpy
from wengert.ir.tensor_types import dtype_of, element, shape
from wengert.runtime.interpreter.rules import Array, Binary, Function, Nullary, Unary, Variadic, evaluates

SMALL = 1 << 14
"""Broadcasts up to so many elements are written out: for them NumPy's views cost more than the elements."""


@evaluates(stablehlo.ConstantOp, chlo.ConstantOp)
def constant(op: stablehlo.ConstantOp) -> Nullary:
    """The same array every time; rank 0 as a NumPy scalar."""
    value = to_numpy(op.value)[()]
    return lambda: value


@evaluates(stablehlo.IotaOp)
def iota(op: stablehlo.IotaOp) -> Nullary:
    """0, 1, 2, ... along one dimension."""
    value = iota_array(shape(op.output), int_of(op.iota_dimension), dtype_of(element(op.output)))
    return lambda: value


def iota_array(result: tuple[int, ...], dimension: int, dtype: np.dtype[Any]) -> Array:
    """An array whose elements are their own index along the dimension."""
    column = np.arange(result[dimension]).astype(dtype).reshape([-1 if d == dimension else 1 for d in range(len(result))])
    return np.broadcast_to(column, result)


@evaluates(stablehlo.BroadcastInDimOp)
def broadcast_in_dim(op: stablehlo.BroadcastInDimOp) -> Function:
    """Dimension i of the operand becomes dimension dims[i] of the result, repeating extents of 1."""
    return broadcast_function(shape(op.operand), ints(op.broadcast_dimensions), shape(op.result), dtype_of(element(op.result)))


def broadcast_function(operand: tuple[int, ...], dims: tuple[int, ...], result: tuple[int, ...], dtype: np.dtype[Any]) -> Function:
    """The broadcast between two shapes."""
    order = sorted(range(len(dims)), key=dims.__getitem__)
    aligned = [1] * len(result)
    for source, target in enumerate(dims):
        aligned[target] = operand[source]

    def spread(x: Any) -> Any:
        if order != list(range(len(dims))):
            x = x.transpose(order)
        x = x.reshape(aligned)
        if np.prod(result) > SMALL:
            return np.broadcast_to(x, result)
        copy = np.empty(result, dtype)
        copy[...] = x
        return copy

    return spread


@evaluates(stablehlo.ReshapeOp)
def reshape(op: stablehlo.ReshapeOp) -> Unary:
    """The same elements in row-major order."""
    result = shape(op.result)
    return lambda x: x.reshape(result)


@evaluates(stablehlo.TransposeOp)
def transpose(op: stablehlo.TransposeOp) -> Unary:
    """Dimension i of the result is dimension permutation[i] of the operand."""
    permutation = ints(op.permutation)
    return lambda x: x.transpose(permutation)


@evaluates(stablehlo.SliceOp)
def slice_(op: stablehlo.SliceOp) -> Unary:
    """Elements start, start + stride, ... below limit."""
    index = tuple(slice(*bounds) for bounds in zip(ints(op.start_indices), ints(op.limit_indices), ints(op.strides), strict=True))
    return lambda x: x[index]


@evaluates(stablehlo.ReverseOp)
def reverse(op: stablehlo.ReverseOp) -> Unary:
    """The elements in reverse order along some dimensions."""
    reversed_ = set(ints(op.dimensions))
    index = tuple(slice(None, None, -1) if d in reversed_ else slice(None) for d in range(len(shape(op.operand))))
    return lambda x: x[index]


@evaluates(stablehlo.ConcatenateOp)
def concatenate(op: stablehlo.ConcatenateOp) -> Variadic:
    """The operands one after the other."""
    axis = int_of(op.dimension)
    return lambda *parts: np.concatenate(parts, axis)


@evaluates(stablehlo.PadOp)
def pad(op: stablehlo.PadOp) -> Binary:
    """The operand amid copies of the padding value."""
    amounts = tuple(zip(ints(op.edge_padding_low), ints(op.edge_padding_high), ints(op.interior_padding), strict=True))
    return lambda x, value: padded(x, value, amounts)


def padded(x: Any, value: Any, amounts: tuple[tuple[int, int, int], ...]) -> Array:
    """x with (low, high, interior) padding per dimension; negative edges crop what is there, padding included."""
    extents = [max(0, low + n + max(n - 1, 0) * interior + high) for n, (low, high, interior) in zip(x.shape, amounts, strict=True)]
    result = np.full(extents, value, x.dtype)
    source: list[slice] = []
    target: list[slice] = []
    for n, extent, (low, _, interior) in zip(x.shape, extents, amounts, strict=True):
        step = interior + 1
        first = max(0, -(low // step))  # the first element that is not cropped: low + first * step >= 0
        last = min(n, -((low - extent) // step))  # one behind the last: low + last * step >= extent
        last = max(first, last)
        source.append(slice(first, last))
        target.append(slice(low + first * step, low + first * step + (last - first) * step, step))
    if all(s.stop > s.start for s in source):
        result[tuple(target)] = x[tuple(source)]
    return result
