"""Writing at computed positions: ``scatter``, ``scatter_add``, ``index_add``, ``index_copy``, ``index_fill``, at once and in place.

Positions are checked where the operation runs; a compiled function drops what is out of range, as StableHLO's scatter does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from wengert.dialects import core
from wengert.dialects.builder import OpBuilder, Value
from wengert.eager.errors import ShapeError
from wengert.eager.operations import kernels
from wengert.eager.operations.elementwise import where
from wengert.eager.operations.indexing import coordinates, full_index, vector_index, written
from wengert.eager.operations.memory import inplace
from wengert.eager.operations.memory.views import dimension
from wengert.eager.recording import dispatch
from wengert.eager.recording.operation import Operation, register
from wengert.ir.tensor_types import element, shape, tensor

if TYPE_CHECKING:
    from wengert.eager.tensor import Tensor

OPERATIONS: dict[str, Operation] = {}
Number = bool | int | float


# -- the operations


def _combined(kind: core.Kind) -> Callable[[OpBuilder, Sequence[Value], int], list[Value]]:
    """One position along a dimension for every element of the index; the source may be larger than the index."""

    def emit(b: OpBuilder, operands: Sequence[Value], dim: int) -> list[Value]:
        x, source, index = operands
        extents = shape(index)
        used = b.slice(source, [0] * len(extents), extents) if shape(source) != extents else source
        return written(kind)(b, (x, used, *coordinates(b, index, dim)), tuple(range(len(extents))))

    return emit


def _scatter_number(b: OpBuilder, operands: Sequence[Value], given: tuple[int, Number]) -> Sequence[Value]:
    x, index = operands
    return SCATTER.emit(b, (x, b.full(given[1], tensor(shape(index), element(x))), index), given[0])


def _index_fill(b: OpBuilder, operands: Sequence[Value], given: tuple[int, Number]) -> list[Value]:
    x, index = operands
    return written(core.Kind.set)(b, (x, b.full(given[1], tensor((), element(x))), index), given[:1])


def _index_add(b: OpBuilder, operands: Sequence[Value], given: tuple[int, Number]) -> list[Value]:
    x, source, index = operands
    scaled = source if given[1] == 1 else b.multiply(source, b.full_like(source, given[1]))
    return written(core.Kind.add)(b, (x, scaled, index), given[:1])


SCATTER = register(OPERATIONS, "scatter", "ScatterBackward0", _combined(core.Kind.set), kernel=kernels.scatter, differentiable=slice(2))
SCATTER_NUMBER = register(OPERATIONS, "scatter_number", "ScatterBackward1", _scatter_number, kernel=kernels.scatter_number, differentiable=slice(1))
SCATTER_ADD = register(OPERATIONS, "scatter_add", "ScatterAddBackward0", _combined(core.Kind.add), kernel=kernels.scatter_add, differentiable=slice(2))
INDEX_ADD = register(OPERATIONS, "index_add", "IndexAddBackward0", _index_add, kernel=kernels.index_add, differentiable=slice(2))
INDEX_COPY = register(OPERATIONS, "index_copy", "IndexCopyBackward0", written(core.Kind.set), kernel=kernels.index_copy, differentiable=slice(2))
INDEX_FILL = register(OPERATIONS, "index_fill", "IndexFillBackward0", _index_fill, kernel=kernels.index_fill, differentiable=slice(1))


# -- what they are given

Call = tuple[Operation, tuple[Any, ...], Any]
"""An operation, its operands but for x, and its parameters."""


def _same_dtype(x: Tensor, source: Tensor, name: str) -> None:
    if x.array.dtype != source.array.dtype:
        raise ShapeError(f"{name}: the tensor and the source must have one dtype, found {x.array.dtype.name} and {source.array.dtype.name}")


def _by_elements(op: Operation, x: Tensor, dim: int, index: Tensor, source: Tensor | Number) -> Call:
    d = dimension(dim, x.array.ndim, op.name)
    chosen = full_index(x, d, index, op.name)
    if isinstance(source, Number):
        return SCATTER_NUMBER, (chosen,), (d, source)
    _same_dtype(x, source, op.name)
    have, given = chosen.array.shape, source.array.shape
    if len(have) != len(given) or any(n > m for n, m in zip(have, given, strict=True)):
        raise ShapeError(f"{op.name}: an index of shape {list(have)} needs a source that is nowhere smaller, found {list(given)}")
    return op, (source, chosen), d


def _by_slices(op: Operation, x: Tensor, dim: int, index: Tensor, source: Tensor, *more: Number) -> Call:
    d = dimension(dim, x.array.ndim, op.name)
    chosen = vector_index(index, op.name)
    _same_dtype(x, source, op.name)
    expected = tuple(chosen.array.size if i == d else n for i, n in enumerate(x.array.shape))
    if source.array.shape != expected:
        raise ShapeError(f"{op.name}: expected a source of shape {list(expected)}, found {list(source.array.shape)}")
    return op, (source, chosen), (d, *more)


def _filled(x: Tensor, dim: int, index: Tensor, value: Number) -> Call:
    return INDEX_FILL, (vector_index(index, "index_fill"),), (dimension(dim, x.array.ndim, "index_fill"), value)


def _made(x: Tensor, call: Call) -> Tensor:
    op, others, params = call
    return dispatch.apply(op, (x, *others), params)


def _changed(x: Tensor, call: Call) -> Tensor:
    op, others, params = call
    return inplace.change_many(op, x, others, params)


# -- as functions of tensors


def scatter(x: Tensor, dim: int, index: Tensor, src: Any = None, *, value: Number | None = None) -> Tensor:
    """x with ``result[index[i][j]][j] = src[i][j]`` for dim = 0, and so on; the source may be a number."""
    return _made(x, _by_elements(SCATTER, x, dim, index, src if value is None else value))


def scatter_(x: Tensor, dim: int, index: Tensor, src: Any = None, *, value: Number | None = None) -> Tensor:
    """:func:`scatter` in place."""
    return _changed(x, _by_elements(SCATTER, x, dim, index, src if value is None else value))


def scatter_add(x: Tensor, dim: int, index: Tensor, src: Tensor) -> Tensor:
    """As :func:`scatter`, added to what is there."""
    return _made(x, _by_elements(SCATTER_ADD, x, dim, index, src))


def scatter_add_(x: Tensor, dim: int, index: Tensor, src: Tensor) -> Tensor:
    """:func:`scatter_add` in place."""
    return _changed(x, _by_elements(SCATTER_ADD, x, dim, index, src))


def index_add(x: Tensor, dim: int, index: Tensor, source: Tensor, *, alpha: Number = 1) -> Tensor:
    """x with slices of ``alpha source`` added at positions along a dimension."""
    if x.array.ndim == 0:
        return index_add(x.reshape(1), dim, index, source.reshape(-1), alpha=alpha).reshape(())
    return _made(x, _by_slices(INDEX_ADD, x, dim, index, source, alpha))


def index_add_(x: Tensor, dim: int, index: Tensor, source: Tensor, *, alpha: Number = 1) -> Tensor:
    """:func:`index_add` in place."""
    return _changed(x, _by_slices(INDEX_ADD, x, dim, index, source, alpha))


def index_copy(x: Tensor, dim: int, index: Tensor, source: Tensor) -> Tensor:
    """x with slices of a source written at positions along a dimension."""
    if x.array.ndim == 0:
        return index_copy(x.reshape(1), dim, index, source.reshape(-1)).reshape(())
    return _made(x, _by_slices(INDEX_COPY, x, dim, index, source))


def index_copy_(x: Tensor, dim: int, index: Tensor, source: Tensor) -> Tensor:
    """:func:`index_copy` in place."""
    return _changed(x, _by_slices(INDEX_COPY, x, dim, index, source))


def index_fill(x: Tensor, dim: int, index: Tensor, value: Number | Tensor) -> Tensor:
    """x with a number, or a tensor of one element, at positions along a dimension, which may count from the end."""
    if not isinstance(value, Number):
        chosen = dispatch.constant(np.zeros(x.array.shape, np.float32)).index_fill(dim, index, 1).to(np.bool_)
        return where(chosen, value.to(x.array.dtype), x)
    if x.array.ndim == 0:
        return index_fill(x.reshape(1), dim, index, value).reshape(())
    return _made(x, _filled(x, dim, index, value))


def index_fill_(x: Tensor, dim: int, index: Tensor, value: Number) -> Tensor:
    """:func:`index_fill` in place."""
    if x.array.ndim == 0:
        index_fill_(x.reshape(1), dim, index, value)
        return x
    return _changed(x, _filled(x, dim, index, value))
