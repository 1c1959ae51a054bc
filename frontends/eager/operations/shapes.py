"""The methods that give another shape, where extents may be written one by one: ``x.view(2, 3)`` or ``x.view((2, 3))``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wengert.eager.containers import extents
from wengert.eager.operations import joining
from wengert.eager.operations.memory import views

if TYPE_CHECKING:
    from wengert.eager.tensor import Tensor


def view(x: Tensor, *shape: Any) -> Tensor:
    """Another shape of the same memory."""
    return views.view(x, extents(shape))


def view_as(x: Tensor, other: Tensor) -> Tensor:
    """The shape of another tensor, of the same memory."""
    return views.view(x, other.shape)


def reshape(x: Tensor, *shape: Any) -> Tensor:
    """Another shape: a view where possible, else a copy."""
    return views.reshape(x, extents(shape))


def expand(x: Tensor, *shape: Any) -> Tensor:
    """Repeated without copying."""
    return views.expand(x, extents(shape))


def expand_as(x: Tensor, other: Tensor) -> Tensor:
    """Repeated to the shape of another tensor."""
    return views.expand(x, other.shape)


def permute(x: Tensor, *order: Any) -> Tensor:
    """Dimensions in another order."""
    return views.permute(x, extents(order))


def transpose(x: Tensor, first: int, second: int) -> Tensor:
    """Two dimensions exchanged."""
    return views.transpose(x, first, second)


def t(x: Tensor) -> Tensor:
    """The transpose of a matrix; what has fewer dimensions as it is."""
    views.check_rank(x, "t", 0, 2)
    return views.transpose(x, 0, min(1, x.array.ndim - 1), views.T)


def reversed_dimensions(x: Tensor) -> Tensor:
    """All dimensions in reverse."""
    return views.permute(x, tuple(reversed(range(x.array.ndim))))


def transposed_matrices(x: Tensor) -> Tensor:
    """The last two dimensions exchanged; of a tensor without dimensions nothing."""
    return views.transpose(x, -2, -1) if x.array.ndim else x


def adjoint(x: Tensor) -> Tensor:
    """The last two dimensions exchanged, and complex numbers conjugated."""
    y = views.transpose(x, -2, -1)
    return y.conj() if x.array.dtype.kind == "c" else y


def flip(x: Tensor, *args: Any, dims: Any = None) -> Tensor:
    """Dimensions in reverse, as a copy."""
    return joining.flip(x, extents(args if dims is None else (dims,)))
