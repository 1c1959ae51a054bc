"""Dispatches calls of the namespace: concrete arguments are computed at once by NumPy, traced ones become operations.

NumPy 2 is itself an implementation of the standard, so the two agree on names, dtypes and broadcasting. A function of arguments that
are all concrete is computed at once also while something is traced: its result is a constant of the traced program.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import numpy as np

from wengert.frontends.tracing.operands import is_traced, traced, value_of
from wengert.frontends.tracing.tracer import TracedArray
from wengert.frontends.tracing.weak_types import DType

Array = Any
"""A NumPy array (or scalar) or a traced array."""
ArrayLike = Any
"""An array or a Python number."""
NUMPY: Any = np
"""NumPy where its own types say less than it does."""
P = ParamSpec("P")
R = TypeVar("R")


def concrete_by(numpy_function: Callable[..., Any]) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Makes a function of traced arguments one of all: where nothing is traced, NumPy's is called with the same arguments."""

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        @wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            if is_traced(*args) or (kwargs and is_traced(*kwargs.values())):
                return function(*args, **kwargs)
            return numpy_function(*args, **kwargs)

        return call

    return decorate


_RESULT_DTYPES: dict[tuple[Callable[..., Any], DType], DType] = {}


def result_dtype(numpy_function: Callable[..., Any], dtype: DType) -> DType:
    """The dtype that a function of NumPy gives for arrays of a dtype."""
    key = numpy_function, dtype
    if key not in _RESULT_DTYPES:
        with np.errstate(all="ignore"):
            _RESULT_DTYPES[key] = np.dtype(numpy_function(np.ones(1, dtype)).dtype)
    return _RESULT_DTYPES[key]


def copied(x: Any) -> Any:
    """A traced array as one that shares its elements with no other, where NumPy makes a copy; what else there is, as it is."""
    if not isinstance(x, TracedArray):
        return x
    copy = traced(value_of(x), x.weak)
    copy.owned = True
    return copy


__all__ = ["NUMPY", "Array", "ArrayLike", "TracedArray", "concrete_by", "copied", "result_dtype"]
