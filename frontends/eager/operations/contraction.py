"""Products of vectors and matrices, decomposed into the same steps as PyTorch takes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from wengert.dialects.builder import OpBuilder, Value
from wengert.eager.errors import ShapeError
from wengert.eager.operations import kernels
from wengert.eager.operations.elementwise import broadcast
from wengert.eager.operations.memory import views
from wengert.eager.recording import dispatch
from wengert.eager.recording.operation import Operation, register
from wengert.ir.tensor_types import shape

if TYPE_CHECKING:
    from wengert.eager.tensor import Tensor

OPERATIONS: dict[str, Operation] = {}


def _vectors(b: OpBuilder, x: Sequence[Value], _: Any) -> list[Value]:
    return [b.dot_general(x[0], x[1], ([len(shape(x[0])) - 1], [0]))]


def _batched(b: OpBuilder, x: Sequence[Value], _: Any) -> list[Value]:
    return [b.dot_general(x[0], x[1], ([2], [1]), ([0], [0]))]


def _addmm(b: OpBuilder, x: Sequence[Value], _: Any) -> list[Value]:
    product = b.dot_general(x[1], x[2], ([1], [0]))
    return [b.add(broadcast(b, x[0], shape(product)), product)]


DOT = register(OPERATIONS, "dot", "DotBackward0", _vectors, kernel=np.matmul)
MV = register(OPERATIONS, "mv", "MvBackward0", _vectors, kernel=np.matmul)
MM = register(OPERATIONS, "mm", "MmBackward0", _vectors, kernel=kernels.product)
BMM = register(OPERATIONS, "bmm", "BmmBackward0", _batched, kernel=kernels.product)
ADDMM = register(OPERATIONS, "addmm", "AddmmBackward0", _addmm, kernel=kernels.addmm)

_PRODUCTS = {(1, 1): DOT, (2, 1): MV, (2, 2): MM}


def matmul(x: Tensor, other: Tensor) -> Tensor:
    """The product of vectors, matrices, or stacks of matrices, whose leading dimensions broadcast."""
    a, c = x.array, other.array
    m, n = a.ndim, c.ndim
    if m == 0 or n == 0 or a.shape[-1] != c.shape[-2 if n > 1 else 0]:
        raise ShapeError(f"matmul: the shapes {list(a.shape)} and {list(c.shape)} do not go together")
    if a.dtype != c.dtype:
        raise ShapeError(f"matmul: both operands must have one dtype, found {x.array.dtype.name} and {other.array.dtype.name}")
    if m <= 2 and n <= 2:
        if m == 1 and n == 2:
            return views.see(views.SQUEEZE_PRODUCT, dispatch.apply(MM, (views.unsqueeze(x, 0), other)), (0,))
        return dispatch.binary(_PRODUCTS[m, n], x, other)
    if m >= 3 and n <= 2:
        return _folded(x, other)
    return _stacked(x, other)


def _folded(x: Tensor, y: Tensor) -> Tensor:
    """A stack of matrices times one matrix or vector: one large product."""
    rows = x.array.shape[:-1]
    flat = views.reshape(x, (-1, x.array.shape[-1]))
    if y.array.ndim == 1:
        return dispatch.apply(views.UNSAFE_VIEW, (dispatch.apply(MV, (flat, y)),), rows)
    return dispatch.apply(views.UNSAFE_VIEW, (dispatch.apply(MM, (flat, y)),), (*rows, y.array.shape[-1]))


def _stacked(x: Tensor, y: Tensor) -> Tensor:
    vector = x.array.ndim == 1, y.array.ndim == 1
    if vector[0]:
        x = views.unsqueeze(x, 0)
    if vector[1]:
        y = views.unsqueeze(y, 1)
    try:
        batch = np.broadcast_shapes(x.array.shape[:-2], y.array.shape[:-2])
    except ValueError:
        raise ShapeError(f"matmul: the shapes {list(x.array.shape)} and {list(y.array.shape)} do not go together") from None
    size = int(np.prod(batch, dtype=np.int64))
    stacks = [views.reshape(views.expand(v, (*batch, *v.array.shape[-2:])), (size, *v.array.shape[-2:])) for v in (x, y)]
    product = dispatch.apply(BMM, stacks)
    made = dispatch.apply(views.UNSAFE_VIEW, (product,), (*batch, *product.array.shape[-2:]))
    if vector[0]:
        made = views.squeeze(made, -2)
    return views.squeeze(made, -1) if vector[1] else made


def addmm(c: Tensor, x: Tensor, y: Tensor, *, beta: float = 1, alpha: float = 1) -> Tensor:
    """beta c + alpha x y, where c broadcasts."""
    if alpha != 1 or beta != 1:
        return (c if beta == 1 else c * beta) + (x @ y) * alpha
    if x.array.ndim != 2 or y.array.ndim != 2 or x.array.shape[1] != y.array.shape[0]:
        raise ShapeError(f"addmm: the shapes {list(x.array.shape)} and {list(y.array.shape)} do not go together")
    result = (x.array.shape[0], y.array.shape[1])
    if c.array.ndim > 2 or np.broadcast_shapes(c.array.shape, result) != result:
        raise ShapeError(f"addmm: a {list(c.array.shape)} tensor does not expand to the product's {list(result)}")
    return dispatch.apply(ADDMM, (c, x, y))
