"""Adjoints of dot_general and convolution, by solving the index equation of the op for the operand's index."""

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
from wengert.ir.tensor_types import element, rank, shape, tensor, wider
from wengert.transforms.ad.direct.adjoint import Bars, adjoint

# -- dot_general


@adjoint(hlo.DotGeneralOp)
def dot_general(b: OpBuilder, op: hlo.DotGeneralOp, y_bars: Sequence[Value], needed: Sequence[bool]) -> Bars:
    # y[g, m, n] = sum_k x[g, m, k] w[g, k, n]: sum over the dimensions that x lacks, x_bar[g, m, k] = sum_n y_bar[g, m, n] w[g, k, n]
    numbers = op.dot_dimension_numbers
    batch = [numbers.dims("lhs_batching_dimensions"), numbers.dims("rhs_batching_dimensions")]
    summed = [numbers.dims("lhs_contracting_dimensions"), numbers.dims("rhs_contracting_dimensions")]
    free = [[d for d in range(rank(v)) if d not in batch[s] and d not in summed[s]] for s, v in enumerate((op.lhs, op.rhs))]
    start = [len(batch[0]), len(batch[0]) + len(free[0])]
    bars: list[Value | None] = []
    for side, flag in enumerate(needed):
        if not flag:
            bars.append(None)
            continue
        operand, other = op.operands[side], op.operands[1 - side]
        dims = range(start[1 - side], start[1 - side] + len(free[1 - side]))
        product = b.dot_general(y_bars[0], other, (list(dims), free[1 - side]), (range(len(batch[0])), batch[1 - side]), element(operand), op.precision_config)
        # the dimensions of the product: batch, free dimensions of the operand, contracted dimensions of the other operand
        position = {d: i for i, d in enumerate((*batch[side], *free[side]))}
        trailing = sorted(summed[1 - side])
        position.update({d: len(position) + trailing.index(e) for d, e in zip(summed[side], summed[1 - side], strict=True)} if trailing else {})
        bars.append(b.transpose(product, [position[d] for d in range(rank(operand))]))
    return bars


# -- convolution


class Window(Struct, frozen=True):
    """One spatial dimension of a convolution: the window of extent ``kernel`` at output position p covers the
    padded, dilated input at ``p stride + q rhs_dilation``, q = 0, 1, ..."""

    stride: int
    low: int
    lhs_dilation: int
    rhs_dilation: int
    reversed: bool
    source: int
    kernel: int
    result: int

    @property
    def high(self) -> int:
        """The high padding that follows from the result's extent."""
        return (self.result - 1) * self.stride + reach(self.kernel, self.rhs_dilation) - self.low - reach(self.source, self.lhs_dilation)


def reach(extent: int, dilation: int) -> int:
    """The extent of elements at distances of ``dilation``."""
    return 0 if extent == 0 else (extent - 1) * dilation + 1


def _windows(op: hlo.ConvolutionOp) -> list[Window]:
    lhs, rhs, out = (role[2] for role in op.dimension_numbers.roles)
    n = len(lhs)

    def listed(attribute: Attribute | None) -> Sequence[int]:
        return [1] * n if attribute is None else ints(attribute)

    lows = [0] * n if op.padding is None else [int(row[0]) for row in elements.to_numpy(op.padding)]
    flips = [False] * n if op.window_reversal is None else bools(op.window_reversal)
    columns = (listed(op.window_strides), lows, listed(op.lhs_dilation), listed(op.rhs_dilation), flips)
    extents = ([shape(v)[d] for d in dims] for v, dims in ((op.lhs, lhs), (op.rhs, rhs), (op.result, out)))
    return [Window(*row) for row in zip(*columns, *extents, strict=True)]


