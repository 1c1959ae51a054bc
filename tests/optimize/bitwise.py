"""Inputs made of special values, and equality bit for bit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]

FLOATS = [0.0, -0.0, 1.0, -1.0, 2.5, -3.0, np.inf, -np.inf, np.nan, 1e-310, 1.7e308]
SMALL = [0.0, -0.0, 1.0, -1.0, 2.5, -3.0, 0.5, 7.0, -2.0, 0.25, 4.0]
"""Finite, and so small that sums and products of them are exact."""


def special_inputs(arguments: Sequence[tuple[tuple[int, ...], np.dtype[Any]]], seed: int, *, finite: bool = False) -> list[Array]:
    """Arrays of these shapes and types. The first two arguments meet in all pairs of special values, if they are long enough."""
    rng = np.random.default_rng(seed)
    floats = SMALL if finite or seed == 2 else FLOATS
    arrays: list[Array] = []
    for k, (shape, dtype) in enumerate(arguments):
        values = _values(dtype, floats)
        n = len(values)
        positions = np.arange(int(np.prod(shape)))
        chosen = positions // n**k % n if seed == 0 else rng.integers(0, n, positions.size)
        arrays.append(values[chosen].reshape(shape))
    return arrays


def _values(dtype: np.dtype[Any], floats: list[float]) -> Array:
    if dtype == np.bool_:
        return np.array([False, True])
    with np.errstate(all="ignore"):
        if dtype.kind == "c":
            return np.array([complex(x, y) for x, y in zip(floats, floats[3:] + floats[:3], strict=True)], dtype)
        if dtype.kind in "iu":
            limits = np.iinfo(dtype)
            return np.array([0, 1, limits.max, limits.min, 2, 3, 7, limits.max - 1, 100, limits.min + 1, 5], dtype)
        return np.array(floats).astype(dtype)


def assert_same_bits(x: Array, y: Array, *, signed_zeros: bool = True) -> None:
    """Fails unless both hold the same bits; all NaNs are the same, and zeros too if asked."""
    assert x.dtype == y.dtype
    assert x.shape == y.shape
    if x.dtype.kind == "c":
        assert_same_bits(np.real(x), np.real(y), signed_zeros=signed_zeros)
        assert_same_bits(np.imag(x), np.imag(y), signed_zeros=signed_zeros)
        return
    same = x == y
    if x.dtype.kind == "f" or x.dtype == ml_dtypes.bfloat16:
        if signed_zeros:
            same &= np.signbit(x) == np.signbit(y)
        same |= np.isnan(x) & np.isnan(y)
    assert bool(np.all(same)), f"{x[~same]} != {y[~same]}" if x.ndim else f"{x} != {y}"
