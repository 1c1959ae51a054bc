"""The device of a tensor and its layout in memory, as code that was written for PyTorch asks for them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from wengert.eager.recording.program import Array

if TYPE_CHECKING:
    from wengert.eager.tensor import Tensor


class device:  # noqa: N801  (the name under which it is known)
    """A device by its name; there is one, the processor.

    >>> import wengert.eager as eager
    >>> eager.zeros(2).device == eager.device("cpu")
    True
    """

    type: str
    index: int | None

    def __init__(self, name: str | device = "cpu", index: int | None = None):
        given = str(name)
        kind, _, number = given.partition(":")
        if kind != "cpu":
            raise RuntimeError(f"there is no device {given!r}: define-by-run code runs on the processor, compiled programs on others (wengert devices)")
        self.type = kind
        self.index = int(number) if number else index

    def __eq__(self, other: object) -> bool:
        return isinstance(other, device) and (self.type, self.index) == (other.type, other.index)

    def __hash__(self) -> int:
        return hash((self.type, self.index))

    def __str__(self) -> str:
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __repr__(self) -> str:
        return f"device(type={self.type!r})"


class _Layout:
    """A word for how elements lie in memory."""

    def __init__(self, name: str):
        self.name = name

    def __repr__(self) -> str:
        return f"wengert.eager.{self.name}"


strided, contiguous_format, preserve_format = _Layout("strided"), _Layout("contiguous_format"), _Layout("preserve_format")
CPU = device("cpu")


def stride(x: Tensor, dim: int | None = None) -> Any:
    """The steps in memory from one position to the next, in elements: a tuple, or that along one dimension."""
    size = x.array.dtype.itemsize
    steps = tuple(s // size for s in x.array.strides)
    return steps if dim is None else steps[dim]


def storage_offset(x: Tensor) -> int:
    """The place of its first element in its memory, in elements."""
    base = memory(x)
    return (data_ptr(x) - base.__array_interface__["data"][0]) // x.array.dtype.itemsize


def memory(x: Tensor) -> Array:
    """All elements of the memory that x is a part of: those of its base, and of a detached view those of what it was a view of."""
    if x.view_of is not None:
        x = x.view_of.base
    whole = None if x.storage is None else x.storage.memory
    # After resize_ or set_ a tensor has other memory than the rest of those that shared it.
    return x.array if whole is None or not np.may_share_memory(x.array, whole) else whole


def data_ptr(x: Tensor) -> int:
    """The address of its first element."""
    return x.array.__array_interface__["data"][0]


def element_size(x: Tensor) -> int:
    """The bytes of an element."""
    return x.array.dtype.itemsize


def is_contiguous(x: Tensor, memory_format: Any = None) -> bool:
    """Whether its elements lie in memory in row-major order."""
    return bool(x.array.flags.c_contiguous)
