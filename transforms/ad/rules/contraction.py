"""Transposes of dot_general and convolution, which are bilinear: an op of the same kind for each operand."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct
from xdsl.ir import Attribute

from wengert.dialects import stablehlo as hlo
from wengert.dialects.builder import OpBuilder, Value
from wengert.dialects.stablehlo.attributes import ConvDimensionNumbersAttr
from wengert.ir import elements
from wengert.ir.attributes import bool_array, bools, int_array, int_attr, int_of, ints
from wengert.ir.tensor_types import element, shape, tensor, wider
from wengert.transforms.ad.case import Arg, Case
from wengert.transforms.ad.rule import Tangent, transpose


@transpose(hlo.DotGeneralOp)
def dot_general(b: OpBuilder, op: hlo.DotGeneralOp, linear: Sequence[bool], y_bars: Sequence[Value]) -> Sequence[Tangent]:
    # y[b, m, n] = sum_k x[b, m, k] w[b, k, n]:  x_bar[b, m, k] = sum_n y_bar w,  w_bar[b, k, n] = sum_m x y_bar
    return [_dot_transpose(b, op, y_bars[0], side) if linear[side] else None for side in (0, 1)]


def _dot_transpose(b: OpBuilder, op: hlo.DotGeneralOp, y_bar: Value, side: int) -> Value:
    """The cotangent of the operand on one side: y_bar contracted with the other operand over that one's free dimensions."""
    numbers = op.dot_dimension_numbers
    batch = (numbers.dims("lhs_batching_dimensions"), numbers.dims("rhs_batching_dimensions"))
    contracted = (numbers.dims("lhs_contracting_dimensions"), numbers.dims("rhs_contracting_dimensions"))
    operand, other = (op.lhs, op.rhs) if side == 0 else (op.rhs, op.lhs)
    free = [[d for d in range(len(shape(v))) if d not in (*batch[s], *contracted[s])] for s, v in ((0, op.lhs), (1, op.rhs))]
    rank_batch = len(batch[0])
    first_free = {0: rank_batch, 1: rank_batch + len(free[0])}
    y_other = list(range(first_free[1 - side], first_free[1 - side] + len(free[1 - side])))
    product = b.dot_general(y_bar, other, (y_other, free[1 - side]), (tuple(range(rank_batch)), batch[1 - side]), element(operand), op.precision_config)
    # the product's dimensions: batch, the operand's free ones in order, then the other operand's contracted ones in ascending order
    remaining = sorted(contracted[1 - side])
    partner = dict(zip(contracted[1 - side], contracted[side], strict=True))
    at = [*batch[side], *free[side], *(partner[d] for d in remaining)]
    return b.transpose(product, [at.index(d) for d in range(len(at))])


class _Window(Struct, frozen=True):
    """A convolution's attributes as lists of numbers."""

    strides: tuple[int, ...]
    padding: tuple[tuple[int, int], ...]
    lhs_dilation: tuple[int, ...]
    rhs_dilation: tuple[int, ...]
    reversal: tuple[bool, ...]
    feature_groups: int
    batch_groups: int

    @staticmethod
    def of(op: hlo.ConvolutionOp) -> _Window:
        n = len(op.dimension_numbers.roles[0][2])

        def listed(attribute: Attribute | None) -> tuple[int, ...]:
            return (1,) * n if attribute is None else ints(attribute)

        pairs = [(0, 0)] * n if op.padding is None else [tuple(int(v) for v in row) for row in elements.to_numpy(op.padding)]
        reversal = (False,) * n if op.window_reversal is None else bools(op.window_reversal)
        groups = int_of(op.feature_group_count), int_of(op.batch_group_count)
        return _Window(listed(op.window_strides), tuple(pairs), listed(op.lhs_dilation), listed(op.rhs_dilation), reversal, *groups)  # pyright: ignore[reportArgumentType]


def convolve(b: OpBuilder, lhs: Value, rhs: Value, numbers: ConvDimensionNumbersAttr, window: _Window, result: Sequence[int], like: hlo.ConvolutionOp) -> Value:
    """Emits a convolution with these attributes, of elements as wide as both operands', and the precision of another."""
    padding = elements.from_numpy(np.array(window.padding, np.int64).reshape(-1, 2))
    properties: dict[str, Attribute] = {
        "dimension_numbers": numbers,
        "window_strides": int_array(window.strides),
        "padding": padding,
        "lhs_dilation": int_array(window.lhs_dilation),
        "rhs_dilation": int_array(window.rhs_dilation),
        "window_reversal": bool_array(window.reversal),
        "feature_group_count": int_attr(window.feature_groups),
        "batch_group_count": int_attr(window.batch_groups),
    }
    if like.precision_config is not None:
        properties["precision_config"] = like.precision_config
    wide = wider(element(lhs), element(rhs))  # a convolution takes operands of one type, and cotangents have the result's
    return b.one(hlo.ConvolutionOp, (b.convert(lhs, wide), b.convert(rhs, wide)), tensor(result, wide), **properties)


