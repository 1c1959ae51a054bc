"""The precision that a program computes in."""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from wengert.ir.tensor_types import dtype_of, is_complex, is_float
from wengert.runtime.program import Program


def working_precision(program: Program) -> np.dtype[Any]:
    """The coarsest floating-point type that the program computes in: what its results are accurate to."""
    coarsest = np.dtype(np.float64)
    for op in program.core_module.walk():
        for result in op.results:
            element_type = getattr(result.type, "element_type", None)
            if element_type is not None and is_complex(element_type):
                element_type = element_type.element_type
            if element_type is not None and is_float(element_type) and epsilon_of(dtype_of(element_type)) > epsilon_of(coarsest):
                coarsest = dtype_of(element_type)
    for parameter in (*program.signature.arguments, *program.signature.results):
        if parameter.differentiable and epsilon_of(parameter.dtype) > epsilon_of(coarsest):
            coarsest = np.dtype(np.float32) if parameter.dtype == np.complex64 else parameter.dtype
    return coarsest


def epsilon_of(dtype: np.dtype[Any]) -> float:
    """The distance from 1 to the next number of a float or complex dtype, ml_dtypes included."""
    import ml_dtypes

    return float(cast(Any, ml_dtypes).finfo(dtype).eps)
