"""Numbers of any type of floats: their limits, their bits, and whether these are few."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false, reportAttributeAccessIssue=false

from __future__ import annotations

from typing import Any, cast

import ml_dtypes
import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]

FEW = {np.dtype(np.float64): 30, np.dtype(np.float32): 12, np.dtype(np.float16): 5, np.dtype(ml_dtypes.bfloat16): 3}
"""How many of the last bits are zero in a number of few significant bits."""


def part(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The type of the parts of a complex type, and of any other that type itself."""
    return np.dtype(f"f{dtype.itemsize // 2}") if dtype.kind == "c" else dtype


def bits(x: Array) -> Array:
    """The bytes of each element, as one number for each part."""
    parts = in_64_bits(np.ascontiguousarray(x).view(part(x.dtype)))
    bits = parts.view(f"u{parts.dtype.itemsize}")
    return bits.reshape(x.shape) if x.dtype.kind != "c" else bits.reshape(*x.shape, 2).astype(np.uint64) @ np.array([1, 3], np.uint64)


def wider(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """A type of the same kind of 64 bits, or of more if it has more."""
    return np.promote_types(dtype, np.complex128) if dtype.kind == "c" else dtype if dtype == np.longdouble else np.dtype(np.float64)


def in_64_bits(x: Array) -> Array:
    """Numbers of more than 64 bits, whose bits NumPy does not show, rounded to these."""
    return x.astype(np.float64) if x.dtype.itemsize > 8 else x


def as_array(x: Any) -> Any:
    """An array of what a step of the interpreter gives."""
    return np.asarray(x)


def finfo(dtype: Any) -> Any:
    """The limits of a float or complex type, those of ``ml_dtypes`` included."""
    return cast(Any, ml_dtypes).finfo(dtype)


def has_few_bits(x: Array) -> Array:
    """The mask of elements with few significant bits, so that sums and products of them are exact."""
    near = in_64_bits(np.ascontiguousarray(x)).reshape(x.shape)
    bits = np.ascontiguousarray(near).view(f"u{near.dtype.itemsize}").reshape(x.shape)
    return ((bits & ((1 << FEW.get(near.dtype, 1)) - 1)) == 0) & ((near == x) | ~np.isfinite(x) if near.dtype != x.dtype else np.True_)


def are_near(x: Any) -> bool:
    """Whether sums of some of these numbers, if they have few bits, have not many more."""
    sizes = np.abs(np.asarray(x).astype(np.complex128 if np.asarray(x).dtype.kind == "c" else np.float64))
    sizes = sizes[np.isfinite(sizes) & (sizes > 0)]
    return sizes.size == 0 or bool(sizes.max() <= 256 * sizes.min())
