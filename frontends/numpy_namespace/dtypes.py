"""Dtypes (NumPy's, and bfloat16) and the functions of them. Default dtypes are NumPy's: float64, int64, complex128."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
from ml_dtypes import bfloat16
from numpy import bool_ as bool
from numpy import complex64, complex128, float16, float32, float64, int8, int16, int32, int64, uint8, uint16, uint32, uint64

from wengert.frontends.tracing.operands import convert, dtype_of_operand, is_number, traced, value_of
from wengert.frontends.tracing.tracer import TracedArray
from wengert.frontends.tracing.weak_types import join
from wengert.numpy.dispatch import NUMPY, Array, ArrayLike


def astype(x: ArrayLike, dtype: Any, /, *, copy: Any = True, device: Any = None) -> Array:
    """``x`` with another dtype; a complex number loses its imaginary part, a float what follows the point."""
    if isinstance(x, TracedArray):
        return traced(convert(value_of(x), np.dtype(dtype)))
    return np.asarray(x).astype(dtype, copy=copy)


def result_type(*arrays_and_dtypes: Any) -> np.dtype[Any]:
    """The dtype of the result of operands, arrays, dtypes and Python numbers, together."""
    return join(
        [dtype_of_operand(x) if isinstance(x, TracedArray) or is_number(x) or hasattr(x, "shape") else (np.dtype(x), False) for x in arrays_and_dtypes]
    )[0]


def can_cast(from_: Any, to: Any, /) -> Any:
    """Whether NumPy's promotion rules let one dtype become another."""
    return np.can_cast(from_.dtype if isinstance(from_, TracedArray) else from_, to)


def isdtype(dtype: Any, kind: Any) -> Any:
    """Whether a dtype is of a kind: a dtype, one of the standard's words, or a tuple of such."""
    return np.isdtype(np.dtype(dtype), kind)


def finfo(type: Any, /) -> Any:
    """The limits of a float dtype, or of an array's."""
    dtype = np.dtype(getattr(type, "dtype", type))
    if dtype == bfloat16:
        return import_module("ml_dtypes").finfo(dtype)
    return NUMPY.finfo(dtype)


def iinfo(type: Any, /) -> Any:
    """The limits of an integer dtype, or of an array's."""
    return np.iinfo(np.dtype(getattr(type, "dtype", type)))


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
