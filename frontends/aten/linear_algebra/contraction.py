"""Products of matrices and vectors, and convolution."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.ir import Attribute

from wengert.dialects import stablehlo as hlo
from wengert.dialects.builder import Value
from wengert.dialects.stablehlo import attributes as sa
from wengert.frontends.aten.builder import AtenBuilder
from wengert.frontends.aten.meanings import Number, means
from wengert.frontends.aten.result_types.matrices import grouped
from wengert.frontends.aten.result_types.matrices import trilinear as trilinear_product
from wengert.frontends.aten.result_types.rules import convolved, multiplied
from wengert.ir import elements
from wengert.ir.attributes import bool_array, int_array, int_attr
from wengert.ir.tensor_types import i64, shape, tensor


@means("mm.default(self, mat2)", "mv.default(self, vec)", "dot.default(self, tensor)", results=multiplied)
def mm(b: AtenBuilder, x: Value, y: Value) -> Value:
    """The last dimension of x with the first of y."""
    return b.dot_general(x, y, ((len(shape(x)) - 1,), (0,)))


@means("bmm.default(self, mat2)", results=multiplied)
def bmm(b: AtenBuilder, x: Value, y: Value) -> Value:
    """Matrix by matrix."""
    return b.dot_general(x, y, ((2,), (1,)), ((0,), (0,)))


def _accumulated(b: AtenBuilder, start: Value, product: Value, beta: Number, alpha: Number) -> Value:
    scaled = product if alpha == 1 else b.multiply(product, b.full_like(product, alpha))
    if beta == 0:
        return scaled
    first = b.fitted(start)
    return b.add(first if beta == 1 else b.multiply(first, b.full_like(first, beta)), scaled)


@means("addmm.default(self, mat1, mat2, *, beta=1, alpha=1)", "addmv.default(self, mat, vec, *, beta=1, alpha=1)", results=multiplied)
def addmm(b: AtenBuilder, start: Value, x: Value, y: Value, beta: Number = 1, alpha: Number = 1) -> Value:
    """beta start + alpha x y."""
    return _accumulated(b, start, mm(b, x, y), beta, alpha)


@means("baddbmm.default(self, batch1, batch2, *, beta=1, alpha=1)", results=multiplied)
def baddbmm(b: AtenBuilder, start: Value, x: Value, y: Value, beta: Number = 1, alpha: Number = 1) -> Value:
    """The same for batches."""
    return _accumulated(b, start, bmm(b, x, y), beta, alpha)


@means("addbmm.default(self, batch1, batch2, *, beta=1, alpha=1)", results=multiplied)
def addbmm(b: AtenBuilder, start: Value, x: Value, y: Value, beta: Number = 1, alpha: Number = 1) -> Value:
    """beta start + alpha times the sum of the products of batches."""
    return _accumulated(b, start, b.dot_general(x, y, ((0, 2), (0, 1)), ((), ())), beta, alpha)


@means("_grouped_mm.default(self, mat2, offs=None, bias=None, out_dtype=None)", results=grouped)
def grouped_mm(b: AtenBuilder, x: Value, y: Value, ends: Value | None, bias: Value | None, out_dtype: Any = None) -> Value:
    """Each row of x: [t, k] with the matrix of its group, of y: [g, k, n]; the rows of group i end before ends[i]. Rows after the last group are zero.

    One product over groups and k, in which a row is zero for all groups but its own.
    """
    if bias is not None or ends is None or len(shape(x)) != 2 or len(shape(y)) != 3:
        raise b.refuse("_grouped_mm has a translation for rows in groups, without a bias", "write a product for each group")
    groups, (rows, inner) = shape(y)[0], shape(x)
    places = tensor((groups, rows), i64)
    ends = b.convert(ends, i64)
    starts = b.concatenate([b.zeros(tensor((1,), i64)), b.slice(ends, [0], [groups - 1])], 0)
    row = b.iota(1, places)
    own = b.and_(b.compare("GE", row, b.broadcast_in_dim(starts, [0], (groups, rows))), b.compare("LT", row, b.broadcast_in_dim(ends, [0], (groups, rows))))
    wide = b.broadcast_in_dim(x, [1, 2], (groups, rows, inner))
    parts = b.select(b.broadcast_in_dim(own, [0, 1], (groups, rows, inner)), wide, b.full_like(wide, 0))
    return b.convert(b.dot_general(parts, y, ((0, 2), (0, 1))), b.element_type)


@means("_trilinear.default(i1, i2, i3, expand1, expand2, expand3, sumdim, unroll_dim=1)", results=trilinear_product)
def trilinear(
    b: AtenBuilder,
    x: Value,
    y: Value,
    z: Value,
    expand_x: Sequence[int],
    expand_y: Sequence[int],
    expand_z: Sequence[int],
    summed: Sequence[int],
    unrolled: int = 1,
) -> Value:
    """x y z, each with new dimensions where it is named to have them, summed over some: ``nn.Bilinear``."""
    rank = len(shape(x)) + len(expand_x)
    wide: list[Value] = []
    for value, new in ((x, expand_x), (y, expand_y), (z, expand_z)):
        extents, places = iter(shape(value)), {d % rank for d in new}
        wide.append(b.reshape(value, [1 if d in places else next(extents) for d in range(rank)]))
    full = np.broadcast_shapes(*map(shape, wide))
    product = b.multiply(b.multiply(*(b.expanded(v, full) for v in wide[:2])), b.expanded(wide[2], full))
    return b.reduce_sum(product, sorted(d % rank for d in summed))


@means("convolution.default(input, weight, bias, stride, padding, dilation, transposed, output_padding, groups)", results=convolved)
def convolution(
    b: AtenBuilder,
    x: Value,
    weight: Value,
    bias: Value | None,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    transposed: bool,
    output_padding: Sequence[int],
    groups: int,
) -> Value:
    """Convolution of x: [n, c, ...] with weight: [o, c / groups, ...]; transposed, with weight: [c, o / groups, ...]."""
    n = len(shape(x)) - 2
    kernel = shape(weight)[2:]
    stride, padding, dilation = (list(v) * (n if len(v) == 1 else 1) for v in (stride, padding, dilation))
    if transposed:
        # The transpose of a convolution: the input is spread out by the stride, and the kernel is turned around.
        weight = b.reverse(_regrouped(b, weight, groups), range(2, n + 2))
        reach = [dilation[d] * (kernel[d] - 1) for d in range(n)]
        extra = list(output_padding) * (n if len(output_padding) == 1 else 1)
        window = [1] * n, [(reach[d] - padding[d], reach[d] - padding[d] + extra[d]) for d in range(n)], stride
    else:
        window = stride, [(p, p) for p in padding], [1] * n
    spatial = tuple(range(2, n + 2))
    properties: dict[str, Attribute] = {
        "dimension_numbers": sa.ConvDimensionNumbersAttr.of((0, 1, spatial), (1, 0, spatial), (0, 1, spatial)),
        "window_strides": int_array(window[0]),
        "padding": elements.from_numpy(np.array(window[1], np.int64).reshape(-1, 2)),
        "lhs_dilation": int_array(window[2]),
        "rhs_dilation": int_array(dilation),
        "window_reversal": bool_array([False] * n),
        "feature_group_count": int_attr(groups),
        "batch_group_count": int_attr(1),
    }
    product = b.one(hlo.ConvolutionOp, (x, weight), tensor(b.extents, b.element_type), **properties)
    return product if bias is None else b.add(product, b.broadcast_in_dim(bias, (1,), b.extents))


def _regrouped(b: AtenBuilder, weight: Value, groups: int) -> Value:
    """[groups c, o, ...] as [groups o, c, ...]."""
    inputs, outputs, *kernel = shape(weight)
    split = b.reshape(weight, [groups, inputs // groups, outputs, *kernel])
    turned = b.transpose(split, [0, 2, 1, *range(3, 3 + len(kernel))])
    return b.reshape(turned, [groups * outputs, inputs // groups, *kernel])
