"""Windows along a dimension as views of memory: ``unfold``. On the tape they are a gather at positions that are known, and a change through them a scatter."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from wengert.dialects import core
from wengert.dialects.builder import OpBuilder, Value
from wengert.eager.errors import ShapeError
from wengert.eager.operations import indexing
from wengert.eager.operations.memory import views
from wengert.eager.recording.operation import Operation, register
from wengert.eager.recording.program import Array
from wengert.ir.tensor_types import shape

if TYPE_CHECKING:
    from wengert.eager.tensor import Tensor

OPERATIONS: dict[str, Operation] = {}
Windows = tuple[int, int, int]
"""The dimension, the extent of a window, and the step from one to the next."""


def _positions(extent: int, size: int, step: int) -> Array:
    """Along the dimension, ``[window, place within it]``."""
    return np.arange(0, extent - size + 1, step)[:, None] + np.arange(size)


def _order(dim: int, rank: int) -> list[int]:
    """Of a tensor whose windows' places stand behind the windows: the dimensions with the places last."""
    return [*(d for d in range(rank + 1) if d != dim + 1), dim + 1]


def _emit(b: OpBuilder, x: Sequence[Value], given: Windows) -> list[Value]:
    dim, size, step = given
    places = b.constant(_positions(shape(x[0])[dim], size, step))
    (taken,) = indexing.read(b, (x[0], places), (dim,))
    return [b.transpose(taken, _order(dim, len(shape(x[0]))))]


def _put(b: OpBuilder, base: Value, value: Value, given: Windows) -> Value:
    dim, size, step = given
    order = _order(dim, len(shape(base)))
    places = b.constant(_positions(shape(base)[dim], size, step))
    turned = b.transpose(value, [order.index(d) for d in range(len(order))])
    return indexing.written(core.Kind.set)(b, (base, turned, places), (dim,))[0]


def _kernel(given: Windows, x: Array) -> Array:
    dim, size, step = given
    extents, strides = list(x.shape), list(x.strides)
    extents[dim] = (extents[dim] - size) // step + 1
    strides[dim] *= step
    return np.lib.stride_tricks.as_strided(x, (*extents, size), (*strides, x.strides[dim]), writeable=x.flags.writeable)


UNFOLD = register(OPERATIONS, "unfold", "UnfoldBackward0", _emit, kernel=_kernel, view=True, put=_put, overlaps=True)


def unfold(x: Tensor, dimension: int, size: int, step: int) -> Tensor:
    """Windows along a dimension, as a new last dimension, sharing the memory of x. Windows that overlap must not be changed in place.

    Raises:
        ShapeError: there is no such dimension, a window is larger than it, or the step is not positive.
    """
    dim = views.dimension(dimension, x.array.ndim, "unfold")
    extent = x.array.shape[dim] if x.array.ndim else 1
    if not 0 <= size <= extent:
        raise ShapeError(f"unfold: a window of {size} does not fit dimension {dim}, whose extent is {extent}")
    if step < 1:
        raise ShapeError(f"unfold: the step must be positive, found {step}")
    if not x.array.ndim:
        return views.narrow(views.view(x, (1,)), 0, 0, size)
    return views.see(UNFOLD, x, (dim, size, step))
