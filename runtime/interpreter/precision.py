"""In which precision an op is computed.

* Arithmetic (``+ - * / sqrt``, rounding, comparisons) is computed in its own type; f16 and bf16 are computed in f32 and
  rounded once, which for these ops gives the correctly rounded result (f32 has more than twice as many bits plus two).
* Transcendental functions of anything narrower than f64 are computed in f64 and rounded once, so that the reference for
  f32 is right to the last bit but for rare ties. Backends are expected to differ by a few units in the last place.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from xdsl.ir import Attribute

from wengert.ir.tensor_types import bf16, c64, dtype_of, f16, f32
from wengert.runtime.interpreter.meaning import Function


def arithmetic(function: Function, held: Attribute) -> Function:
    """The function on elements of this type, 16-bit floats computed in f32."""
    return _through(function, np.float32, held) if held in (f16, bf16) else function


def transcendental(function: Function, held: Attribute) -> Function:
    """The function on elements of this type, computed in f64 or complex128."""
    if held in (f32, f16, bf16):
        return _through(function, np.float64, held)
    return _through(function, np.complex128, held) if held == c64 else function


def _through(function: Function, wide: type[Any], held: Attribute) -> Function:
    narrow = dtype_of(held)

    def computed(*operands: Any) -> Any:
        return function(*[x.astype(wide) for x in operands]).astype(narrow)

    return computed
