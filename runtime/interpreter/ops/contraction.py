"""dot_general and convolution, all as batched matrix products.

Products are summed in the type of the result or of the operands, whichever is wider, and at least in f32: 16-bit floats
are rounded once, at the end. Integers wrap around in the result's width. The order of summation is NumPy's.
"""

from __future__ import annotations

from functools import reduce
from math import prod
from typing import Any

import numpy as np
from xdsl.ir import Attribute, SSAValue

from wengert.dialects import stablehlo
from wengert.dialects.stablehlo.attributes import DotDimensionNumbersAttr
from wengert.ir.attributes import bools, int_of, ints
from wengert.ir.elements import to_numpy
from wengert.ir.tensor_types import dtype_of, element, is_float, rank, shape
from wengert.runtime.errors import UnsupportedOpError
from wengert.runtime.interpreter.numerics.precision import working_dtype
from wengert.runtime.interpreter.ops.shape import padded
from wengert.runtime.interpreter.rules import Array, Binary, Function, evaluates


def _sum_dtype(*element_types: Attribute) -> np.dtype[Any]:
    """The type that products of operands and a result of these element types are summed in."""
    wide = [working_dtype(e) for e in element_types]
    if any(d.kind == "c" for d in wide) or all(d.kind == "f" for d in wide):
        return np.result_type(*wide)
    return wide[-1]


@evaluates(stablehlo.DotGeneralOp)
def dot_general(op: stablehlo.DotGeneralOp) -> Binary:
    """Transposes both operands to (batch, free, contracted) and (batch, contracted, free), and multiplies."""
    numbers = op.dot_dimension_numbers
    assert isinstance(numbers, DotDimensionNumbersAttr)
    lhs = _Side(op.lhs, numbers.dims("lhs_batching_dimensions"), numbers.dims("lhs_contracting_dimensions"), contracted_last=True)
    rhs = _Side(op.rhs, numbers.dims("rhs_batching_dimensions"), numbers.dims("rhs_contracting_dimensions"), contracted_last=False)
    result, dtype = shape(op.result), dtype_of(element(op.result))
    element_types = [element(op.lhs), element(op.rhs), element(op.result)]
    if op.algorithm is not None:
        if not all(map(is_float, element_types)):
            raise UnsupportedOpError(op, f"has an algorithm; these multiply real floating-point numbers, found {element_types[0]} and {element_types[1]}")
        element_types.append(op.algorithm.accumulation_type)
    summed = _sum_dtype(*element_types)
    return lambda x, y: np.matmul(lhs.matrix(x, summed), rhs.matrix(y, summed)).astype(dtype, copy=False).reshape(result)


class _Side:
    """One operand of a contraction as a stack of matrices."""

    def __init__(self, value: SSAValue, batching: tuple[int, ...], contracting: tuple[int, ...], *, contracted_last: bool):
        extents = shape(value)
        free = tuple(d for d in range(rank(value)) if d not in (*batching, *contracting))
        self.order = batching + (free + contracting if contracted_last else contracting + free)
        rows, columns = (free, contracting) if contracted_last else (contracting, free)
        self.extents = tuple(prod(extents[d] for d in group) for group in (batching, rows, columns))

    def matrix(self, x: Any, dtype: np.dtype[Any]) -> Array:
        return x.transpose(self.order).reshape(self.extents).astype(dtype, copy=False)


