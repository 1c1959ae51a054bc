"""Indexing: views where numbers and slices select, gathers where tensors do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from wengert.dialects import core
from wengert.dialects.builder import OpBuilder, Value
from wengert.dialects.stablehlo import attributes as sa
from wengert.eager.containers import listed
from wengert.eager.errors import ShapeError
from wengert.eager.operations import kernels, reading
from wengert.eager.operations.elementwise import broadcast
from wengert.eager.operations.memory import inplace, views
from wengert.eager.operations.memory.views import dimension
from wengert.eager.operations.promotion import BOOL, INT64
from wengert.eager.recording import dispatch
from wengert.eager.recording.operation import Operation, register
from wengert.ir.attributes import int_attr
from wengert.ir.tensor_types import i64, shape, tensor

if TYPE_CHECKING:
    from wengert.eager.tensor import Tensor

OPERATIONS: dict[str, Operation] = {}
Dims = tuple[int, ...]
"""The dimensions that tensors index."""


# -- gather and scatter


def _positions(b: OpBuilder, x: Value, indices: Sequence[Value], dims: Dims) -> Value:
    """Indices that broadcast, as one tensor with a last dimension for the coordinates; negative ones count from the end."""
    extents = np.broadcast_shapes(*(shape(i) for i in indices))
    columns: list[Value] = []
    for index, dim in zip(indices, dims, strict=True):
        spread = broadcast(b, b.convert(index, i64), extents)
        negative = b.compare("LT", spread, b.full_like(spread, 0))
        columns.append(b.reshape(b.select(negative, b.add(spread, b.full_like(spread, shape(x)[dim])), spread), (*extents, 1)))
    return b.concatenate(columns, len(extents)) if len(columns) > 1 else columns[0]


def _place(dims: Dims) -> int:
    """The position of the dimensions of the indices in the result: where the indexed ones stood if these are neighbours, else in front."""
    return dims[0] if dims == tuple(range(dims[0], dims[-1] + 1)) else 0


def _layout(x: Value, starts: Value, dims: Dims) -> tuple[int, list[int], list[int]]:
    """Rank of the indices, the dimensions of the result that are slices of x, and the extents of a slice."""
    batch = len(shape(starts)) - 1
    rest = len(shape(x)) - len(dims)
    place = _place(dims)
    offset = [d if d < place else d + batch for d in range(rest)]
    return batch, offset, [1 if d in dims else n for d, n in enumerate(shape(x))]


def _numbers(names: Sequence[Sequence[int]], vector: int) -> list[Any]:
    return [*(sa.dimensions(d) for d in names), int_attr(vector)]


def read(b: OpBuilder, operands: Sequence[Value], dims: Dims) -> list[Value]:
    """The ops that read x, the first operand, at positions along some dimensions, the others."""
    x, *indices = operands
    starts = _positions(b, x, indices, dims)
    batch, offset, sizes = _layout(x, starts, dims)
    numbers = sa.GatherDimensionNumbersAttr(*_numbers([offset, dims, (), (), dims], batch))
    free = [n for d, n in enumerate(shape(x)) if d not in dims]
    place = _place(dims)
    return [b.gather(x, starts, numbers, sizes, [*free[:place], *shape(starts)[:-1], *free[place:]])]


def written(kind: core.Kind) -> Any:
    """A function that writes the ops that combine a value, the second operand, into x, the first, at positions along some dimensions."""

    def emit(b: OpBuilder, operands: Sequence[Value], dims: Dims) -> list[Value]:
        x, value, *indices = operands
        starts = _positions(b, x, indices, dims)
        batch, offset, _ = _layout(x, starts, dims)
        free = [n for d, n in enumerate(shape(x)) if d not in dims]
        place = _place(dims)
        updates = broadcast(b, value, [*free[:place], *shape(starts)[:-1], *free[place:]])
        numbers = sa.ScatterDimensionNumbersAttr(*_numbers([offset, dims, (), (), dims], batch))
        return [b.scatter(kind, x, starts, updates, numbers)]

    return emit


def coordinates(b: OpBuilder, index: Value, dim: int) -> list[Value]:
    """The full position of every element of an index along a dimension: every other coordinate is its own."""
    return [index if d == dim else b.iota(d, tensor(shape(index), i64)) for d in range(len(shape(index)))]


def along(b: OpBuilder, operands: Sequence[Value], dim: int) -> list[Value]:
    """The ops of gather along a dimension."""
    x, index = operands
    return read(b, (x, *coordinates(b, index, dim)), tuple(range(len(shape(index)))))


INDEX = register(OPERATIONS, "index", "IndexBackward0", read, kernel=kernels.index, differentiable=slice(1))
INDEX_PUT = register(OPERATIONS, "index_put", "IndexPutBackward0", written(core.Kind.set), kernel=kernels.index_put, differentiable=slice(2))
INDEX_SELECT = register(OPERATIONS, "index_select", "IndexSelectBackward0", read, kernel=kernels.index_select, differentiable=slice(1))
GATHER = register(
    OPERATIONS,
    "gather",
    "GatherBackward0",
    along,
    kernel=kernels.gather,
    differentiable=slice(1),
)
EMBEDDING = register(OPERATIONS, "embedding", "EmbeddingBackward0", read, kernel=kernels.index, differentiable=slice(1))


# -- reading an index


def _parts(x: Tensor, index: Any) -> list[Any]:
    """The index as a list with one entry for each dimension of x that it covers; lists are tensors, an ellipsis is written out."""
    if isinstance(index, list) and not all(isinstance(part, int) for part in listed(index)):
        index = tuple(listed(index))  # a list of lists, slices, tensors and the like is a tuple of them
    whole: Any = index  # pyright: ignore[reportUnknownVariableType]
    given = [_as_tensor(i) for i in (listed(whole) if isinstance(whole, tuple) else [whole])]
    given = [bool(i) if _is_mask(i) and not i.array.ndim else i for i in given]
    covered = sum(i.array.ndim if _is_mask(i) else 1 for i in given if i is not None and i is not Ellipsis and not isinstance(i, bool))
    if covered > x.array.ndim:
        raise IndexError(f"too many indices: {covered} for a tensor of {x.array.ndim} dimensions")
    spot = next((n for n, i in enumerate(given) if i is Ellipsis), None)
    if spot is not None:
        given[spot : spot + 1] = [slice(None)] * (x.array.ndim - covered)
    return given


def _as_tensor(part: Any) -> Any:
    """Lists and arrays as tensors, anything else as it is."""
    return dispatch.constant(np.asarray(cast(Any, part))) if isinstance(part, list | np.ndarray) else part


def _is_tensor(part: Any) -> bool:
    return hasattr(part, "array")


def _is_mask(part: Any) -> bool:
    return _is_tensor(part) and part.array.dtype == BOOL


def _viewed(x: Tensor, parts: list[Any]) -> tuple[Tensor, list[tuple[int, Tensor]]]:
    """x seen through the numbers, slices and new dimensions of an index, and the tensors that are left, by dimension."""
    dim = 0
    left: list[tuple[int, Tensor]] = []
    for part in parts:
        if part is None:
            x = views.unsqueeze(x, dim)
            dim += 1
        elif isinstance(part, bool):  # a mask without dimensions: all of it, or nothing
            x = views.cut(views.unsqueeze(x, dim), dim, slice(None) if part else slice(0))
            dim += 1
        elif isinstance(part, slice):
            chosen = cast("slice[Any, Any, Any]", part)
            if chosen.indices(x.array.shape[dim]) != (0, x.array.shape[dim], 1) or len(parts) == 1:
                x = views.cut(x, dim, chosen)
            dim += 1
        elif _is_mask(part):
            if part.array.shape != x.array.shape[dim : dim + part.array.ndim]:
                raise IndexError(f"a mask of shape {list(part.array.shape)} does not fit a tensor of shape {list(x.array.shape)} at dimension {dim}")
            for column in nonzero(part):
                left.append((dim, column))
                dim += 1
        elif _is_tensor(part) and part.array.ndim:
            if part.array.dtype.kind not in "iu":
                raise IndexError(f"tensors used as indices must be of integers or booleans, found {part.array.dtype.name}")
            left.append((dim, part))
            dim += 1
        else:
            x = views.select(x, dim, part.__index__())
    return x, left


def nonzero(mask: Tensor) -> tuple[Tensor, ...]:
    """The positions where a mask holds, one tensor for each dimension. Their number is seen, and so is a thing to guard."""
    return tuple(dispatch.constant(column) for column in np.nonzero(reading.seen(mask)))


# -- as functions of tensors


def get(x: Tensor, index: Any) -> Tensor:
    """x[index]."""
    if type(index) is int:
        return views.select(x, 0, index)
    parts = _parts(x, index)
    seen, left = _viewed(x, parts)
    if not left:
        if any(isinstance(part, bool) for part in parts):  # a mask selects a copy
            return seen.clone()
        return views.alias(x) if seen is x else seen
    dims = tuple(d for d, _ in left)
    return dispatch.apply(INDEX, (seen, *(i for _, i in left)), dims)


def put(x: Tensor, index: Any, value: Any) -> None:
    """x[index] = value, in place."""
    seen, left = _viewed(x, _parts(x, index)) if type(index) is not int else (views.select(x, 0, index), [])
    if seen is x:
        seen = views.cut(x, 0, slice(None)) if not left and x.array.ndim else x
    if hasattr(value, "array"):
        value = _without_leading_ones(value, seen.array.ndim if not left else 0)
    if not left:
        if isinstance(value, bool | int | float):
            inplace.change(inplace.FILL, seen, params=value)
        else:
            inplace.change(inplace.COPY, seen, value)
        return
    if isinstance(value, bool | int | float):
        value = dispatch.constant(np.asarray(value, x.array.dtype))
    inplace.change_many(INDEX_PUT, seen, (value.to(x.array.dtype), *(i for _, i in left)), tuple(d for d, _ in left))


def _without_leading_ones(value: Tensor, rank: int) -> Tensor:
    """A value without dimensions of extent 1 in front that a target of fewer dimensions has not."""
    extents = value.array.shape
    first = next((d for d, n in enumerate(extents) if n != 1), len(extents))
    return views.view(value, extents[min(first, len(extents) - rank) :]) if len(extents) > rank and first else value


def vector_index(index: Tensor, name: str) -> Tensor:
    """An index of positions along one dimension, as int64; a ShapeError if it is none."""
    if index.array.dtype.kind not in "iu" or index.array.ndim > 1:
        raise ShapeError(f"{name}: the index must be a vector of integers, found {index.array.dtype.name}{list(index.array.shape)}")
    return index.to(INT64).reshape(-1)


def full_index(x: Tensor, dim: int, index: Tensor, name: str) -> Tensor:
    """An index with as many dimensions as x, nowhere larger but along one, as int64; a ShapeError if it is none."""
    have, fits = index.array.shape, x.array.shape
    if index.array.dtype.kind not in "iu":
        raise ShapeError(f"{name}: the index must be of integers, found {index.array.dtype.name}")
    if len(have) != len(fits) or any(n > m and d != dim for d, (n, m) in enumerate(zip(have, fits, strict=True))):
        raise ShapeError(f"{name}: an index of shape {list(have)} does not fit a tensor of shape {list(fits)} along dimension {dim}")
    return index.to(INT64)


def index_select(x: Tensor, dim: int, index: Tensor) -> Tensor:
    """The positions of an index along a dimension; of a tensor of no dimensions its only element."""
    if x.array.ndim == 0:
        return index_select(x.reshape(1), dimension(dim, 0, "index_select"), index).reshape(())
    return dispatch.apply(INDEX_SELECT, (x, vector_index(index, "index_select")), (dimension(dim, x.array.ndim, "index_select"),))


def gather(x: Tensor, dim: int, index: Tensor, *, sparse_grad: bool = False) -> Tensor:
    """result[i][j] = x[index[i][j]][j] for dim = 0, and so on; a tensor of no dimensions counts as one of one element. Gradients are dense."""
    d = dimension(dim, x.array.ndim, "gather")
    if x.array.ndim == 0 or index.array.ndim == 0:
        rows, places = (t.reshape(1) if t.array.ndim == 0 else t for t in (x, index))
        return gather(rows, dim, places).reshape(*index.array.shape)
    return dispatch.apply(GATHER, (x, full_index(x, d, index, "gather")), d)


def embedding(index: Tensor, weight: Tensor) -> Tensor:
    """The rows of a matrix at the positions of an index."""
    if index.array.ndim == 0:
        return embedding(index.reshape(1), weight).reshape(*weight.array.shape[1:])
    return dispatch.apply(EMBEDDING, (weight, index), (0,))
