"""From what a caller passes to the arrays that a backend takes.

The policy: *arrays are taken as they are, Python numbers adapt*.

- An array (anything with a dtype: NumPy, JAX, PyTorch on the CPU) must have exactly the argument's dtype and shape.
  A silent cast would hide a lost digit or a wrong argument, so there is none; the error names the cast to write.
- Python numbers and (nested) lists of them carry no dtype of their own; they are converted where no information is
  lost: integers to any type that holds them, floats to any float or complex, booleans to any type.
- NumPy has no bfloat16, so float32 arrays are taken for bf16 arguments, rounded to nearest.
- What has no ``__array__`` but ``__dlpack__`` (on the CPU) is read through DLPack, without a copy; results are NumPy arrays, which offer DLPack.
- Memory layout never matters: strided, reversed, unaligned, read-only, big-endian arrays are copied where needed.
- Nothing is broadcast.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy as np

from wengert.ir.tensor_types import DYNAMIC, bf16, dtype_of
from wengert.runtime.errors import InputError
from wengert.runtime.signature import Parameter, Signature

Array = np.ndarray[Any, np.dtype[Any]]
_KIND_ORDER = "biufc"


def bind(signature: Signature, inputs: Sequence[Any]) -> list[Array]:
    """The inputs as C-contiguous, aligned arrays in native byte order, one per argument.

    Raises:
        InputError: a wrong number of inputs, or one of a wrong shape or dtype; names the argument, what is expected
            and what was passed.
    """
    expected = signature.arguments
    if len(inputs) != len(expected):
        raise InputError(f"expected {_plural(len(expected), 'input')}, found {len(inputs)}{_missing(signature, len(inputs))}")
    return [as_argument(parameter, value) for parameter, value in zip(expected, inputs, strict=True)]


def as_argument(parameter: Parameter, value: Any) -> Array:
    """One input as the array that a backend takes for this argument."""
    array = _with_dtype(parameter, value)
    if not _fits(array.shape, parameter.shape):
        raise InputError(f"{_expected(parameter)}, found {describe(array.shape, array.dtype)}{_shape_hint(parameter, array)}")
    # order="C" rather than ascontiguousarray: the latter turns rank 0 into rank 1
    array = np.asarray(array, dtype=parameter.dtype, order="C")
    return array if array.flags.aligned else array.copy()


def _with_dtype(parameter: Parameter, value: Any) -> Array:
    """The value as an array of the argument's kind of elements, its shape not yet checked."""
    expected = parameter.dtype
    if isinstance(value, bool | int | float | complex | list | tuple) and not isinstance(value, np.generic):
        return _from_python(parameter, value)
    value = plain_key(value)
    try:
        exchanged: Any = value
        array = np.asarray(value) if hasattr(value, "__array__") or not hasattr(value, "__dlpack__") else np.from_dlpack(exchanged)
    except Exception as error:
        raise InputError(f"{parameter.label} cannot be read as an array: {error}") from None
    dtype = array.dtype.newbyteorder("=") if array.dtype.kind in "iufc" else array.dtype
    if dtype == expected:
        return array
    if dtype == np.float32 and expected == dtype_of(bf16):
        return array.astype(expected)
    if array.dtype == object:
        raise InputError(f"{_expected(parameter)}, found an object of type {type(value).__name__}")
    hint = f"; inputs are not cast silently: pass x.astype({expected.name!r})"
    raise InputError(f"{_expected(parameter)}, found {describe(array.shape, array.dtype)}{hint}")


def plain_key(value: Any) -> Any:
    """The integers of a typed key of JAX (``jax.random.key``), which are what programs take and give for it; any other value as it is."""
    if not str(getattr(value, "dtype", "")).startswith("key<"):
        return value
    jax: Any = sys.modules["jax"]
    return jax.random.key_data(value)


def _from_python(parameter: Parameter, value: Any) -> Array:
    """Numbers and lists without a dtype, converted where nothing is lost but rounding."""
    expected = parameter.dtype
    try:
        array = np.asarray(value)
    except ValueError:
        raise InputError(f"{parameter.label}: the rows of the list have different lengths") from None
    if array.size == 0:
        return np.empty(array.shape, expected)
    if array.dtype.kind not in _KIND_ORDER:
        raise InputError(f"{_expected(parameter)}, found {_brief(value)}")
    if _KIND_ORDER.index(array.dtype.kind) > _KIND_ORDER.index(_kind(expected)) and not _is_integer_pair(array.dtype, expected):
        raise InputError(f"{_expected(parameter)}; {_brief(value)} does not convert to {expected.name} without loss")
    if expected.kind in "iu" and array.dtype.kind in "iu":
        limits = ml_dtypes.iinfo(expected)
        if int(array.min()) < limits.min or int(array.max()) > limits.max:
            raise InputError(f"{_expected(parameter)}; {_brief(value)} holds a value outside [{limits.min}, {limits.max}]")
    return array.astype(expected)


def _kind(dtype: np.dtype[Any]) -> str:
    """NumPy's letter for a kind of numbers; bfloat16 and its like count as floats."""
    return dtype.kind if dtype.kind in _KIND_ORDER else "f"


def _is_integer_pair(dtype: np.dtype[Any], expected: np.dtype[Any]) -> bool:
    return dtype.kind in "iu" and expected.kind in "iu"


def _fits(extents: tuple[int, ...], expected: tuple[int, ...]) -> bool:
    return extents == expected or (
        DYNAMIC in expected and len(extents) == len(expected) and all(e in (DYNAMIC, f) for f, e in zip(extents, expected, strict=True))
    )


def describe(shape: tuple[int, ...], dtype: np.dtype[Any]) -> str:
    """``float32[4, 3]``: how messages write the type of an array."""
    extents = ", ".join("?" if n == DYNAMIC else str(n) for n in shape)
    return f"{dtype.newbyteorder('=').name if dtype.kind in 'iufc' else dtype.name}[{extents}]"


def _expected(parameter: Parameter) -> str:
    return f"{parameter.label} must be {describe(parameter.shape, parameter.dtype)}"


def _brief(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:37]}..."


def _shape_hint(parameter: Parameter, array: Array) -> str:
    if array.shape == () and parameter.shape:
        return f"; nothing is broadcast: pass np.full({parameter.shape}, x, {parameter.dtype.name!r})"
    if array.size == int(np.prod(parameter.shape)) and DYNAMIC not in parameter.shape:
        return f"; the same number of elements: x.reshape({parameter.shape})?"
    return ""


def _missing(signature: Signature, count: int) -> str:
    """Describes what a caller who passes so many inputs has left out, or the whole signature if it is short."""
    expected = signature.arguments
    if count < len(expected):
        rest = " and what follows are missing" if count + 1 < len(expected) else " is missing"
        return f": {expected[count]}{rest}"
    return f"; the program is {signature}" if len(expected) <= 8 else ""


def _plural(count: int, noun: str) -> str:
    return f"{count} {noun}" + ("" if count == 1 else "s")