@transpose(hlo.ConvolutionOp)
def convolution(b: OpBuilder, op: hlo.ConvolutionOp, linear: Sequence[bool], y_bars: Sequence[Value]) -> Sequence[Tangent]:
    return [_input_cotangent(b, op, y_bars[0]) if linear[0] else None, _kernel_cotangent(b, op, y_bars[0]) if linear[1] else None]


def _dilated(n: int, dilation: int) -> int:
    return 0 if n == 0 else (n - 1) * dilation + 1


def _extents(op: hlo.ConvolutionOp) -> tuple[list[int], list[int], list[int]]:
    """Spatial extents of input, kernel and output."""
    roles = op.dimension_numbers.roles
    return tuple([shape(v)[d] for d in role[2]] for v, role in zip((op.lhs, op.rhs, op.result), roles, strict=True))  # pyright: ignore[reportReturnType]


def _split(b: OpBuilder, x: Value, source: int, groups: int, target: int) -> Value:
    """Moves the outer factor ``groups`` of one dimension to the front of another."""
    extents = list(shape(x))
    extents[source] //= groups
    grouped = b.reshape(x, [*extents[:source], groups, *extents[source:]])
    # dimension `source` is now the groups; put it right before `target`
    order = [d for d in range(len(extents) + 1) if d != source]
    position = order.index(target if target < source else target + 1)
    order.insert(position, source)
    extents[target] *= groups
    return b.reshape(b.transpose(grouped, order), extents)


def _input_cotangent(b: OpBuilder, op: hlo.ConvolutionOp, y_bar: Value) -> Value:
    """x_bar: y_bar, dilated by the strides, convolved with the reversed kernel, whose feature dimensions are exchanged."""
    window, (lhs, rhs, out) = _Window.of(op), op.dimension_numbers.roles
    source, kernel, result = _extents(op)
    groups = window.feature_groups * window.batch_groups
    weights = op.rhs
    if groups > 1:
        # the groups of output features become groups of input features of the reversed kernel
        weights = _split(b, weights, rhs[1], groups, rhs[0])
    padding: list[tuple[int, int]] = []
    for i in range(len(source)):
        reach = _dilated(kernel[i], window.rhs_dilation[i])
        before = reach - 1 - window.padding[i][0]
        after = _dilated(source[i], window.lhs_dilation[i]) + reach - 1 - _dilated(result[i], window.strides[i]) - before
        padding.append((before, after))
    transposed_window = _Window(window.lhs_dilation, tuple(padding), window.strides, window.rhs_dilation, tuple(not r for r in window.reversal), groups, 1)
    numbers = ConvDimensionNumbersAttr.of(out, (rhs[1], rhs[0], rhs[2]), lhs)
    extents = list(shape(op.lhs))
    extents[lhs[0]] = shape(y_bar)[out[0]]
    extents[lhs[1]] = shape(weights)[rhs[0]]
    x_bar = convolve(b, y_bar, weights, numbers, transposed_window, extents, op)
    if window.batch_groups > 1:
        x_bar = _split(b, x_bar, lhs[1], window.batch_groups, lhs[0])
    return b.convert(x_bar, element(op.lhs))


def _kernel_cotangent(b: OpBuilder, op: hlo.ConvolutionOp, y_bar: Value) -> Value:
    """w_bar: the input convolved with y_bar as kernel, with batch and feature dimensions exchanged, and strides and dilations too."""
    window, (lhs, rhs, out) = _Window.of(op), op.dimension_numbers.roles
    source, kernel, result = _extents(op)
    padding: list[tuple[int, int]] = []
    for i in range(len(source)):
        low = window.padding[i][0]
        high = _dilated(result[i], window.strides[i]) - _dilated(source[i], window.lhs_dilation[i]) + _dilated(kernel[i], window.rhs_dilation[i]) - low - 1
        padding.append((low, high))
    n = len(source)
    transposed_window = _Window(
        window.rhs_dilation, tuple(padding), window.lhs_dilation, window.strides, (False,) * n, window.batch_groups, window.feature_groups
    )
    numbers = ConvDimensionNumbersAttr.of((lhs[1], lhs[0], lhs[2]), (out[0], out[1], out[2]), (rhs[0], rhs[1], rhs[2]))
    w_bar = convolve(b, op.lhs, y_bar, numbers, transposed_window, shape(op.rhs), op)
    flipped = [d for d, r in zip(rhs[2], window.reversal, strict=True) if r]
    return b.convert(b.reverse(w_bar, flipped) if flipped else w_bar, element(op.rhs))


