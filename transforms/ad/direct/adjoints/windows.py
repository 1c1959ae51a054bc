"""Adjoints of windowed reductions.

Element j of the operand is in the window at p, at offset q, if ``j base = p stride + q dilation - low``.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.ir import Attribute, Block, Region

from wengert.dialects import core
from wengert.dialects import stablehlo as hlo
from wengert.dialects.builder import OpBuilder, Value
from wengert.dialects.core import Kind
from wengert.dialects.stablehlo.attributes import ScatterDimensionNumbersAttr, dimensions
from wengert.ir import elements
from wengert.ir.attributes import int_attr, ints
from wengert.ir.tensor_types import element, i32, i64, is_complex, rank, shape, size, tensor, type_of
from wengert.transforms.ad.direct.adjoint import Bars, adjoint
from wengert.transforms.ad.direct.adjoints.contraction import Window
from wengert.transforms.ad.errors import refuse


@adjoint(core.WindowReduceOp)
def window_reduce(b: OpBuilder, op: core.WindowReduceOp, y_bars: Sequence[Value], needed: Sequence[bool]) -> Bars:
    kind, y_bar = op.kind.data, y_bars[0]
    if size(op.result) == 0 or size(op.operand) == 0:
        return [b.zeros(type_of(op.operand))]
    if kind is Kind.add:
        return [_of_sum(b, op, y_bar)]
    if kind in (Kind.max, Kind.min) and not is_complex(element(op.operand)):
        return [_of_extremum(b, op, y_bar)]
    if kind is Kind.mul:
        return [_of_product(b, op, y_bar)]
    raise refuse(op, f"of kind {kind} has no adjoint")


def _windows(op: core.WindowReduceOp) -> list[Window]:
    lows = ints(op.padding)[::2]
    columns = (ints(op.window_strides), lows, ints(op.base_dilations), ints(op.window_dilations))
    extents = (shape(op.operand), ints(op.window_dimensions), shape(op.result))
    return [Window(*row, False, *sizes) for row, sizes in zip(zip(*columns, strict=True), zip(*extents, strict=True), strict=True)]


def _of_sum(b: OpBuilder, op: core.WindowReduceOp, y_bar: Value) -> Value:
    # an element gets the sum over the windows that contain it: a window sum of y_bar, by the index equation solved for p
    reversed_windows = [
        Window(w.lhs_dilation, (w.kernel - 1) * w.rhs_dilation - w.low, w.stride, w.rhs_dilation, False, w.result, w.kernel, w.source) for w in _windows(op)
    ]
    return b.window_reduce(
        Kind.add,
        y_bar,
        [w.kernel for w in reversed_windows],
        [w.stride for w in reversed_windows],
        [w.lhs_dilation for w in reversed_windows],
        [w.rhs_dilation for w in reversed_windows],
        [(w.low, w.high) for w in reversed_windows],
    )


def _of_extremum(b: OpBuilder, op: core.WindowReduceOp, y_bar: Value) -> Value:
    # all to the extremum of the window, the first one at a tie; positions are flat positions in the operand, and
    # that of a window of padding only is out of bounds, so that the scatter drops it
    x = op.operand
    won = _winning_positions(b, op)
    numbers = ScatterDimensionNumbersAttr(dimensions(()), dimensions((0,)), dimensions(()), dimensions(()), dimensions((0,)), int_attr(rank(won)))
    flat = b.zeros(tensor([size(x)], element(x)))
    return b.reshape(b.scatter(Kind.add, flat, b.reshape(won, [*shape(won), 1]), y_bar, numbers), shape(x))


def _winning_positions(b: OpBuilder, op: core.WindowReduceOp) -> Value:
    """Reduces the windows again, over pairs of elements and their flat positions."""
    x, largest = op.operand, op.kind.data is Kind.max
    index_type = i32 if size(x) < 2**31 else i64
    positions = b.reshape(b.iota(0, tensor([size(x)], index_type)), shape(x))
    scalars = [tensor((), element(x)), tensor((), index_type)] * 2
    block = Block(arg_types=scalars)
    inner = OpBuilder(block, location=b.location, pass_name=b.pass_name)
    value, position, other, other_position = block.args
    tied = inner.compare("EQ", value, other)
    stays = inner.select(tied, inner.compare("LT", position, other_position), inner.compare("GT" if largest else "LT", value, other))
    block.add_op(hlo.ReturnOp.create(operands=[inner.select(stays, value, other), inner.select(stays, position, other_position)]))
    properties: dict[str, Attribute] = {
        "window_dimensions": op.window_dimensions,
        "window_strides": op.window_strides,
        "base_dilations": op.base_dilations,
        "window_dilations": op.window_dilations,
        "padding": elements.from_numpy(np.array(ints(op.padding), np.int64).reshape(-1, 2)),
    }
    initial = [b.scalar(float("-inf") if largest else float("inf"), element(x)), b.scalar(size(x), index_type)]
    types = [op.result.type, tensor(shape(op.result), index_type)]
    return b.create(hlo.ReduceWindowOp, [x, positions, *initial], types, properties, [Region([block])])[1]


def _of_product(b: OpBuilder, op: core.WindowReduceOp, y_bar: Value) -> Value:
    # for each offset q in the window: the element at q gets y_bar times the elements at all other offsets
    windows, edges = _windows(op), ints(op.padding)
    one = b.scalar(1, element(op.operand))
    padded = b.pad(op.operand, one, edges[::2], edges[1::2], [w.lhs_dilation - 1 for w in windows])
    starts = [[q * w.rhs_dilation for q, w in zip(position, windows, strict=True)] for position in np.ndindex(*(w.kernel for w in windows))]
    reaches = [(w.result - 1) * w.stride + 1 for w in windows]
    strides = [w.stride for w in windows]
    parts = [b.slice(padded, at, [lo + n for lo, n in zip(at, reaches, strict=True)], strides) for at in starts]
    total: Value | None = None
    for part_bar, at in zip(_product_bars(b, parts, y_bar), starts, strict=True):
        after = [n - lo - reach for n, lo, reach in zip(shape(padded), at, reaches, strict=True)]
        padded_bar = b.pad(part_bar, b.scalar(0, element(padded)), at, after, [s - 1 for s in strides])
        total = padded_bar if total is None else b.add(total, padded_bar)
    assert total is not None
    return _unpadded(b, total, op, windows)


def _product_bars(b: OpBuilder, parts: Sequence[Value], y_bar: Value) -> list[Value]:
    """For each part, y_bar times the product of the other parts, by products from both ends."""
    before, bars = y_bar, list[Value]()
    after = [b.full_like(y_bar, 1)]
    for part in reversed(parts[1:]):
        after.append(b.multiply(after[-1], part))
    for part, rest in zip(parts, reversed(after), strict=True):
        bars.append(b.multiply(before, rest))
        before = b.multiply(before, part)
    return bars


def _unpadded(b: OpBuilder, x: Value, op: core.WindowReduceOp, windows: Sequence[Window]) -> Value:
    """Slices the operand's positions out of the padded operand."""
    edges = ints(op.padding)
    cropped = b.pad(x, b.scalar(0, element(x)), [max(0, -e) for e in edges[::2]], [max(0, -e) for e in edges[1::2]])
    starts = [max(0, e) for e in edges[::2]]
    limits = [lo + (n - 1) * w.lhs_dilation + 1 for lo, n, w in zip(starts, shape(op.operand), windows, strict=True)]
    return b.slice(cropped, starts, limits, [w.lhs_dilation for w in windows])
