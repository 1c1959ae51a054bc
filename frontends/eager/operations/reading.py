"""Looking at a tensor's elements from Python. A tape that is listening is told what was seen, because what follows may depend on it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from wengert.eager.errors import AutogradError, InPlaceError
from wengert.eager.operations import joining
from wengert.eager.recording import dispatch
from wengert.eager.recording.modes import STATE
from wengert.eager.recording.program import Array

if TYPE_CHECKING:
    from wengert.eager.tensor import Tensor


def item(x: Tensor) -> Any:
    """The only element, as a Python number."""
    if x.array.size != 1:
        raise AutogradError(f"a tensor with {x.array.size} elements is not a number")
    value = x.array.item()
    if STATE.tape is not None:
        STATE.tape.concretized(x, value)
    return value


def seen(x: Tensor) -> Array:
    """All elements."""
    if STATE.tape is not None:
        STATE.tape.concretized(x, x.array.copy())
    return x.array


def tolist(x: Tensor) -> Any:
    """The elements as nested lists."""
    return seen(x).tolist()


def numpy(x: Tensor) -> Array:
    """The elements as an array that shares the tensor's memory; an error where that would lose a gradient, which without gradients is nowhere."""
    if x.tracked and STATE.recording:
        raise AutogradError("Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.")
    return seen(x)


def as_array(x: Tensor, dtype: Any = None, copy: bool | None = None) -> Array:
    """The tensor as a NumPy array."""
    array = numpy(x)
    return array if dtype is None and not copy else np.array(array, dtype)


def as_float(x: Tensor) -> float:
    """The only element as a Python float."""
    return float(item(x))


def as_int(x: Tensor) -> int:
    """The only element as a Python integer."""
    return int(item(x))


def as_index(x: Tensor) -> int:
    """The only element as an index, which must be an integer."""
    if x.array.dtype.kind not in "iu":
        raise TypeError(f"only tensors of integers can be indices, found {x.array.dtype.name}")
    return item(x)


def as_bool(x: Tensor) -> bool:
    """Whether the only element holds."""
    if x.array.size != 1:
        raise AutogradError(f"the truth of a tensor with {x.array.size} elements is ambiguous; use any() or all()")
    return bool(item(x))


def length(x: Tensor) -> int:
    """The first extent."""
    if x.array.ndim == 0:
        raise TypeError("a tensor without dimensions has no length")
    return x.array.shape[0]


def rows(x: Tensor) -> Iterator[Tensor]:
    """The tensors at each position of the first dimension."""
    if x.array.ndim == 0:
        raise TypeError("a tensor without dimensions cannot be iterated over")
    return iter(joining.unbind(x))


def shown(x: Tensor) -> str:
    """The elements, the dtype where it is not the usual one, and where gradients go."""
    elements = np.array2string(x.array, separator=", ", prefix="tensor(")
    suffix = "" if x.array.dtype.name in ("float32", "int64", "bool") else f", dtype={x.array.dtype.name}"
    try:
        node = x.grad_fn
    except InPlaceError:  # a view that does not know where it stands any more
        return f"tensor({elements}{suffix}, grad_fn=<Invalid>)"
    tangent = getattr(STATE.tape, "tangent", None)
    pushed = None if tangent is None else tangent(x)
    suffix += f", grad_fn=<{node.name()}>" if node else ", requires_grad=True" if x.tracked else ""
    return f"tensor({elements}{suffix}{'' if pushed is None else f', tangent={pushed}'})"


def all(x: Tensor, dim: int | tuple[int, ...] | None = None, keepdim: bool = False) -> Tensor:
    """Whether every element holds, of all or along dimensions."""
    return _logical(x, dispatch.new(seen(x).all()) if dim is None else (x != 0).long().amin(dim, keepdim).bool())


def any(x: Tensor, dim: int | tuple[int, ...] | None = None, keepdim: bool = False) -> Tensor:
    """Whether some element holds, of all or along dimensions."""
    return _logical(x, dispatch.new(seen(x).any()) if dim is None else (x != 0).long().amax(dim, keepdim).bool())


def _logical(x: Tensor, holds: Tensor) -> Tensor:
    """A truth, which is a uint8 for tensors of uint8."""
    return holds.to(np.uint8) if x.array.dtype == np.uint8 else holds
