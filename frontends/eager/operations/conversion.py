"""Other dtypes, and copies."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from wengert.eager.errors import AutogradError
from wengert.eager.operations import elementwise
from wengert.eager.operations.memory.inplace import DETACH
from wengert.eager.operations.memory.layout import contiguous_format
from wengert.eager.recording import dispatch
from wengert.eager.recording.modes import STATE

if TYPE_CHECKING:
    from wengert.eager.tensor import Tensor


def to(x: Tensor, *given: Any, dtype: Any = None, device: Any = None, copy: bool = False, non_blocking: bool = False, memory_format: Any = None) -> Tensor:
    """The tensor in another dtype, which may be that of another tensor; itself if it has it. Devices are names for where it is anyway."""
    for value in given:
        if isinstance(value, np.dtype | type):  # first, as it is the usual case, and as asking it for an attribute takes long
            dtype = cast(Any, value)
        else:
            dtype = value.array.dtype if hasattr(value, "array") else dtype if isinstance(value, str | bool) or value is None else value
    if dtype is None:
        return clone(x) if copy else x
    dtype = np.dtype(dtype)
    if copy and dtype == x.array.dtype:
        return clone(x)
    return x if dtype == x.array.dtype else dispatch.apply(elementwise.CONVERT, (x,), dtype)


def into(name: str) -> Callable[..., Tensor]:
    """The method that converts to a dtype."""

    def method(x: Tensor, memory_format: Any = None) -> Tensor:
        return to(x, np.dtype(name))

    method.__doc__ = f"In {name}."
    return method


def to_float32(x: Tensor, memory_format: Any = None) -> Tensor:
    """In float32."""
    return to(x, np.float32)


def to_float64(x: Tensor, memory_format: Any = None) -> Tensor:
    """In float64."""
    return to(x, np.float64)


def to_int64(x: Tensor, memory_format: Any = None) -> Tensor:
    """In int64."""
    return to(x, np.int64)


def to_bool(x: Tensor, memory_format: Any = None) -> Tensor:
    """Whether elements differ from zero."""
    return to(x, np.bool_)


def clone(x: Tensor, *, memory_format: Any = None) -> Tensor:
    """A copy, which gradients flow through. Its elements lie as those of x do, or in order if ``memory_format`` says contiguous."""
    return dispatch.apply(elementwise.CONTIGUOUS if memory_format is contiguous_format else elementwise.CLONE, (x,))


def contiguous(x: Tensor, memory_format: Any = None) -> Tensor:
    """Itself if its elements lie in order, else a copy."""
    return x if x.array.flags.c_contiguous else dispatch.apply(elementwise.CONTIGUOUS, (x,))


def detach(x: Tensor) -> Tensor:
    """The same memory, off the tape."""
    made = dispatch.new(x.array)
    made.storage = dispatch.leave_books(x, dispatch.storage_of(x))
    if STATE.tape is not None:
        STATE.tape.note(DETACH, None, (x,), (made,))
    return made


def detach_in_place(x: Tensor) -> Tensor:
    """Takes this tensor itself off the tape."""
    if x.view_of is not None:
        raise AutogradError("detach_() of a view would leave it tied to its base; use detach()")
    x.source, x.tracked = None, False
    forget = getattr(STATE.tape, "forget", None)  # of a level of forward mode
    if forget is not None:
        forget(x)
    return x
