"""Signs of NaNs, which implementations choose differently, but seldom element by element.

The sign of a NaN that an operation makes, and of one that it passes on, is left open by IEEE 754. An implementation makes all its NaNs alike, or those that
come of the same kind of operand; so noisy runs try such conventions besides signs that are drawn for each element.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np

Convention = Callable[[np.random.Generator, Sequence[Any], Any], Any]
"""Gives the results of an op, of these operands, the signs of their NaNs."""

MADE, PASSED = (1.0, -1.0), (0.0, 1.0, -1.0)
"""The sign of a NaN that is made, and that of one that is passed on: 0 leaves it as it is."""


def convention_of_nans(turn: int) -> Convention:
    """The convention of the run of this number: one for all ops, one for each op, one for each kind of operand, or any signs."""
    kind, number = turn % 4, turn // 4
    if kind == 0:
        made, passed = MADE[number % 2], PASSED[number // 2 % 3]
        return lambda noise, operands, results: _signed(operands, results, made, passed)
    if kind == 1:
        return lambda noise, operands, results: _signed(operands, results, float(noise.choice(MADE)), float(noise.choice(PASSED)))
    return _by_kind if kind == 2 else lambda noise, operands, results: results


def _signed(operands: Sequence[Any], results: Any, made: float, passed: float) -> Any:
    if isinstance(results, tuple):
        return tuple([_signed(operands, r, made, passed) for r in cast("tuple[Any, ...]", results)])
    if not _has_nan(results):
        return results
    given = [_nans(x, np.shape(results)) for x in operands]
    old = np.any(given, axis=0) if given else np.zeros(np.shape(results), bool)
    return _with_signs(results, np.where(old, passed, made))


def _by_kind(noise: np.random.Generator, operands: Sequence[Any], results: Any) -> Any:
    if not _has_nan(results):
        return results
    kinds = np.zeros(np.shape(results), int)
    for x in operands:
        if np.shape(x) == np.shape(results) and np.asarray(x).dtype.kind in "fV":
            kinds = kinds * 7 + _kind(np.asarray(x).astype(np.float64))
    names, index = np.unique(kinds, return_inverse=True)
    return _with_signs(results, noise.choice(MADE, names.size)[index].reshape(kinds.shape))


def _kind(x: Any) -> Any:
    """NaN, infinite, zero, or neither, and the sign."""
    size = np.select([np.isnan(x), np.isinf(x), x == 0], [0, 2, 4], 5)
    return size + (np.signbit(x) & (size != 4))


def _has_nan(x: Any) -> bool:
    return not isinstance(x, tuple) and np.asarray(x).dtype.kind in "fV" and bool(np.isnan(x).any())


def _nans(x: Any, shape: tuple[int, ...]) -> Any:
    """Where an operand is NaN; where its shape is another, whether it has any NaN."""
    if np.asarray(x).dtype.kind not in "fV":
        return np.zeros(shape, bool)
    return np.isnan(x) if np.shape(x) == shape else np.full(shape, _has_nan(x))


def _with_signs(x: Any, signs: Any) -> Any:
    """x with NaNs of these signs; 0 leaves one as it is."""
    x = cast(Any, np.asarray(x))
    wrong = np.isnan(x) & (signs != 0) & (np.signbit(x) != (signs < 0))
    return cast(Any, np.where(wrong, -x, x)).astype(x.dtype)[()]
