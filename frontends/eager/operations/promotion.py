"""The dtype that an operation computes in, by PyTorch's promotion rules: categories (bool, integer, float) first, then tensors with dimensions
before tensors without, before Python numbers; within a category the wider one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from wengert.eager.recording.program import Array

DType = np.dtype[Any]
BOOL, INT64, FLOAT32, FLOAT64 = (np.dtype(t) for t in (np.bool_, np.int64, np.float32, np.float64))
_default = FLOAT32


def default_dtype() -> DType:
    """The dtype of floats that nothing else decides: float32 unless :func:`set_default_dtype` was called."""
    return _default


def set_default_dtype(dtype: Any) -> None:
    """Sets the dtype of floats that nothing else decides."""
    global _default  # noqa: PLW0603  (one setting for the process, as in PyTorch)
    _default = np.dtype(dtype)


def category(dtype: DType) -> int:
    """0 for booleans, 1 for integers, 2 for floats."""
    return {"b": 0, "i": 1, "u": 1}.get(dtype.kind, 2)


def number_dtype(value: float) -> DType:
    """The dtype of a Python number that stands alone."""
    return BOOL if isinstance(value, bool) else INT64 if isinstance(value, int) else default_dtype()


def result_dtype(operands: Sequence[Array | float]) -> DType:
    """The dtype that these operands are computed in together."""
    groups: list[list[DType]] = [[], [], []]
    for x in operands:
        if isinstance(x, np.ndarray):
            groups[0 if x.ndim else 1].append(x.dtype)
        else:
            groups[2].append(number_dtype(x))
    common: DType | None = None
    for group in groups:
        for dtype in group:
            if common is None or _rank(dtype) > _rank(common):
                common = dtype if common is None else _raised(common, dtype, group)
            elif group is groups[0] or group is groups[1]:
                common = _wider(common, dtype, group)
    assert common is not None
    return common


def _rank(dtype: DType) -> int:
    """The category, complex numbers above floats."""
    return category(dtype) + (dtype.kind == "c")


def _raised(common: DType, dtype: DType, group: list[DType]) -> DType:
    """The dtype of a higher category; a complex one that meets floats of higher rank takes their width."""
    if dtype.kind != "c" or category(common) < 2:
        return dtype
    return np.promote_types(common, dtype if common in group else np.complex64)


def _wider(common: DType, dtype: DType, group: list[DType]) -> DType:
    """The wider of two dtypes of one category; a dtype that came from a group of higher rank stays."""
    return np.promote_types(common, dtype) if common in group and category(common) == category(dtype) else common


def floating(dtype: DType) -> DType:
    """The dtype that a function of real numbers is computed in: integers become floats of the default dtype."""
    return dtype if category(dtype) == 2 else default_dtype()
