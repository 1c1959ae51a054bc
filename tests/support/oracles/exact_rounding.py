"""Floating-point formats, numbers of them to test with, and exact rounding to them."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np

FORMATS = {"f16": np.dtype(np.float16), "bf16": np.dtype(ml_dtypes.bfloat16), "f32": np.dtype(np.float32), "f64": np.dtype(np.float64)}
_RNG = np.random.default_rng(11)
PRECISION = {"f16": (11, -14, 15), "bf16": (8, -126, 127), "f32": (24, -126, 127), "f64": (53, -1022, 1023)}


def special(type: str) -> Any:
    """Sixteen numbers of a format at which something changes."""
    precision, least, greatest = PRECISION[type]
    top = (2.0 - 2.0 ** (1 - precision)) * 2.0**greatest
    tiny = 2.0**least
    step = 2.0 ** (least - precision + 1)
    return np.array([0.0, -0.0, 1.0, -1.0, 1.5, np.inf, -np.inf, np.nan, top, -top, tiny, -tiny, step, -step, tiny - step, 1 + 2.0 ** (1 - precision)]).astype(
        FORMATS[type]
    )


def drawn(type: str, count: int) -> Any:
    """Numbers of all exponents, and of like ones, so that sums cancel."""
    dtype = FORMATS[type]
    bits = _RNG.integers(0, 1 << (8 * dtype.itemsize), count, dtype=np.uint64).astype(f"u{dtype.itemsize}").view(dtype)
    return np.where(_RNG.random(count) < 0.5, bits, _RNG.normal(size=count).astype(dtype)).astype(dtype)


def rounded(exact: Fraction, type: str, mode: str, zero: float = 0.0) -> float:
    """The number of the format that a rational number is rounded to; all formats are parts of f64."""
    precision, least, greatest = PRECISION[type]
    if exact == 0:
        return zero
    magnitude = abs(exact)
    exponent = max(magnitude.numerator.bit_length() - magnitude.denominator.bit_length(), least)
    while exponent > least and Fraction(2) ** exponent > magnitude:
        exponent -= 1
    while Fraction(2) ** (exponent + 1) <= magnitude:
        exponent += 1
    step = Fraction(2) ** (exponent - precision + 1)
    whole, rest = divmod(exact / step, 1)
    up = {"rn": rest > Fraction(1, 2) or (rest == Fraction(1, 2) and whole % 2 == 1), "rm": False, "rp": rest > 0, "rz": rest > 0 and exact < 0}[mode]
    result = (whole + up) * step
    if abs(result) > (2 - Fraction(2) ** (1 - precision)) * Fraction(2) ** greatest:
        bounded = mode == "rz" or (mode == "rm" and exact > 0) or (mode == "rp" and exact < 0)
        top = float((2 - Fraction(2) ** (1 - precision)) * Fraction(2) ** greatest)
        return (top if bounded else float("inf")) * (1 if exact > 0 else -1)
    return float(result) if result else -0.0 if exact < 0 else 0.0
