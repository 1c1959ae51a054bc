"""In which precision an op is computed.

* Arithmetic (``+ - * / sqrt``, rounding, comparisons) is computed in its own type; floats of 16 bits or fewer are
  computed in f32 and rounded once, which for these ops gives the correctly rounded result (f32 has more than twice as
  many bits plus two). Integers of fewer than 8 bits are computed in 8 and wrapped.
* Transcendental functions of anything narrower than f64 are computed in f64 and rounded once, so that the reference for
  f32 is right to the last bit but for rare ties. Backends are expected to differ by a few units in the last place.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import ml_dtypes
import numpy as np
from xdsl.ir import Attribute

from wengert.ir.tensor_types import c64, dtype_of, f64, is_float
from wengert.runtime.interpreter.rules import Function

_BYTES = {ml_dtypes.int2: np.int8, ml_dtypes.int4: np.int8, ml_dtypes.uint2: np.uint8, ml_dtypes.uint4: np.uint8}


@cache
def working_dtype(element_type: Attribute) -> np.dtype[Any]:
    """The NumPy type that arithmetic on elements of this type is done in."""
    dtype = dtype_of(element_type)
    if is_float(element_type) and dtype.itemsize <= 2:
        return np.dtype(np.float32)
    return np.dtype(_BYTES.get(dtype.type, dtype))


def arithmetic(function: Function, element_type: Attribute) -> Function:
    """The function on elements of this type, computed in its working type."""
    wide = working_dtype(element_type)
    return function if wide == dtype_of(element_type) else _through(function, wide, element_type)


def transcendental(function: Function, element_type: Attribute) -> Function:
    """The function on elements of this type, computed in f64 or complex128."""
    if is_float(element_type) and element_type != f64:
        return _through(function, np.dtype(np.float64), element_type)
    return _through(function, np.dtype(np.complex128), element_type) if element_type == c64 else function


def _through(function: Function, wide: np.dtype[Any], element_type: Attribute) -> Function:
    narrow = dtype_of(element_type)

    def computed(*operands: Any) -> Any:
        return rounded(function(*[x.astype(wide) for x in operands]), narrow)

    return computed


def rounded(x: Any, narrow: np.dtype[Any]) -> Any:
    """x in a narrower type, rounded once to nearest even.

    The types of ml_dtypes are reached from f64 by way of f32; rounding to odd there keeps what was cut off from being
    forgotten before the second rounding (Boldo, Melquiond: "When double rounding is odd", 2005).
    """
    if x.dtype != np.float64 or narrow.isbuiltin == 1:  # e5m2 is of kind "f" as well
        return x.astype(narrow)
    near = np.asarray(x).astype(np.float32)
    inexact = np.isfinite(near) & (near.astype(np.float64) != x)
    cut = np.where(np.abs(near.astype(np.float64)) > np.abs(x), np.nextafter(near, np.float32(0)), near)
    odd = (cut.view(np.uint32) | np.uint32(1)).view(np.float32)
    return np.where(inexact, odd, near).astype(narrow)[()]
