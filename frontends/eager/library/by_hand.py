"""Operations that have no derivative: functions of arrays, by NumPy and SciPy."""

# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

from wengert.eager.errors import AutogradError
from wengert.eager.library.calling import Function
from wengert.eager.operations.promotion import default_dtype
from wengert.eager.operations.reading import seen
from wengert.eager.recording import dispatch
from wengert.eager.recording.modes import STATE


def arrays(name: str, *values: Any) -> list[Any]:
    """The elements of tensors, and numbers as they are; compiled functions look whether they are the same again.

    Raises:
        AutogradError: a gradient may be asked for, and there is none.
    """
    for x in values:
        if getattr(x, "tracked", False) and STATE.recording:
            raise AutogradError(f"{name} has no derivative here; detach() its operand")
    return [seen(x) if hasattr(x, "array") else x for x in values]


def made(result: Any) -> Any:
    """An array, or several, as tensors."""
    return tuple(map(dispatch.new, result)) if isinstance(result, tuple) else dispatch.new(result)


def of_reals(name: str, function: Callable[..., Any]) -> Function:
    """An elementwise function of arrays as one of tensors; integers become the default dtype."""

    def run(*given: Any) -> Any:
        values = arrays(name, *given)
        dtypes = [v.dtype for v in values if isinstance(v, numpy.ndarray) and v.dtype.kind == "f"]
        dtype = numpy.result_type(*dtypes) if dtypes else default_dtype()
        with numpy.errstate(all="ignore"):
            return dispatch.new(numpy.asarray(function(*values), dtype))

    return run
