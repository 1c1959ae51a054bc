"""What may be read from and put into the attributes ``grad`` and ``data`` of a tensor."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from warnings import warn

from wengert.eager.errors import AutogradError
from wengert.eager.recording import dispatch

if TYPE_CHECKING:
    from wengert.eager.tensor import Tensor


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
