"""Whether two results agree: shapes and dtypes, special values and signs of zero exactly, numbers but for rounding."""

from __future__ import annotations

from typing import Any

import numpy as np
import optree
from benchmarks.array_api.entries import Entry


def leaves(result: Any) -> list[Any]:
    """The arrays of a result, which may be one or come in a tuple or list."""
    return optree.tree_leaves(tuple(result) if isinstance(result, tuple | list) else result)  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType]


def difference(actual: Any, expected: Any, entry: Entry) -> str:
    """What differs, in words; empty where nothing does."""
    if entry.result is not None:
        actual, expected = entry.result(actual), entry.result(expected)
    have, want = leaves(actual), leaves(expected)
    if len(have) != len(want):
        return f"{len(have)} results, {len(want)} expected"
    for x, y in zip(have, want, strict=True):
        if difference := _difference(x, y, entry):
            return difference
    return ""


def _difference(x: Any, y: Any, entry: Entry) -> str:
    if not hasattr(y, "dtype"):
        return "" if x == y or (x != x and y != y) else f"{x!r}, expected {y!r}"
    x, y = np.asarray(x), np.asarray(y)
    if (x.dtype, x.shape) != (y.dtype, y.shape):
        return f"{x.dtype}{list(x.shape)}, expected {y.dtype}{list(y.shape)}"
    if y.dtype.kind not in "fc":
        wrong = x != y
    elif y.dtype.kind == "f":
        wrong = _wrong(x, y, entry, y)
    else:
        wrong = _wrong(x.real, y.real, entry, y) | _wrong(x.imag, y.imag, entry, y)
    if not wrong.any():
        return ""
    at = tuple(int(i) for i in np.argwhere(wrong)[0])
    return f"{x[at]!r} at {list(at)}, expected {y[at]!r} ({int(wrong.sum())} of {y.size})"


def _wrong(x: Any, y: Any, entry: Entry, whole: Any) -> Any:
    """Where real numbers differ; rounding is measured by each element's modulus, and by the largest where an element is a sum of others."""
    with np.errstate(all="ignore"):
        same = (x == y) | (np.isnan(x) & np.isnan(y))
        if entry.signs:
            same &= np.isnan(y) | (y != 0) | (np.signbit(x) == np.signbit(y))
        if entry.exact:
            return ~same
        finite = np.isfinite(whole)
        size = np.where(finite, np.abs(np.where(finite, whole, 0)), np.abs(np.where(np.isfinite(y), y, 0))).astype(np.float64)
        scale = size if entry.tolerance == 16.0 and y.ndim <= 1 else np.maximum(size, size.max(initial=0.0))
        close = (
            np.isfinite(x)
            & np.isfinite(y)
            & (np.abs(x.astype(np.float64) - y) <= entry.tolerance * np.finfo(y.dtype).eps * np.maximum(scale, np.finfo(y.dtype).tiny))
        )
        return ~(same | (close & (y != 0)) | (close & (x != 0)) if entry.signs else same | close)
