"""The dtype of the result of several operands: NumPy's rules (NEP 50), by which Python numbers are weak.

A Python number takes the dtype of the arrays that it meets and only decides the *kind* (integer, float, complex) where theirs is
lower: ``float32 + 1.0`` is float32, ``int32 + 1.0`` is the default float, float64. A Python number that is an argument of a traced
function is weak as well, and so is arithmetic of weak values alone, as it would be without tracing.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Any

import numpy as np

DType = np.dtype[Any]
WEAK = {bool: np.dtype(np.bool_), int: np.dtype(np.int64), float: np.dtype(np.float64), complex: np.dtype(np.complex128)}
"""The dtype of a Python number that meets no array."""
_EXEMPLARS: dict[str, bool | int | float | complex] = {"b": False, "i": 0, "u": 0, "f": 0.0, "c": 0j}


def is_narrow_float(dtype: DType) -> bool:
    """Whether it is a float that NumPy does not know by itself (bfloat16 and its like)."""
    return dtype.kind == "V" or (dtype.kind == "f" and not dtype.isbuiltin)


@lru_cache(maxsize=4096)
def joined(strong: frozenset[DType], weak: frozenset[DType]) -> DType:
    """The dtype of operands of these strong and weak dtypes."""
    if not strong:
        return np.result_type(*weak)
    if any(is_narrow_float(d) for d in strong) and all(d.kind in "biuf" for d in weak):
        return np.result_type(*strong)
    return np.result_type(*strong, *(_EXEMPLARS[d.kind] for d in weak))


def join(operands: Iterable[tuple[DType, bool]]) -> tuple[DType, bool]:
    """The dtype of operands of these dtypes, and whether it is weak; each comes with whether it is weak itself."""
    strong: set[DType] = set()
    weak: set[DType] = set()
    for dtype, is_weak in operands:
        (weak if is_weak else strong).add(dtype)
    return joined(frozenset(strong), frozenset(weak)), not strong
