"""``core.window_reduce`` and ``core.cumulative``: ``stablehlo.reduce_window`` with one op as its region.

JAX lowers a running sum to a window as long as the dimension whose padding lets it end (or begin) at every position: that is
recognised as ``core.cumulative``. An initial value that is not neutral counts once for every window and once for every
padded element, so the padding is written out before the neutral reduction.
"""

from __future__ import annotations

from typing import Any, cast

import numpy as np
from msgspec import Struct
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr
from xdsl.ir import Attribute, SSAValue

from wengert.dialects import core, stablehlo
from wengert.dialects.builder import OpBuilder
from wengert.dialects.core import Kind
from wengert.ir import elements
from wengert.ir.attributes import int_array, int_of, ints
from wengert.ir.tensor_types import element, rank, shape
from wengert.transforms.core.kinds import combine_with_scalar, combiner_kinds, is_neutral, neutral, region_of

Pairs = tuple[tuple[int, int], ...]


class Window(Struct, frozen=True):
    """The layout of windows on a tensor; everything is per dimension."""

    extents: tuple[int, ...]
    strides: tuple[int, ...]
    base_dilations: tuple[int, ...]
    dilations: tuple[int, ...]
    padding: Pairs

    @classmethod
    def of(cls, op: stablehlo.ReduceWindowOp) -> Window:
        """The window of a reduce_window, with the defaults of the specification."""
        extents = ints(op.window_dimensions)
        ones = (1,) * len(extents)

        def listed(attribute: Attribute | None) -> tuple[int, ...]:
            return ones if attribute is None else ints(attribute)

        padding = ((0, 0),) * len(extents) if op.padding is None else _pairs(cast("DenseIntOrFPElementsAttr[Any]", op.padding))
        return cls(extents, listed(op.window_strides), listed(op.base_dilations), listed(op.window_dilations), padding)

    @classmethod
    def of_core(cls, op: core.WindowReduceOp) -> Window:
        """The window of a core.window_reduce."""
        edges = ints(op.padding)
        padding = tuple(zip(edges[::2], edges[1::2], strict=True))
        return cls(ints(op.window_dimensions), ints(op.window_strides), ints(op.base_dilations), ints(op.window_dilations), padding)

    def cumulative(self, operand: tuple[int, ...]) -> tuple[int, bool] | None:
        """The dimension and direction (True from the end) if windows of this operand are those of a running combination."""
        ones = (1,) * len(operand)
        if (self.strides, self.base_dilations, self.dilations) != (ones, ones, ones):
            return None
        wide = [d for d, n in enumerate(self.extents) if n != 1]
        if len(wide) != 1 or any(edges != (0, 0) for d, edges in enumerate(self.padding) if d != wide[0]):
            return None
        dim = wide[0]
        n = operand[dim]
        if self.extents[dim] != n or self.padding[dim] not in ((n - 1, 0), (0, n - 1)):
            return None
        return dim, self.padding[dim] == (0, n - 1)


def _pairs(attribute: DenseIntOrFPElementsAttr[Any]) -> Pairs:
    return tuple((int(low), int(high)) for low, high in elements.to_numpy(attribute).reshape(-1, 2))


def recognise_window(b: OpBuilder, op: stablehlo.ReduceWindowOp) -> list[SSAValue] | None:
    """reduce_window(x, init) with an op as region = core.cumulative or core.window_reduce of x, combined with init."""
    kinds = combiner_kinds(op.body.block, len(op.inputs))
    if kinds is None:
        return None
    window = Window.of(op)
    results: list[SSAValue] = []
    for x, initial, kind, result in zip(op.inputs, op.init_values, kinds, op.results, strict=True):
        results.append(_window_reduce(b, kind, b.convert(x, element(result)), b.convert(initial, element(result)), window))
    return results


def _window_reduce(b: OpBuilder, kind: Kind, x: SSAValue, initial: SSAValue, window: Window) -> SSAValue:
    if not is_neutral(initial, kind):
        x, window = _write_out_padding(b, x, initial, window)
    running = window.cumulative(shape(x))
    if running is not None:
        reduced = b.cumulative(kind, x, *running)
    else:
        reduced = b.window_reduce(kind, x, window.extents, window.strides, window.base_dilations, window.dilations, window.padding)
    return combine_with_scalar(b, kind, reduced, initial)


def _write_out_padding(b: OpBuilder, x: SSAValue, initial: SSAValue, window: Window) -> tuple[SSAValue, Window]:
    low, high = [p[0] for p in window.padding], [p[1] for p in window.padding]
    interior = [d - 1 for d in window.base_dilations]
    if any((*low, *high, *interior)):
        x = b.pad(x, initial, low, high, interior)
    none = (0, 0)
    return x, Window(window.extents, window.strides, (1,) * rank(x), window.dilations, (none,) * rank(x))


def expand_window(b: OpBuilder, op: core.WindowReduceOp) -> list[SSAValue]:
    """core.window_reduce(x) = reduce_window(x, neutral element) with the kind's op as region."""
    return [_reduce_window(b, op.kind.data, op.operand, Window.of_core(op), op.result)]


def expand_cumulative(b: OpBuilder, op: core.CumulativeOp) -> list[SSAValue]:
    """core.cumulative(x) = reduce_window(x) of windows as long as the dimension, padded on one side."""
    x, dim = op.operand, int_of(op.dimension)
    ones = (1,) * rank(x)
    n = shape(x)[dim]
    if n == 0:
        return [x]
    edges = (0, n - 1) if int_of(op.reverse) else (n - 1, 0)
    extents = tuple(n if d == dim else 1 for d in range(rank(x)))
    padding = tuple(edges if d == dim else (0, 0) for d in range(rank(x)))
    return [_reduce_window(b, op.kind.data, x, Window(extents, ones, ones, ones, padding), op.result)]


def _reduce_window(b: OpBuilder, kind: Kind, x: SSAValue, window: Window, result: SSAValue) -> SSAValue:
    element_type = element(x)
    properties: dict[str, Attribute] = {
        "window_dimensions": int_array(window.extents),
        "window_strides": int_array(window.strides),
        "base_dilations": int_array(window.base_dilations),
        "window_dilations": int_array(window.dilations),
        "padding": elements.from_numpy(np.array(window.padding, np.int64).reshape(-1, 2)),
    }
    initial = b.scalar(neutral(kind, element_type), element_type)
    return b.create(stablehlo.ReduceWindowOp, (x, initial), (result.type,), properties, (region_of(kind, element_type),))[0]
