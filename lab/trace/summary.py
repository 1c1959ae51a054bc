"""An array in a few numbers: its type, range and mean, and how many elements are NaN or infinite."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True)
class Summary:
    """An array in a few numbers.

    Attributes:
        shape, dtype: its type.
        low, high, mean: of its finite elements (of their magnitudes, where it is complex); None where there are none, or it holds no numbers.
        nan, infinite: how many elements are NaN, and how many infinite.
        text: all of a value that has one element.
    """

    shape: tuple[int, ...]
    dtype: str
    low: float | None = None
    high: float | None = None
    mean: float | None = None
    nan: int = 0
    infinite: int = 0
    text: str = ""

    @property
    def finite(self) -> bool:
        """Whether it holds neither NaN nor infinity."""
        return not (self.nan or self.infinite)

    @property
    def type(self) -> str:
        """``float64[2,3]``."""
        return f"{self.dtype}[{','.join(map(str, self.shape))}]" if self.shape else self.dtype

    @property
    def range(self) -> str:
        """``[-1, 2.5]``, or the only element."""
        if self.text:
            return self.text
        if self.low is None or self.high is None:
            return "-"
        return f"[{number(self.low)}, {number(self.high)}]"

    @property
    def problems(self) -> str:
        """``3 NaN, 1 infinite``, or nothing."""
        return ", ".join([f"{count} {what}" for count, what in ((self.nan, "NaN"), (self.infinite, "infinite")) if count])

    def __str__(self) -> str:
        problems = f", {self.problems}" if self.problems else ""
        return f"{self.type} in {self.range}{problems}" if not self.text else f"{self.type} {self.text}"


def number(value: float) -> str:
    """A number in few digits."""
    return f"{value:.4g}"


def as_array(value: Any) -> Array | None:
    """An array or NumPy scalar as an array; None for tapes, tuples and tokens."""
    return np.asarray(cast(Array, value)) if isinstance(value, np.ndarray | np.generic) else None


def summary_of(value: Any) -> Summary:
    """The summary of an array or NumPy scalar. Of a tape, the number of its entries is its shape; of anything else only its kind is known."""
    array = as_array(value)
    if array is None:
        return Summary((len(value),) if hasattr(value, "__len__") else (), type(value).__name__.lower())
    if array.dtype.kind == "b":
        return _of_numbers(array.astype(np.float64), array)
    if array.dtype.kind in "iufc" or array.dtype.name.startswith(("bfloat", "float")):
        return _of_numbers(_wide(array), array)
    return Summary(array.shape, str(array.dtype))


def _wide(array: Array) -> Array:
    if array.dtype.kind == "c":
        magnitudes: Array = np.abs(array.astype(np.complex128))
        return magnitudes
    return array.astype(np.float64)


def _of_numbers(wide: Array, array: Array) -> Summary:
    shape, dtype = array.shape, str(array.dtype)
    nan, infinite = int(np.isnan(wide).sum()), int(np.isinf(wide).sum())
    text = str(array.reshape(-1)[0]) if array.size == 1 else ""
    finite = wide[np.isfinite(wide)] if nan or infinite else wide
    if finite.size == 0:
        return Summary(shape, dtype, None, None, None, nan, infinite, text)
    with np.errstate(over="ignore"):
        return Summary(shape, dtype, float(finite.min()), float(finite.max()), float(finite.mean()), nan, infinite, text)


def is_finite(value: Any) -> bool:
    """Whether a value holds neither NaN nor infinity; what holds no floats does not."""
    array = as_array(value)
    return array is None or array.dtype.kind in "biu" or bool(np.isfinite(as_floats(array)).all())


def has_nan(value: Any) -> bool:
    """Whether a value holds a NaN."""
    array = as_array(value)
    return array is not None and array.dtype.kind not in "biu" and bool(np.isnan(as_floats(array)).any())


def as_floats(array: Array) -> Array:
    """An array that NumPy's functions take: floats of few bits are widened."""
    return array if array.dtype.kind in "fc" and array.dtype.isbuiltin == 1 else array.astype(np.float64)
