"""Backward errors of factorizations and systems of equations: how far the matrix whose factors are returned may be from the one that was given.

Small elements beside large ones are not computed to their own precision: the error is bounded by the size of a column or of the matrix
(Higham, "Accuracy and Stability of Numerical Algorithms", 2002: theorems 9.3, 10.5, 19.4; Golub and Van Loan, "Matrix Computations", section 8.3).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

NORMWISE = frozenset(("eigh", "svd", "eig", "custom_call"))
COLUMNWISE = frozenset(("lu", "qr"))


def backward_error(name: str, x: Any) -> Any:
    """By how much each element of an operand of this op may be off, in units of its type's rounding; None where it is by its own size at most.

    ``x``: f[..., m, n].
    Of Cholesky's factors: sqrt(a_ii a_jj). Of LU with row exchanges and of QR: the largest element of the column. Of others: of the matrix.
    """
    if x.ndim < 2 or 0 in x.shape or x.dtype.kind not in "fc" or name not in ("cholesky", *NORMWISE, *COLUMNWISE):
        return None
    sizes: Any = np.abs(np.where(np.isfinite(x), x, 0)).astype(np.float64)
    if name == "cholesky":
        roots = np.sqrt(np.diagonal(sizes, axis1=-2, axis2=-1))
        return roots[..., :, None] * roots[..., None, :]
    return np.broadcast_to(sizes.max(axis=-2 if name in COLUMNWISE else (-2, -1), keepdims=True), x.shape)


def inverse_by(solve: Callable[..., Any], a: Any, width: int, left: bool) -> Any:
    """The inverse of ``a: f[..., n, n]`` by a function that solves systems with ``width`` right hand sides: columns on the left, rows on the right."""
    n = a.shape[-1]
    columns: Any = np.broadcast_to(np.eye(n, -(-n // width) * width, dtype=a.dtype), (*a.shape[:-1], -(-n // width) * width))
    sides = [columns[..., at : at + width] for at in range(0, n, width)]
    if left:
        return np.concatenate([solve(a, side) for side in sides], axis=-1)[..., :n]
    return np.concatenate([solve(a, side.swapaxes(-1, -2)) for side in sides], axis=-2)[..., :n, :]
