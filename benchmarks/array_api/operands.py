"""Operands by dtype: special values (signed zeros, infinities, NaN, the edges of integers), numbers at random, and shapes of ranks 0 to 3."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

KINDS = {
    "b": ("bool",),
    "i": ("int8", "int16", "int32", "int64"),
    "u": ("uint8", "uint16", "uint32", "uint64"),
    "f": ("float32", "float64"),
    "c": ("complex64", "complex128"),
}
"""The standard's dtypes by NumPy's letter for their kind."""
SHAPES = ((), (3,), (2, 3), (2, 3, 2), (0,), (2, 0, 3))
PAIRS = (((), ()), ((), (3,)), ((2, 1), (3,)), ((2, 1, 3), (4, 1)), ((0,), (1,)), ((2, 0), (1, 1)))
"""Shapes that are broadcast to each other."""


def dtypes_of(kinds: str) -> list[np.dtype[Any]]:
    """The dtypes of some kinds."""
    return [np.dtype(name) for kind in kinds for name in KINDS[kind]]


def special(dtype: np.dtype[Any]) -> Array:
    """A row of the values of a dtype at which functions differ."""
    if dtype.kind == "b":
        return np.array([False, True])
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        small = [0, 1, 2, 3, 7, limits.max, limits.max - 1] + ([-1, -2, -7, limits.min, limits.min + 1] if dtype.kind == "i" else [])
        return np.array(small, dtype)
    real = np.array([0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, 3.0, -7.25, 100.0, np.inf, -np.inf, np.nan])
    if dtype.kind == "f":
        limits = np.finfo(dtype)
        return np.array([*real, limits.max, -limits.max, limits.smallest_normal, -limits.smallest_normal], dtype)
    parts = [0.0, -0.0, 1.0, -0.5, 2.5, np.inf, -np.inf, np.nan]
    return np.array([complex(x, y) for x, y in itertools.product(parts, parts)], dtype)


def random(dtype: np.dtype[Any], shape: tuple[int, ...], seed: int, low: float = -2.0, high: float = 2.0) -> Array:
    """Numbers between bounds (of integers: of their size times 10; of complex ones: both parts), the same for the same seed."""
    rng = np.random.default_rng([seed, *shape, ord(dtype.kind)])
    if dtype.kind == "b":
        return np.asarray(rng.integers(0, 2, shape), dtype)
    if dtype.kind in "iu":
        return np.asarray(rng.integers(0 if dtype.kind == "u" else int(10 * low), int(10 * high), shape), dtype)
    real = np.asarray(rng.uniform(low, high, shape))
    return np.asarray(real + 1j * rng.uniform(low, high, shape) if dtype.kind == "c" else real, dtype)


def all_pairs(x: Array, y: Array) -> tuple[Array, Array]:
    """Each element of one row beside each of another."""
    left, right = np.meshgrid(x, y, indexing="ij")
    return left.ravel(), right.ravel()
