"""Derivatives of windowed reductions, such as pooling."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any, cast

import numpy as np
from msgspec import Struct
from xdsl.ir import Attribute, Block, Region

from wengert.dialects import core
from wengert.dialects import stablehlo as hlo
from wengert.dialects.builder import OpBuilder, Value
from wengert.dialects.core import Kind
from wengert.dialects.stablehlo.attributes import GatherDimensionNumbersAttr, dimensions
from wengert.ir import elements
from wengert.ir.attributes import int_attr, ints
from wengert.ir.tensor_types import element, i32, i64, is_complex, shape, size, tensor
from wengert.transforms.ad.case import Arg, Case
from wengert.transforms.ad.errors import refuse
from wengert.transforms.ad.rule import LinearMap, Tangent, derivative, same_op, sum_of, transpose


class Windows(Struct, frozen=True):
    """A window op's attributes as numbers, one entry per dimension."""

    window: tuple[int, ...]
    strides: tuple[int, ...]
    base: tuple[int, ...]
    dilations: tuple[int, ...]
    padding: tuple[tuple[int, int], ...]

    @staticmethod
    def of(op: core.WindowReduceOp) -> Windows:
        edges = ints(op.padding)
        pairs = tuple(zip(edges[::2], edges[1::2], strict=True))
        return Windows(ints(op.window_dimensions), ints(op.window_strides), ints(op.base_dilations), ints(op.window_dilations), pairs)


@derivative(core.WindowReduceOp)
def window_reduce(b: OpBuilder, op: core.WindowReduceOp) -> LinearMap:
    """Sum: dy = the sums of dx over the windows. Extremum: dx at the position that wins. Product: sum_i (product of the others) dx_i."""
    kind = op.kind.data
    if kind is Kind.add:
        return same_op(op, [0])
    if kind in (Kind.max, Kind.min) and not is_complex(element(op.operand)):
        return sum_of([_select_winners(b, op)])
    if kind is Kind.mul:
        return _product(b, op)
    raise refuse(op, f"of kind {kind} has no derivative")


def _select_winners(b: OpBuilder, op: core.WindowReduceOp):
    """dy = dx at the position that wins the window (the first one at a tie): a gather from the flattened operand."""
    x = op.operand
    positions = winners(b, op)
    inside = b.compare("LT", positions, b.full_like(positions, size(x))) if _some_window_is_padded(op) else None
    starts = b.reshape(positions, [*shape(op.result), 1])
    numbers = GatherDimensionNumbersAttr(dimensions(()), dimensions((0,)), dimensions(()), dimensions(()), dimensions((0,)), int_attr(len(shape(op.result))))

    def apply(lb: OpBuilder, x_dot: Value) -> Value:
        picked = lb.gather(lb.reshape(x_dot, [size(x)]), starts, numbers, [1], shape(op.result))
        return picked if inside is None else lb.select(inside, picked, lb.full_like(picked, 0))

    return apply


def _some_window_is_padded(op: core.WindowReduceOp) -> bool:
    """Whether a window has padding (or gaps between dilated elements) in it: it has no winner if it has nothing else, or only NaN."""
    w = Windows.of(op)
    for n, m, win, s, bd, wd, (lo, _) in zip(shape(op.operand), shape(op.result), w.window, w.strides, w.base, w.dilations, w.padding, strict=True):
        taps = cast("np.ndarray[Any, np.dtype[np.int64]]", np.arange(m)[:, None] * s - lo + np.arange(win) * wd)
        if not ((taps >= 0) & (taps <= (n - 1) * bd) & (taps % bd == 0)).all():
            return True
    return False


def winners(b: OpBuilder, op: core.WindowReduceOp) -> Value:
    """The flat position of the extremum of each window, or the number of elements for a window without one."""
    x = op.operand
    count = size(x)
    index = i32 if count < 2**31 else i64
    positions = b.reshape(b.iota(0, tensor([count], index)), shape(x))
    extreme = float("-inf") if op.kind.data is Kind.max else float("inf")
    scalar, offset = tensor((), element(x)), tensor((), index)
    block = Block(arg_types=[scalar, offset, scalar, offset])
    inner = OpBuilder(block, location=b.location, pass_name=b.pass_name)
    v0, p0, v1, p1 = block.args
    better = inner.compare("GT" if op.kind.data is Kind.max else "LT", v0, v1)
    earlier = inner.and_(inner.compare("EQ", v0, v1), inner.compare("LE", p0, p1))
    first = inner.or_(better, earlier)
    block.add_op(hlo.ReturnOp.create(operands=[inner.select(first, v0, v1), inner.select(first, p0, p1)]))
    windows = Windows.of(op)
    properties: dict[str, Attribute] = {
        "window_dimensions": op.window_dimensions,
        "window_strides": op.window_strides,
        "base_dilations": op.base_dilations,
        "window_dilations": op.window_dilations,
        "padding": elements.from_numpy(np.array(windows.padding, np.int64).reshape(-1, 2)),
    }
    inits = [b.scalar(extreme, element(x)), b.scalar(count, index)]
    types = [op.result.type, tensor(shape(op.result), index)]
    return b.create(hlo.ReduceWindowOp, [x, positions, *inits], types, properties, [Region([block])])[1]


