"""Dtypes (NumPy's, and bfloat16) and the functions of them. Default dtypes are NumPy's: float64, int64, complex128."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
from ml_dtypes import bfloat16
from numpy import bool_ as bool
from numpy import complex64, complex128, float16, float32, float64, int8, int16, int32, int64, uint8, uint16, uint32, uint64

from wengert.frontends.tracing.errors import value_error
from wengert.frontends.tracing.operands import convert, dtype_of_operand, is_number, traced, value_of
from wengert.frontends.tracing.tracer import TracedArray
from wengert.frontends.tracing.weak_types import DType, join
from wengert.numpy.devices import on_device
from wengert.numpy.dispatch import NUMPY, Array, ArrayLike, copied


@on_device
def astype(x: ArrayLike, dtype: Any, /, *, copy: Any = True, device: Any = None) -> Array:
    """``x`` with another dtype; a complex number loses its imaginary part, a float what follows the point."""
    if isinstance(x, TracedArray):
        converted = traced(convert(value_of(x), np.dtype(dtype)))
        return copied(converted) if copy or converted.dtype != x.dtype else converted.viewing(x)
    return np.asarray(x).astype(dtype, copy=copy)


def result_type(*arrays_and_dtypes: Any) -> np.dtype[Any]:
    """The dtype of the result of operands, arrays, dtypes (NumPy's scalar types too) and Python numbers, together."""
    if not arrays_and_dtypes:
        raise value_error("result_type needs an array or a dtype at least")
    return join([_operand_or_dtype(x) for x in arrays_and_dtypes])[0]


def _operand_or_dtype(x: Any) -> tuple[DType, Any]:
    """The dtype of an operand and whether it is weak; a dtype stands for itself."""
    if isinstance(x, TracedArray) or is_number(x):
        return dtype_of_operand(x)
    return _dtype_asked(x), False


def _dtype_asked(x: Any) -> DType:
    """A dtype, given as such, as one of NumPy's scalar types (whose own ``dtype`` is no dtype but a descriptor), or by an array that has it."""
    own = getattr(x, "dtype", None)
    return own if isinstance(own, np.dtype) else np.dtype(x)  # pyright: ignore[reportUnknownVariableType]


def can_cast(from_: Any, to: Any, /) -> Any:
    """Whether NumPy's promotion rules let one dtype (or that of an array) become another."""
    return np.can_cast(_dtype_asked(from_), to)


def isdtype(dtype: Any, kind: Any) -> Any:
    """Whether a dtype is of a kind: a dtype, one of the standard's words, or a tuple of such."""
    return np.isdtype(np.dtype(dtype), kind)


def finfo(type: Any, /) -> FloatLimits:
    """The limits of a float dtype, of the parts of a complex one, or of an array's."""
    dtype = _dtype_asked(type)
    limits = import_module("ml_dtypes").finfo(dtype) if dtype == bfloat16 else NUMPY.finfo(dtype)
    return FloatLimits(limits)


class FloatLimits:
    """The result of :func:`finfo`: the standard's attributes as Python's own numbers, the others (``tiny``, ``resolution``) as NumPy has them.

    Attributes:
        bits: how many bits a number (a part of a complex one) takes.
        eps: the distance from 1 to the next larger number.
        max, min: the largest number and its negative.
        smallest_normal: the smallest positive number that is not subnormal.
        dtype: the real dtype that these are the limits of.
    """

    def __init__(self, limits: Any):
        self._limits = limits
        self.bits = int(limits.bits)
        self.eps = float(limits.eps)
        self.max = float(limits.max)
        self.min = float(limits.min)
        self.smallest_normal = float(limits.smallest_normal)
        self.dtype: DType = np.dtype(limits.dtype)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._limits, name)

    def __repr__(self) -> str:
        return f"finfo(dtype={self.dtype.name}, bits={self.bits}, eps={self.eps}, max={self.max}, min={self.min}, smallest_normal={self.smallest_normal})"


def iinfo(type: Any, /) -> np.iinfo[Any]:
    """The limits of an integer dtype, or of an array's."""
    return np.iinfo(_dtype_asked(type))


__all__ = [
    "astype",
    "bfloat16",
    "bool",
    "can_cast",
    "complex64",
    "complex128",
    "finfo",
    "float16",
    "float32",
    "float64",
    "iinfo",
    "int8",
    "int16",
    "int32",
    "int64",
    "isdtype",
    "result_type",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
]
