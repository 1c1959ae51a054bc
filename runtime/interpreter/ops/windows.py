"""Ops on windows: reduce_window, select_and_scatter, and the core dialect's window_reduce.

All fold the window position by position: the elements at one position of every window are one strided slice of the padded
operand, so each step is one operation on whole arrays.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from msgspec import Struct

from wengert.dialects import core, stablehlo
from wengert.dialects.core import Kind
from wengert.ir.attributes import ints
from wengert.ir.elements import to_numpy
from wengert.ir.tensor_types import dtype_of, element, rank, shape
from wengert.runtime.interpreter.numerics.combining import accumulated, kind_of, neutral, ufunc_of
from wengert.runtime.interpreter.numerics.precision import working_dtype
from wengert.runtime.interpreter.ops.indexing import combination, combine_at
from wengert.runtime.interpreter.ops.shape import padded
from wengert.runtime.interpreter.rules import Array, Function, Scope, Unary, evaluates, evaluates_in_scope, one_or_tuple


class Windows(Struct, frozen=True):
    """Windows over an array: where they start, how they are dilated, and what surrounds the array."""

    extents: tuple[int, ...]
    strides: tuple[int, ...]
    base_dilations: tuple[int, ...]
    dilations: tuple[int, ...]
    padding: tuple[tuple[int, int], ...]
    out: tuple[int, ...]

    def padded(self, x: Any, value: Any) -> Array:
        """The array dilated and surrounded by the value."""
        return padded(x, value, tuple((low, high, base - 1) for (low, high), base in zip(self.padding, self.base_dilations, strict=True)))

    def positions(self) -> Iterator[tuple[slice, ...]]:
        """For each position within the window, in row-major order, where the padded array holds it for all windows."""
        for position in np.ndindex(*self.extents):
            starts = [p * d for p, d in zip(position, self.dilations, strict=True)]
            yield tuple(slice(s, s + n * k, k) if n else slice(0, 0) for s, n, k in zip(starts, self.out, self.strides, strict=True))


def windows_of(op: stablehlo.ReduceWindowOp | stablehlo.SelectAndScatterOp, n: int, out: tuple[int, ...]) -> Windows:
    """The windows of an op over an array of ``n`` dimensions; ``out``: how many there are in each."""

    def listed(name: str) -> tuple[int, ...]:
        attribute = getattr(op, name, None)
        return ints(attribute) if attribute is not None else (1,) * n

    padding = tuple((int(low), int(high)) for low, high in to_numpy(op.padding)) if op.padding is not None else ((0, 0),) * n
    return Windows(listed("window_dimensions"), listed("window_strides"), listed("base_dilations"), listed("window_dilations"), padding, out)


@evaluates_in_scope(stablehlo.ReduceWindowOp)
def reduce_window(op: stablehlo.ReduceWindowOp, scope: Scope) -> Function:
    """Folds every window from the initial value; padding holds the initial value too."""
    windows = windows_of(op, rank(op.inputs[0]), shape(op.results[0]))
    kind, count = kind_of(op.body), len(op.inputs)
    if kind is not None and kind is not Kind.set:
        element_type = element(op.results[0])
        combine, wide, dtype = ufunc_of(kind, element_type), working_dtype(element_type), dtype_of(element_type)

        def fold(x: Any, init: Any) -> Array:
            return _fold_windows(combination(combine), windows, [x.astype(wide)], [init.astype(wide)])[0].astype(dtype, copy=False)

        return fold
    body = scope.scalar_region(op.body)

    def fold_by_region(*operands: Any) -> Any:
        return one_or_tuple(op, tuple(_fold_windows(body, windows, accumulated(op, operands[:count]), accumulated(op, operands[count:]))))

    return fold_by_region


def _fold_windows(body: Function, windows: Windows, inputs: Sequence[Any], inits: Sequence[Any]) -> Sequence[Any]:
    surrounded = [windows.padded(x, init) for x, init in zip(inputs, inits, strict=True)]
    totals: Sequence[Any] = [np.broadcast_to(init, windows.out) for init in inits]
    for position in windows.positions():
        totals = body(*totals, *[x[position] for x in surrounded])
    return totals


@evaluates(core.WindowReduceOp)
def window_reduce(op: core.WindowReduceOp) -> Unary:
    """Combines every window; padding holds the neutral element."""
    element_type, kind, edges = element(op.operand), op.kind.data, ints(op.padding)
    combine, wide, dtype = ufunc_of(kind, element_type), working_dtype(element_type), dtype_of(element_type)
    windows = Windows(
        ints(op.window_dimensions),
        ints(op.window_strides),
        ints(op.base_dilations),
        ints(op.window_dilations),
        tuple(zip(edges[::2], edges[1::2], strict=True)),
        shape(op.result),
    )
    init = neutral(kind, wide)
    return lambda x: _fold_windows(combination(combine), windows, [x.astype(wide)], [init])[0].astype(dtype, copy=False)


@evaluates_in_scope(stablehlo.SelectAndScatterOp)
def select_and_scatter(op: stablehlo.SelectAndScatterOp, scope: Scope) -> Function:
    """Finds the selected element of every window, padding excluded, and combines the window's source value into it.

    An element stays selected as long as ``select(selected, candidate)`` holds; source values are combined in order.
    """
    windows = windows_of(op, rank(op.operand), shape(op.source))
    select, scatter, kind = scope.scalar_region(op.select), scope.scalar_region(op.scatter), kind_of(op.scatter)
    size, dtype = int(np.prod(shape(op.operand))), dtype_of(element(op.result))

    def run(x: Any, source: Any, init: Any) -> Array:
        values = windows.padded(x, x.dtype.type(0))
        numbers = windows.padded(np.arange(size).reshape(x.shape), -1)
        chosen, best = np.full(windows.out, -1), np.zeros(windows.out, x.dtype)
        for position in windows.positions():
            candidate, number = values[position], numbers[position]
            better = (number >= 0) & ((chosen < 0) | ~np.asarray(select(best, candidate)[0]))
            chosen, best = np.where(better, number, chosen), np.where(better, candidate, best)
        result: Array = np.full(size, init, dtype)
        hit = (chosen >= 0).ravel()
        combine_at([result], chosen.ravel()[hit], [np.asarray(source).astype(dtype, copy=False).ravel()[hit]], kind, scatter)
        return result.reshape(x.shape)

    return run
