"""Elements in order. NaN counts as the largest number; equal elements keep their order, also where PyTorch promises none.

The derivative is that of reading ``x`` at the positions that were found, which are what is kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from wengert.dialects import ad
from wengert.dialects.builder import OpBuilder, Value
from wengert.eager.containers import ValuesAndIndices
from wengert.eager.errors import ShapeError
from wengert.eager.operations.indexing import along
from wengert.eager.operations.memory.views import dimension
from wengert.eager.recording import dispatch
from wengert.eager.recording.operation import Operation, register
from wengert.eager.recording.program import Array
from wengert.frontends.sorting import in_order
from wengert.ir.tensor_types import i64, is_differentiable, shape, tensor

if TYPE_CHECKING:
    from wengert.eager.tensor import Tensor

OPERATIONS: dict[str, Operation] = {}


def _positions(b: OpBuilder, x: Value, dim: int, descending: bool) -> Value:
    x = b.like(ad.StopGradientOp, x) if is_differentiable(x.type) else x
    x = b.reverse(x, [dim]) if descending else x
    places = in_order(b, (x, b.iota(dim, tensor(shape(x), i64))), dim)[1]
    return b.subtract(b.full_like(places, shape(x)[dim] - 1), b.reverse(places, [dim])) if descending else places


def _sort(b: OpBuilder, operands: Sequence[Value], given: tuple[int, bool]) -> list[Value]:
    return _largest(b, operands, (None, *given))


def _largest(b: OpBuilder, operands: Sequence[Value], given: tuple[int | None, int, bool]) -> list[Value]:
    (x,), (count, dim, descending) = operands, given
    extents = shape(x)
    if not extents:
        return [x, b.full(0, tensor((), i64))]
    places = _positions(b, x, dim, descending)
    if count is not None:
        places = b.slice(places, [0] * len(extents), [count if d == dim else n for d, n in enumerate(extents)])
    return [*along(b, (x, places), dim), places]


def _sort_arrays(given: tuple[int, bool], x: Array) -> tuple[Array, Array]:
    return _largest_arrays((None, *given), x)


def _largest_arrays(given: tuple[int | None, int, bool], x: Array) -> tuple[Array, Array]:
    count, dim, descending = given
    if not x.ndim:
        return x.copy(), np.zeros((), np.int64)
    places = np.argsort(np.flip(x, dim) if descending else x, dim, stable=True)
    if descending:
        places = x.shape[dim] - 1 - np.flip(places, dim)
    places = np.ascontiguousarray(places if count is None else places[tuple(slice(count if d == dim else None) for d in range(x.ndim))])
    return np.take_along_axis(x, places, dim), places


SORT = register(OPERATIONS, "sort", "SortBackward0", _sort, kernel=_sort_arrays, keeps_result=True)
SORT_STABLE = register(OPERATIONS, "sort_stable", "SortBackward1", _sort, kernel=_sort_arrays, keeps_result=True)
TOPK = register(OPERATIONS, "topk", "TopkBackward0", _largest, kernel=_largest_arrays, keeps_result=True)


# -- as functions of tensors


def sort(x: Tensor, dim: int = -1, descending: bool = False, *, stable: bool | None = None) -> ValuesAndIndices:
    """The elements in order along a dimension, and their positions. The order is stable in any case."""
    op = SORT if stable is None else SORT_STABLE
    return ValuesAndIndices(*dispatch.apply_many(op, (x,), (dimension(dim, x.array.ndim, "sort"), bool(descending))))


def argsort(x: Tensor, dim: int = -1, descending: bool = False, *, stable: bool | None = None) -> Tensor:
    """The positions of the elements in order."""
    return sort(x.detach(), dim, descending).indices


def topk(x: Tensor, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> ValuesAndIndices:
    """The k largest (or smallest) elements along a dimension, in order, and their positions."""
    d = dimension(dim, x.array.ndim, "topk")
    if not 0 <= k <= (x.array.shape[d] if x.array.ndim else 1):
        raise ShapeError(f"topk: there are no {k} elements along dimension {dim} of a tensor of shape {list(x.array.shape)}")
    params: Any = (int(k), d, bool(largest))
    return ValuesAndIndices(*dispatch.apply_many(TOPK, (x,), params))
