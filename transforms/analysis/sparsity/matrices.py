"""Sparse matrices, as ``scipy.sparse`` has them; its classes are generic in ways that say nothing here, so they are not typed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.sparse

_sparse: Any = scipy.sparse

Pattern = Any
"""A ``scipy.sparse.csr_array`` of booleans; indices are sorted."""

csr_array: Any = _sparse.csr_array
csc_array: Any = _sparse.csc_array


_EMPTY: Any = csr_array((1, 1), dtype=np.bool_)


def pattern_of_rows(members: Any, starts: Any, shape: tuple[int, int]) -> Pattern:
    """The ``csr_array`` of booleans that has these members in its rows, without the checks of its constructor; members of a row are distinct."""
    integer = np.int32 if max(shape[1], len(members)) <= np.iinfo(np.int32).max else np.int64
    matrix: Any = object.__new__(_EMPTY.__class__)
    matrix.__dict__ = {
        "_shape": shape,
        "maxprint": _EMPTY.maxprint,
        "data": np.ones(len(members), np.bool_),
        "indices": members.astype(integer, copy=False),
        "indptr": starts.astype(integer, copy=False),
    }
    return matrix


def stacked(patterns: Sequence[Pattern]) -> Pattern:
    """Patterns of equal width, one below the other."""
    if len(patterns) == 1:
        return patterns[0]
    lengths = np.concatenate([np.zeros(1, np.int64), *(np.diff(rows.indptr) for rows in patterns)])
    return pattern_of_rows(np.concatenate([rows.indices for rows in patterns]), np.cumsum(lengths), (len(lengths) - 1, int(patterns[0].shape[1])))


def without_checks(shape: tuple[int, int], dtype: np.dtype[Any], indices: Any, indptr: Any, *, is_canonical: bool) -> Callable[..., Any]:
    """``(data, columns) -> csr_array`` of this shape, without the checks of its constructor, which take longer than many a program.

    The columns are copies of ``indices`` unless they are given. With ``is_canonical`` those of each row are known to ascend; otherwise they are sorted, and
    what is there twice is added up.
    """
    example: Any = csr_array(shape, dtype=dtype)
    cls: type[Any] = example.__class__
    common: dict[str, Any] = example.__dict__.copy()
    if is_canonical:
        common.update(_has_canonical_format=True, _has_sorted_indices=True)
    new = object.__new__

    def make(data: Any, columns: Any = None) -> Any:
        matrix: Any = new(cls)
        attributes = common.copy()
        attributes["data"], attributes["indices"], attributes["indptr"] = data, indices.copy() if columns is None else columns, indptr.copy()
        matrix.__dict__ = attributes
        if not is_canonical:
            matrix.sum_duplicates()
        return matrix

    return make