def _conv(
    strides: tuple[int, ...],
    padding: tuple[tuple[int, int], ...],
    lhs_dilation: tuple[int, ...],
    rhs_dilation: tuple[int, ...],
    result: tuple[int, ...],
    reversal: tuple[bool, ...] = (False, False),
    feature_groups: int = 1,
    batch_groups: int = 1,
):
    """Builds a convolution in NCHW with OIHW kernels, for the cases."""
    spatial = tuple(range(2, 2 + len(strides)))

    def build(b: OpBuilder, x: Value, w: Value) -> Value:
        properties: dict[str, Attribute] = {
            "dimension_numbers": ConvDimensionNumbersAttr.of((0, 1, spatial), (1, 0, spatial), (0, 1, spatial)),
            "window_strides": int_array(strides),
            "padding": elements.from_numpy(np.array(padding, np.int64).reshape(-1, 2)),
            "lhs_dilation": int_array(lhs_dilation),
            "rhs_dilation": int_array(rhs_dilation),
            "window_reversal": bool_array(reversal),
            "feature_group_count": int_attr(feature_groups),
            "batch_group_count": int_attr(batch_groups),
        }
        return b.one(hlo.ConvolutionOp, (x, w), tensor(result, element(x)), **properties)

    return build


CASES = [
    Case("matmul", lambda b, x, y: b.dot_general(x, y, ([1], [0])), (Arg((2, 3)), Arg((3, 4)))),
    Case("dot of a value with itself", lambda b, x: b.dot_general(x, x, ([0], [0])), (Arg((3,)),)),
    Case("batched dot", lambda b, x, y: b.dot_general(x, y, ([3], [1]), ([0, 2], [3, 0])), (Arg((2, 3, 4, 5)), Arg((4, 5, 6, 2)))),
    Case("two contracted", lambda b, x, y: b.dot_general(x, y, ([2, 0], [1, 2])), (Arg((2, 3, 4)), Arg((5, 4, 2)))),
    Case("outer product", lambda b, x, y: b.dot_general(x, y, ([], [])), (Arg((2,)), Arg((3,)))),
    Case("complex matmul", lambda b, x, y: b.dot_general(x, y, ([1], [0])), (Arg((2, 3), complex=True), Arg((3, 2), complex=True))),
    Case("convolution", _conv((1, 1), ((1, 1), (1, 1)), (1, 1), (1, 1), (2, 4, 5, 6)), (Arg((2, 3, 5, 6)), Arg((4, 3, 3, 3)))),
    Case("strided convolution", _conv((2, 3), ((1, 0), (0, 2)), (1, 1), (1, 1), (1, 2, 3, 3)), (Arg((1, 2, 6, 7)), Arg((2, 2, 3, 2)))),
    Case("dilated convolution", _conv((1, 2), ((2, 1), (0, 1)), (2, 1), (1, 2), (1, 2, 8, 2)), (Arg((1, 2, 4, 6)), Arg((2, 2, 3, 3)))),
    Case("reversed convolution", _conv((1, 1), ((0, 0), (1, 0)), (1, 1), (1, 1), (1, 2, 3, 5), (True, False)), (Arg((1, 2, 5, 6)), Arg((2, 2, 3, 3)))),
    Case("feature groups", _conv((1, 1), ((1, 1), (0, 0)), (1, 1), (1, 1), (2, 4, 4, 3), feature_groups=2), (Arg((2, 6, 4, 4)), Arg((4, 3, 3, 2)))),
    Case("batch groups", _conv((1, 1), ((1, 1), (0, 0)), (1, 1), (1, 1), (2, 4, 4, 3), batch_groups=2), (Arg((4, 3, 4, 4)), Arg((4, 3, 3, 2)))),
    Case("negative padding", _conv((1, 1), ((-1, 1), (0, -2)), (1, 1), (1, 1), (1, 1, 4, 2)), (Arg((1, 1, 6, 6)), Arg((1, 1, 3, 3)))),
    Case("1-D convolution", _conv((2,), ((1, 1),), (1,), (1,), (2, 3, 4), (False,)), (Arg((2, 2, 7)), Arg((3, 2, 3)))),
]