def _convolve(
    b: OpBuilder,
    x: Value,
    kernel: Value,
    numbers: ConvDimensionNumbersAttr,
    windows: Sequence[Window],
    result: Sequence[int],
    groups: tuple[int, int],
    like: hlo.ConvolutionOp,
) -> Value:
    properties: dict[str, Attribute] = {
        "dimension_numbers": numbers,
        "window_strides": int_array([w.stride for w in windows]),
        "padding": elements.from_numpy(np.array([(w.low, w.high) for w in windows], np.int64).reshape(-1, 2)),
        "lhs_dilation": int_array([w.lhs_dilation for w in windows]),
        "rhs_dilation": int_array([w.rhs_dilation for w in windows]),
        "window_reversal": bool_array([w.reversed for w in windows]),
        "feature_group_count": int_attr(groups[0]),
        "batch_group_count": int_attr(groups[1]),
    }
    if like.precision_config is not None:
        properties["precision_config"] = like.precision_config
    wide = wider(element(x), element(kernel))  # a convolution takes operands of one type, and cotangents have the result's
    return b.one(hlo.ConvolutionOp, (b.convert(x, wide), b.convert(kernel, wide)), tensor(result, wide), **properties)


@adjoint(hlo.ConvolutionOp)
def convolution(b: OpBuilder, op: hlo.ConvolutionOp, y_bars: Sequence[Value], needed: Sequence[bool]) -> Bars:
    return [_input_bar(b, op, y_bars[0]) if needed[0] else None, _kernel_bar(b, op, y_bars[0]) if needed[1] else None]


def _input_bar(b: OpBuilder, op: hlo.ConvolutionOp, y_bar: Value) -> Value:
    """Position j of the input is read at p and q with ``j lhs_dilation = p stride + q rhs_dilation - low``. Solved for p: a
    convolution of y_bar, dilated by the stride, with the reversed kernel, at a stride of lhs_dilation."""
    lhs, rhs, out = op.dimension_numbers.roles
    features, batches = int_of(op.feature_group_count), int_of(op.batch_group_count)
    groups = features * batches
    reversed_windows = [
        Window(w.lhs_dilation, reach(w.kernel, w.rhs_dilation) - 1 - w.low, w.stride, w.rhs_dilation, not w.reversed, w.result, w.kernel, w.source)
        for w in _windows(op)
    ]
    # output features (group, o) are summed within their group; input features come out as (group, i)
    kernel = _move_outer(b, op.rhs, rhs[1], groups, rhs[0])
    extents = list(shape(op.lhs))
    extents[lhs[0]], extents[lhs[1]] = shape(y_bar)[out[0]], shape(kernel)[rhs[0]]
    numbers = ConvDimensionNumbersAttr.of(out, (rhs[1], rhs[0], rhs[2]), lhs)
    x_bar = _convolve(b, y_bar, kernel, numbers, reversed_windows, extents, (groups, 1), op)
    return b.convert(_move_outer(b, x_bar, lhs[1], batches, lhs[0]), element(op.lhs))


def _kernel_bar(b: OpBuilder, op: hlo.ConvolutionOp, y_bar: Value) -> Value:
    """The same equation solved for q: a convolution of the input with y_bar, dilated by the stride, as kernel, at a stride of
    rhs_dilation. It sums over the batch, so batch and feature dimensions are exchanged, and so are their groups."""
    lhs, rhs, out = op.dimension_numbers.roles
    windows = _windows(op)
    kernel_windows = [Window(w.rhs_dilation, w.low, w.lhs_dilation, w.stride, False, w.source, w.result, w.kernel) for w in windows]
    numbers = ConvDimensionNumbersAttr.of((lhs[1], lhs[0], lhs[2]), out, rhs)
    groups = int_of(op.batch_group_count), int_of(op.feature_group_count)
    w_bar = _convolve(b, op.lhs, y_bar, numbers, kernel_windows, shape(op.rhs), groups, op)
    flipped = [d for d, w in zip(rhs[2], windows, strict=True) if w.reversed]
    return b.convert(b.reverse(w_bar, flipped) if flipped else w_bar, element(op.rhs))


def _move_outer(b: OpBuilder, x: Value, source: int, groups: int, target: int) -> Value:
    """Moves the outer factor ``groups`` of one dimension to the front of another."""
    if groups == 1:
        return x
    n = rank(x)
    split = b.reshape(x, [m for d in range(n) for m in ((groups, shape(x)[d] // groups) if d == source else (shape(x)[d],))])
    position = {d: d if d < source else d + 1 for d in range(n)}  # where each dimension is now; the group is at `source`
    order = [i for d in range(n) for i in ((source, position[d]) if d == target else (source + 1,) if d == source else (position[d],))]
    extents = list(shape(x))
    extents[source] //= groups
    extents[target] *= groups
    return b.reshape(b.transpose(split, order), extents)