@evaluates(stablehlo.ConvolutionOp)
def convolution(op: stablehlo.ConvolutionOp) -> Function:
    """Views the dilated and padded input as windows, and contracts each group's windows with its part of the kernel.

    With n spatial dimensions: windows have shape (batch, feature, out..., kernel...); the kernel (out feature, feature
    of one group, kernel...). Groups are numbered along the input's features, or along its batch for batch groups. The zeros between elements of a dilated
    input and, in these dimensions, around them are no summands, as in compiled code: next to an infinite weight they would be NaN.
    """
    n = rank(op.lhs) - 2
    lhs_roles, rhs_roles, out_roles = op.dimension_numbers.roles
    strides, lhs_dilation, rhs_dilation = (ints(a) if a is not None else (1,) * n for a in (op.window_strides, op.lhs_dilation, op.rhs_dilation))
    edges = [(int(low), int(high)) for low, high in to_numpy(op.padding)] if op.padding is not None else [(0, 0)] * n
    padding = ((0, 0, 0), (0, 0, 0), *((low, high, dilation - 1) for (low, high), dilation in zip(edges, lhs_dilation, strict=True)))
    flips = tuple(slice(None, None, -1) if r else slice(None) for r in (bools(op.window_reversal) if op.window_reversal is not None else (False,) * n))
    batch_groups, groups = int_of(op.batch_group_count), int_of(op.feature_group_count) * int_of(op.batch_group_count)
    out_spatial = tuple(shape(op.result)[d] for d in out_roles[2])
    dtype, summed = dtype_of(element(op.result)), _sum_dtype(element(op.lhs), element(op.rhs), element(op.result))
    placed = tuple(int(d) for d in np.argsort((out_roles[0], out_roles[1], *out_roles[2])))
    taps = tuple(shape(op.rhs)[d] for d in rhs_roles[2])
    extents = [shape(op.lhs)[d] for d in lhs_roles[2]]
    is_element = reduce(np.logical_and.outer, map(_elements_along, extents, edges, lhs_dilation), np.array(True))
    is_element = windows(is_element, taps, strides, rhs_dilation, out_spatial)
    phases = _phases(is_element.reshape(prod(out_spatial), prod(taps)))

    def convolve(x: Any, w: Any) -> Array:
        x = padded(x.transpose((lhs_roles[0], lhs_roles[1], *lhs_roles[2])).astype(summed, copy=False), summed.type(0), padding)
        w = w.transpose((rhs_roles[1], rhs_roles[0], *rhs_roles[2])).astype(summed, copy=False)[(slice(None), slice(None), *flips)]
        patches = windows(x, w.shape[2:], strides, rhs_dilation, out_spatial)
        patches = np.moveaxis(patches, 1, 1 + n)  # batch, out..., feature, kernel...
        if batch_groups > 1:
            patches = patches.reshape(groups, patches.shape[0] // groups, *patches.shape[1:])
        else:
            split = patches.reshape(*patches.shape[: 1 + n], groups, patches.shape[1 + n] // groups, *w.shape[2:])
            patches = np.moveaxis(split, 1 + n, 0)
        batch = patches.shape[1]
        matrices = patches.reshape(groups, batch * prod(out_spatial), prod(w.shape[1:]))
        kernels = w.reshape(groups, w.shape[0] // groups, prod(w.shape[1:])).transpose(0, 2, 1)
        if phases is None:
            product = np.matmul(matrices, kernels)
        else:
            product = np.zeros((groups, batch * prod(out_spatial), kernels.shape[-1]), summed)
            for places, taken in phases:
                rows: Array = np.add.outer(np.arange(int(batch)) * prod(out_spatial), places).reshape(-1)
                columns = np.flatnonzero(np.tile(taken, w.shape[1]))
                product[:, rows] = np.matmul(matrices[:, rows[:, None], columns], kernels[:, columns])
        product = product.reshape(groups, batch, *out_spatial, w.shape[0] // groups)
        features_last = np.moveaxis(product, 0, -2).reshape(batch, *out_spatial, w.shape[0])
        return np.moveaxis(features_last, -1, 1).transpose(placed).astype(dtype, copy=False)

    return convolve


def _elements_along(extent: int, edges: tuple[int, int], dilation: int) -> Array:
    """Which positions of a dilated and padded dimension are summed over: its elements, or all if it is not dilated."""
    return padded(np.ones(extent, np.bool_), np.bool_(dilation == 1), ((*edges, dilation - 1),))


def _phases(is_element: Array) -> list[tuple[Array, Array]] | None:
    """Outputs that sum over the same positions of the kernel, and these positions; of ``is_element[output, position]``. None where all sum over all."""
    if is_element.all():
        return None
    kinds, kind_of = np.unique(is_element, axis=0, return_inverse=True)
    return [(np.flatnonzero(kind_of.reshape(-1) == k), kind) for k, kind in enumerate(kinds)]


def windows(x: Array, window: tuple[int, ...], strides: tuple[int, ...], dilations: tuple[int, ...], out: tuple[int, ...]) -> Array:
    """A view of shape (leading..., out..., window...): the windows over the trailing dimensions of x."""
    n = len(window)
    steps = x.strides[x.ndim - n :]
    moves = tuple(s * k for s, k in zip(steps, strides, strict=True)) + tuple(s * d for s, d in zip(steps, dilations, strict=True))
    if 0 in out or 0 in window:
        return np.zeros(x.shape[: x.ndim - n] + out + window, x.dtype)
    return np.lib.stride_tricks.as_strided(x, x.shape[: x.ndim - n] + out + window, x.strides[: x.ndim - n] + moves, writeable=False)
