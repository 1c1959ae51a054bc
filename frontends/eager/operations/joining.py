"""Operations that put tensors together and take them apart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from wengert.dialects.builder import OpBuilder, Value
from wengert.eager.errors import ShapeError
from wengert.eager.operations import kernels
from wengert.eager.operations.memory import views
from wengert.eager.operations.memory.views import SELECT, SLICE, dimension
from wengert.eager.operations.promotion import result_dtype
from wengert.eager.recording import dispatch
from wengert.eager.recording.modes import STATE
from wengert.eager.recording.operation import Operation, register
from wengert.ir.tensor_types import element_of, shape

if TYPE_CHECKING:
    from wengert.eager.tensor import Tensor

OPERATIONS: dict[str, Operation] = {}


def _cat(b: OpBuilder, parts: Sequence[Value], given: tuple[int, Any]) -> list[Value]:
    return [b.concatenate([b.convert(x, element_of(given[1])) for x in parts], given[0])]


def _stack(b: OpBuilder, parts: Sequence[Value], given: tuple[int, Any]) -> list[Value]:
    dim, dtype = given
    rows = [b.reshape(b.convert(x, element_of(dtype)), (*shape(x)[:dim], 1, *shape(x)[dim:])) for x in parts]
    return [b.concatenate(rows, dim)]


CAT = register(OPERATIONS, "cat", "CatBackward0", _cat, kernel=kernels.cat)
STACK = register(OPERATIONS, "stack", "StackBackward0", _stack, kernel=kernels.stack)
FLIP = register(OPERATIONS, "flip", "FlipBackward0", lambda b, x, dims: [b.reverse(x[0], dims)], kernel=kernels.flip)


def _pieces(b: OpBuilder, x: Sequence[Value], cuts: tuple[views.Cut, ...]) -> list[Value]:
    return [SLICE.emit(b, x, cut)[0] for cut in cuts]


def _positions(b: OpBuilder, x: Sequence[Value], chosen: tuple[tuple[int, int], ...]) -> list[Value]:
    return [SELECT.emit(b, x, one)[0] for one in chosen]


SPLIT = register(OPERATIONS, "split", "SplitBackward0", _pieces)
UNBIND = register(OPERATIONS, "unbind", "UnbindBackward0", _positions)


# -- as functions of tensors


def cat(parts: Sequence[Tensor], dim: int = 0) -> Tensor:
    """Tensors side by side along a dimension. Vectors without elements are left out beside tensors of another rank, as in PyTorch."""
    if not parts:
        raise ShapeError("cat: there are no tensors")
    if len({x.array.ndim for x in parts}) > 1:
        parts = [x for x in parts if x.array.shape != (0,)]
    return dispatch.apply(CAT, parts, (dimension(dim, parts[0].array.ndim, "cat"), result_dtype([x.array for x in parts])))


def stack(parts: Sequence[Tensor], dim: int = 0) -> Tensor:
    """Tensors side by side along a new dimension."""
    if not parts:
        raise ShapeError("stack: there are no tensors")
    if any(x.array.shape != parts[0].array.shape for x in parts):
        raise ShapeError(f"stack: the tensors must have one shape, found {', '.join(str(list(x.array.shape)) for x in parts)}")
    return dispatch.apply(STACK, parts, (dimension(dim, parts[0].array.ndim + 1, "stack"), result_dtype([x.array for x in parts])))


def taken_apart(op: Operation, one: Operation, x: Tensor, pieces: tuple[Any, ...]) -> tuple[Tensor, ...]:
    """Several views by one operation."""
    a = x.array
    made = tuple(dispatch.new(one.kernel(piece, a)) for piece in pieces)  # pyright: ignore[reportOptionalCall]
    frozen = views.unrecorded() or f"{views.ONE_OF_SEVERAL} It is one of those that '{op.name}' made at once"
    for view, piece in zip(made, pieces, strict=True):
        views.attach(one, x, piece, view, frozen)
    if x.tracked and STATE.recording:
        dispatch.record(op.signature(((a.shape, a.dtype),), pieces, 0b1), (x,), made)
    if STATE.tape is not None:
        STATE.tape.note(op, pieces, (x,), made)
    return made


def split(x: Tensor, size: int | Sequence[int], dim: int = 0) -> tuple[Tensor, ...]:
    """Pieces of a size (the last may be smaller) or of given sizes, as views."""
    d = dimension(dim, x.array.ndim, "split")
    extent = x.array.shape[d]
    sizes = [min(size, extent - start) for start in range(0, extent, size)] or [0] if isinstance(size, int) else list(size)
    ends = np.cumsum(sizes).tolist()
    if not ends or ends[-1] != extent:
        raise ShapeError(f"split: sizes {sizes} do not add up to the extent {extent} of dimension {d}")
    return taken_apart(SPLIT, SLICE, x, tuple((d, end - n, end, 1) for end, n in zip(ends, sizes, strict=True)))


def chunk(x: Tensor, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    """At most so many pieces of equal size, as views."""
    extent = x.array.shape[dimension(dim, x.array.ndim, "chunk")]
    return split(x, max(1, -(-extent // chunks)) if extent else [0] * chunks, dim)


def unbind(x: Tensor, dim: int = 0) -> tuple[Tensor, ...]:
    """Every position along a dimension, as views."""
    d = dimension(dim, x.array.ndim, "unbind")
    return taken_apart(UNBIND, SELECT, x, tuple((d, i) for i in range(x.array.shape[d])))


def flip(x: Tensor, dims: Sequence[int]) -> Tensor:
    """Dimensions in reverse, as a copy."""
    if not x.array.ndim:
        return x.clone()
    return dispatch.apply(FLIP, (x,), tuple(dimension(d, x.array.ndim, "flip") for d in dims))


def flatten(x: Tensor, start_dim: int = 0, end_dim: int = -1) -> Tensor:
    """Neighbouring dimensions as one; x itself where that is what it is."""
    rank = x.array.ndim
    first, last = dimension(start_dim, rank, "flatten"), dimension(end_dim, rank, "flatten")
    if first == last and rank:
        return x
    return views.reshape(x, (*x.array.shape[:first], -1, *x.array.shape[last + 1 :]))
