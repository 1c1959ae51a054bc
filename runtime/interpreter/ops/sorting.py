"""sort by any comparator, and top_k.

The sort is a merge sort, bottom up, whose every step is one evaluation of the comparator region on whole arrays: merging
two runs needs each element's position in the other run, and all those binary searches go on at once. It is stable, and
n log^2 n comparisons are evaluated in about log^2(n) / 2 calls of the region.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.dialects import chlo, stablehlo
from wengert.ir.attributes import int_of
from wengert.ir.tensor_types import dtype_of, element, shape
from wengert.runtime.interpreter.numerics.precision import working_dtype
from wengert.runtime.interpreter.ops.elementwise import total_order
from wengert.runtime.interpreter.rules import Array, Function, Scope, Unary, evaluates, evaluates_in_scope, one_or_tuple

Before = Callable[[Array, Array], Array]


@evaluates_in_scope(stablehlo.SortOp)
def sort(op: stablehlo.SortOp, scope: Scope) -> Function:
    """Sorts the inputs together; the comparator takes (left, right) of each input by turns."""
    comparator = scope.scalar_region(op.comparator)
    rank = len(shape(op.inputs[0]))
    axis = int_of(op.dimension) % rank if op.dimension is not None else rank - 1

    def run(*inputs: Any) -> Any:
        rows = [np.moveaxis(x, axis, -1) for x in inputs]
        flat = [row.reshape(-1) for row in rows]

        def before(left: Array, right: Array) -> Array:
            return np.asarray(comparator(*[side for x in flat for side in (x[left], x[right])])[0])

        n, shape_ = rows[0].shape[-1], rows[0].shape
        positions = np.arange(int(flat[0].size))
        order = merge_sort(positions.reshape(-1, n), before).reshape(-1) if n else positions
        return one_or_tuple(op, tuple(np.moveaxis(x[order].reshape(shape_), -1, axis) for x in flat))

    return run


def merge_sort(order: Array, before: Before) -> Array:
    """Each row of ``order`` rearranged so that no element is ``before`` the one it follows."""
    n, width = order.shape[1], 1
    place = np.arange(int(n))
    while width < n:
        run = place // width
        other = (run ^ 1) * width  # where the run that this one is merged with starts; it may lie beyond the end
        low, high = np.minimum(other, n), np.minimum(other + width, n)
        is_left = run % 2 == 0
        rank = _search(order, np.broadcast_to(low, order.shape).copy(), np.broadcast_to(high, order.shape).copy(), is_left, before) - low
        target = np.minimum(run * width, np.where(is_left, run * width, other)) + place % width + rank
        merged = np.empty_like(order)
        np.put_along_axis(merged, target, order, 1)
        order, width = merged, 2 * width
    return order


def _search(order: Array, low: Array, high: Array, is_left: Array, before: Before) -> Array:
    """For each element, how far the elements of the other run precede it: equal ones do only if they are on the left."""
    left_run = np.broadcast_to(is_left, order.shape)
    while np.any(low < high):
        open_ = low < high
        middle = (low + high) // 2
        probe = np.take_along_axis(order, np.minimum(middle, order.shape[1] - 1), 1)
        precedes = np.zeros(order.shape, bool)
        mine, other, left = order[open_], probe[open_], left_run[open_]
        precedes[open_] = np.where(left, before(other, mine), ~before(mine, other))
        low, high = np.where(open_ & precedes, middle + 1, low), np.where(open_ & ~precedes, middle, high)
    return low


@evaluates(chlo.TopKOp)
def top_k(op: chlo.TopKOp) -> Unary:
    """The first k of the last dimension, stable, in the total order of floats (``compare``), as XLA has it: 0 comes before -0, and NaN first
    unless its sign is set."""
    k, keys = int_of(op.k), working_dtype(element(op.operand))
    descending = op.largest is None or bool(int_of(op.largest))
    dtype = dtype_of(element(op.indices))
    ordered: Unary = total_order if keys.kind == "f" else lambda x: x
    return lambda x: top_k_of(ordered(x.astype(keys, copy=False)), x, k, descending, dtype)


def top_k_of(keys: Array, x: Array, k: int, descending: bool, dtype: np.dtype[Any]) -> tuple[Array, Array]:
    """The k first elements of x along the last dimension in the stable order of their keys, and their positions."""
    if descending:  # reversed twice, so that of equal elements the first comes first
        order = keys.shape[-1] - 1 - np.argsort(keys[..., ::-1], axis=-1, kind="stable")[..., ::-1]
    else:
        order = np.argsort(keys, axis=-1, kind="stable")
    order = order[..., :k]
    return np.take_along_axis(x, order, -1), order.astype(dtype)
