"""Diagonals of matrices, and what lies below and above them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from wengert.dialects import core
from wengert.dialects.builder import OpBuilder, Value
from wengert.eager.errors import ShapeError
from wengert.eager.operations.indexing import read, written
from wengert.eager.operations.memory import inplace, views
from wengert.eager.operations.memory.views import dimension
from wengert.eager.recording import dispatch
from wengert.eager.recording.operation import Operation, register
from wengert.eager.recording.program import Array
from wengert.ir.tensor_types import i64, shape, tensor

if TYPE_CHECKING:
    from wengert.eager.tensor import Tensor

OPERATIONS: dict[str, Operation] = {}
Diagonal = tuple[int, int, int]
"""The distance above the main diagonal, and the dimensions of rows and columns."""


# -- triangles


def _triangle(direction: str) -> Any:
    def emit(b: OpBuilder, x: Sequence[Value], offset: int) -> list[Value]:
        extents = shape(x[0])
        row, column = (b.iota(len(extents) - back, tensor(extents, i64)) for back in (2, 1))
        inside = b.compare(direction, column, b.add(row, b.full_like(row, offset)))
        return [b.select(inside, x[0], b.full_like(x[0], 0))]

    return emit


def _tril(offset: int, x: Array) -> Array:
    return np.tril(x, offset)


def _triu(offset: int, x: Array) -> Array:
    return np.triu(x, offset)


TRIL = register(OPERATIONS, "tril", "TrilBackward0", _triangle("LE"), kernel=_tril)
TRIU = register(OPERATIONS, "triu", "TriuBackward0", _triangle("GE"), kernel=_triu)


def _matrices(x: Tensor, name: str) -> Tensor:
    if x.array.ndim < 2:
        raise ShapeError(f"{name}: expected a matrix, or a stack of matrices, found a tensor of shape {list(x.array.shape)}")
    return x


def tril(x: Tensor, diagonal: int = 0) -> Tensor:
    """Matrices with zeros above a diagonal."""
    return dispatch.apply(TRIL, (_matrices(x, "tril"),), int(diagonal))


def triu(x: Tensor, diagonal: int = 0) -> Tensor:
    """Matrices with zeros below a diagonal."""
    return dispatch.apply(TRIU, (_matrices(x, "triu"),), int(diagonal))


def tril_(x: Tensor, diagonal: int = 0) -> Tensor:
    """Zeros above a diagonal, in place."""
    return inplace.change(TRIL, _matrices(x, "tril_"), params=int(diagonal))


def triu_(x: Tensor, diagonal: int = 0) -> Tensor:
    """Zeros below a diagonal, in place."""
    return inplace.change(TRIU, _matrices(x, "triu_"), params=int(diagonal))


# -- diagonals


def _start(extents: Sequence[int], given: Diagonal) -> tuple[int, int, int]:
    """The row and column at which a diagonal starts, and its length."""
    offset, first, second = given
    row, column = max(-offset, 0), max(offset, 0)
    return row, column, max(0, min(extents[first] - row, extents[second] - column))


def _places(b: OpBuilder, x: Value, given: Diagonal) -> tuple[list[int], list[Value]]:
    """The order of dimensions that has rows and columns last, and the positions in both."""
    row, column, length = _start(shape(x), given)
    counted = b.iota(0, tensor((length,), i64))
    rest = [d for d in range(len(shape(x))) if d not in given[1:]]
    return [*rest, *given[1:]], [b.add(counted, b.full_like(counted, start)) for start in (row, column)]


def _diagonal(b: OpBuilder, x: Sequence[Value], given: Diagonal) -> list[Value]:
    order, places = _places(b, x[0], given)
    n = len(order)
    return read(b, (b.transpose(x[0], order), *places), (n - 2, n - 1))


def _put(b: OpBuilder, base: Value, value: Value, given: Diagonal) -> Value:
    order, places = _places(b, base, given)
    n = len(order)
    made = written(core.Kind.set)(b, (b.transpose(base, order), value, *places), (n - 2, n - 1))[0]
    return b.transpose(made, [order.index(d) for d in range(n)])


def _seen(given: Diagonal, x: Array) -> Array:
    row, column, length = _start(x.shape, given)
    _, first, second = given
    rest = [d for d in range(x.ndim) if d not in (first, second)]
    corner = x[tuple(slice(row if d == first else column if d == second else 0, None) for d in range(x.ndim))]
    strides = [*(x.strides[d] for d in rest), x.strides[first] + x.strides[second]]
    return np.lib.stride_tricks.as_strided(corner, [*(x.shape[d] for d in rest), length], strides, writeable=x.flags.writeable)


DIAGONAL = register(OPERATIONS, "diagonal", "DiagonalBackward0", _diagonal, kernel=_seen, view=True, put=_put)


def diagonal(x: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """The diagonal of matrices in two dimensions, ``offset`` above the main one, as the last dimension of a view."""
    first, second = (dimension(d, x.array.ndim, "diagonal") for d in (dim1, dim2))
    if first == second or x.array.ndim < 2:
        raise ShapeError(f"diagonal: expected two dimensions, found {dim1} and {dim2} of a tensor of shape {list(x.array.shape)}")
    return views.see(DIAGONAL, x, (int(offset), first, second))
