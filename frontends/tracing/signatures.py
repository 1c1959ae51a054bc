"""The types of arguments while a function is traced: shape, dtype, and whether the dtype is weak."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from xdsl.dialects.builtin import TensorType

from wengert.frontends.tracing.errors import type_error
from wengert.frontends.tracing.operands import Shape, is_number
from wengert.frontends.tracing.tracer import TracedArray
from wengert.frontends.tracing.weak_types import WEAK, DType
from wengert.ir.tensor_types import element_of, tensor
from wengert.runtime.arguments import plain_key


@dataclass(frozen=True)
class ArraySpec:
    """An array without its elements: what traced functions can be asked about (``f.ir(ArraySpec((3,), "float32"))``)."""

    shape: Shape
    dtype: DType
    weak: bool = False

    def __init__(self, shape: Any, dtype: Any, weak: bool = False):
        object.__setattr__(self, "shape", tuple(shape))
        object.__setattr__(self, "dtype", np.dtype(dtype))
        object.__setattr__(self, "weak", weak)

    @property
    def type(self) -> TensorType[Any]:
        """The type of values."""
        return tensor(self.shape, element_of(self.dtype))

    @property
    def size(self) -> int:
        """The number of elements."""
        return int(np.prod(self.shape, dtype=np.int64))

    @property
    def differentiable(self) -> bool:
        """Whether it has tangents."""
        return self.dtype.kind not in "biu"

    def __str__(self) -> str:
        return f"{self.dtype.name}[{', '.join(map(str, self.shape))}]{' (weak)' if self.weak else ''}"


def _kind(leaf: Any) -> Any:
    return leaf.__class__


def _dtype(leaf: Any) -> Any:
    return getattr(leaf, "dtype", WEAK[int])


def is_array_leaf(leaf: Any) -> bool:
    """Whether a leaf is an array or a number, so that it is traced; other objects are passed on as they are."""
    if isinstance(leaf, TracedArray | np.ndarray | np.generic | ArraySpec) or is_number(leaf):
        return _dtype(leaf).kind not in "OSUmM"
    return hasattr(leaf, "shape") and hasattr(leaf, "dtype") and not isinstance(leaf, type)


def spec_of(leaf: Any) -> ArraySpec:
    """The shape and dtype of an array leaf, and whether the dtype is weak."""
    if isinstance(leaf, ArraySpec):
        return leaf
    if isinstance(leaf, TracedArray):
        return ArraySpec(leaf.shape, leaf.dtype, leaf.weak)
    if is_number(leaf):
        return ArraySpec((), WEAK.get(_kind(leaf)) or np.asarray(leaf).dtype, True)
    leaf = plain_key(leaf)
    try:
        dtype = np.dtype(_dtype(leaf))
        dtype = dtype if dtype.isnative else dtype.newbyteorder("=")  # which is another object even where nothing changes, and compiled code asks for this one
        element_of(dtype)
    except (KeyError, TypeError):
        raise type_error(f"there are no traced arrays of dtype {leaf.dtype}") from None
    return ArraySpec(leaf.shape, dtype)