def _product(b: OpBuilder, op: core.WindowReduceOp) -> LinearMap:
    """dy = sum over the window of dx times the product of the others, with one strided slice per offset in the window."""
    w = Windows.of(op)
    offsets = list(np.ndindex(*w.window))
    slices = [_window_slice(b, op.operand, w, shape(op.result), offset, 1.0) for offset in offsets]
    others: list[Value] = []
    for i in range(len(offsets)):
        product = b.full_like(op.result, 1)
        for j, part in enumerate(slices):
            product = product if i == j else b.multiply(product, part)
        others.append(product)

    def apply(lb: OpBuilder, x_dot: Value) -> Value:
        terms = [lb.multiply(_window_slice(lb, x_dot, w, shape(op.result), offset, 0.0), other) for offset, other in zip(offsets, others, strict=True)]
        total = terms[0]
        for term in terms[1:]:
            total = lb.add(total, term)
        return total

    return sum_of([apply])


def _window_slice(b: OpBuilder, x: Value, w: Windows, result: Sequence[int], offset: Sequence[int], fill: float) -> Value:
    """The element at one offset in every window, as a tensor of the result's shape."""
    padded = b.pad(x, b.scalar(fill, element(x)), [lo for lo, _ in w.padding], [hi for _, hi in w.padding], [d - 1 for d in w.base])
    starts = [p * d for p, d in zip(offset, w.dilations, strict=True)]
    limits = [start + max(n - 1, 0) * s + min(n, 1) for start, n, s in zip(starts, result, w.strides, strict=True)]
    return b.slice(padded, starts, limits, w.strides)


@transpose(core.WindowReduceOp)
def window_sum_transpose(b: OpBuilder, op: core.WindowReduceOp, linear: Sequence[bool], y_bars: Sequence[Value]) -> Sequence[Tangent]:
    """The cotangent of an element is the sum of those of the windows that contain it: a window sum over y_bar, dilated by the
    strides, with reversed windows."""
    w, y_bar = Windows.of(op), y_bars[0]
    padding: list[tuple[int, int]] = []
    for n, m, win, s, bd, wd, (lo, _) in zip(shape(op.operand), shape(y_bar), w.window, w.strides, w.base, w.dilations, w.padding, strict=True):
        reach = (win - 1) * wd + 1
        dilated = 0 if m == 0 else (m - 1) * s + 1
        extent = 0 if n == 0 else (n - 1) * bd + 1
        before = reach - 1 - lo
        padding.append((before, extent + reach - 1 - dilated - before))
    if prod(shape(y_bar)) == 0:
        return [b.zeros(tensor(shape(op.operand), element(y_bar)))]
    return [b.window_reduce(Kind.add, y_bar, w.window, w.base, w.strides, w.dilations, padding)]


def _window(kind: Kind, *spec: tuple[int, int, int, int, tuple[int, int]]) -> Callable[[OpBuilder, Value], Value]:
    """Builds a window reduction from (window, stride, base dilation, window dilation, padding) per dimension."""
    return lambda b, x: b.window_reduce(kind, x, [s[0] for s in spec], [s[1] for s in spec], [s[2] for s in spec], [s[3] for s in spec], [s[4] for s in spec])


CASES = [
    Case("window sum", _window(Kind.add, (2, 1, 1, 1, (0, 0)), (3, 2, 1, 1, (1, 1))), (Arg((4, 6)),)),
    Case("window sum dilated", _window(Kind.add, (2, 1, 2, 1, (1, 0)), (2, 2, 1, 3, (0, 2))), (Arg((3, 7)),)),
    Case("window max", _window(Kind.max, (2, 2, 1, 1, (0, 0)), (3, 1, 1, 1, (1, 1))), (Arg((4, 5)),)),
    Case("window min", _window(Kind.min, (3, 2, 1, 2, (2, 2))), (Arg((9,)),)),
    Case("window max with empty windows", lambda b, x: b.exponential(_window(Kind.max, (2, 1, 1, 1, (3, 2)))(b, x)), (Arg((3,)),)),
    Case("window of one", _window(Kind.max, (1, 2, 1, 1, (0, 0))), (Arg((5,)),)),
    Case("window product", _window(Kind.mul, (2, 1, 1, 1, (0, 1)), (2, 2, 1, 1, (0, 0))), (Arg((3, 4), 0.5, 2),)),
]
