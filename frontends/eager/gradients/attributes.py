"""Reads and assigns the attributes ``grad``, ``grad_dtype`` and ``data`` of a tensor, and refuses what they cannot be."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from warnings import warn

import numpy as np

from wengert.eager.errors import AutogradError
from wengert.eager.recording import dispatch

if TYPE_CHECKING:
    from wengert.eager.tensor import Tensor


OWN: Any = "own"
"""Stands for the dtype of the tensor itself, as that of its gradient."""


def grad_dtype(x: Tensor) -> np.dtype[Any] | None:
    """The dtype that the gradient of a leaf is converted to; None where it stays in the one in which it arrives.

    Raises:
        AutogradError: it is not a leaf.
    """
    if not x.is_leaf:
        raise AutogradError("grad_dtype can only be accessed on leaf tensors")
    return x.array.dtype if x.gradient_dtype is OWN else x.gradient_dtype


def set_grad_dtype(x: Tensor, dtype: Any) -> None:
    """Says what :func:`grad_dtype` is.

    Raises:
        AutogradError: it is not a leaf, or has a gradient of another dtype.
    """
    if not x.is_leaf:
        raise AutogradError("grad_dtype can only be set on leaf tensors")
    chosen = None if dtype is None else np.dtype(dtype)
    known = x._grad  # pyright: ignore[reportPrivateUsage]
    if known is not None and chosen is not None and known.array.dtype != chosen:
        raise AutogradError(f"Cannot set grad_dtype to {chosen.name} because there is already a gradient with dtype {known.array.dtype.name}")
    x.gradient_dtype = OWN if chosen == x.array.dtype else chosen


def in_gradient_dtype(x: Tensor, cotangent: Tensor) -> Tensor:
    """A leaf's gradient as it arrives, in the dtype of the gradient."""
    dtype = x.gradient_dtype
    if dtype is None or cotangent.array.dtype == (x.array.dtype if dtype is OWN else dtype):
        return cotangent
    return cotangent.to(x.array.dtype if dtype is OWN else dtype)


def volatile(x: Tensor) -> bool:
    """False, with a warning."""
    warn("volatile was removed (Variable.volatile is always False); use no_grad() instead", UserWarning, stacklevel=2)
    return False


def warn_of_nothing(x: Tensor) -> None:
    """Warns where the gradient of a tensor is read that is not a leaf and keeps none."""
    if not x.is_leaf and not x.retains_grad:
        warn(
            "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its gradient is not kept in a backward pass;"
            " call retain_grad() before, or read that of the leaf",
            UserWarning,
            stacklevel=3,
        )


def check_gradient(x: Tensor, value: Any) -> None:
    """Raises an error if a value cannot be the gradient of a tensor: a TypeError, or an AutogradError where it does not fit."""
    if not hasattr(value, "array"):
        raise TypeError(f"assigned grad expected to be a Tensor or None but got grad of type {type(value).__name__}")
    if value is x:
        raise AutogradError("a tensor cannot be its own grad")
    dtype = x.gradient_dtype
    if dtype is not OWN and value.array.shape == x.array.shape:
        if dtype is not None and value.array.dtype != dtype:
            raise AutogradError(f"attempting to assign a gradient with dtype {value.array.dtype.name} to a tensor with grad_dtype {dtype.name}")
        return
    if (value.array.shape, value.array.dtype) != (x.array.shape, x.array.dtype):
        shown = dispatch.describe_types([(v.array.shape, v.array.dtype) for v in (value, x)])
        raise AutogradError(f"grad must have the shape and dtype of its tensor, found {shown}")


def refuse_deletion(x: Tensor) -> None:
    """Raises an AutogradError: of a tensor's attributes, only ``grad`` can be deleted. (``__delattr__`` would make every attribute slower to set.)"""
    raise AutogradError("only grad can be deleted of the attributes of a tensor")


def check_data(x: Tensor, value: Any) -> None:
    """Raises an error if a value cannot become the memory of a tensor."""
    if not hasattr(value, "array"):
        raise TypeError(f"assigned data expected to be a Tensor but got {type(value).__name__}")
    if x.tracked and value.array.dtype.kind not in "fVc":
        raise AutogradError(f"data of a tensor that requires gradients must be floating point or complex dtype, found {value.array.dtype.name}")
