"""Factors of matrices in the forms that LAPACK has them, and systems solved by them."""

# pyright: reportUnknownLambdaType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
from __future__ import annotations

from typing import Any

import numpy

from wengert.eager.errors import ShapeError
from wengert.eager.library.by_hand import arrays, made
from wengert.eager.library.calling import Function, aten
from wengert.eager.library.linalg import FFT, LINALG
from wengert.eager.operations.reading import seen
from wengert.eager.recording import dispatch

_LU_FACTOR, _LU, _LU_SOLVE, _UNPACK = (aten(f"{name}.default") for name in ("linalg_lu_factor_ex", "linalg_lu", "linalg_lu_solve", "lu_unpack"))
_PRODUCT, _EIG = aten("linalg_householder_product.default"), aten("linalg_eig.default")


def _worked(x: Any) -> Any:
    """That nothing failed, for each matrix."""
    return dispatch.constant(numpy.zeros(x.array.shape[:-2], numpy.int32))


def _with_info(name: str) -> Function:
    return lambda x, *args, check_errors=False, **keywords: (LINALG[name](x, *args, **keywords), _worked(x))


def _lu_factor(x: Any, *, pivot: bool = True) -> Any:
    return tuple(_LU_FACTOR(x, pivot=pivot)[:2])


def _lu_solve(factors: Any, pivots: Any, b: Any, *, left: bool = True, adjoint: bool = False) -> Any:
    """The solution by factors; from the right by that of the transposed system."""
    if left and not adjoint:
        return _LU_SOLVE(factors, pivots, b)
    p, lower, upper = _UNPACK(factors, pivots)
    a = p.matmul(lower).matmul(upper)
    return LINALG["solve"](a.adjoint() if adjoint else a, b, left=left)


def _geqrf(x: Any) -> Any:
    (a,) = arrays("geqrf", x)
    flat = a.reshape(-1, *a.shape[-2:]) if a.size else a
    raw = [numpy.linalg.qr(m, mode="raw") for m in flat] if a.size else []
    if not a.size:
        return made((a.copy(), numpy.zeros((*a.shape[:-2], min(a.shape[-2:])), a.dtype)))
    packed, tau = numpy.stack([h.T for h, _ in raw]), numpy.stack([t for _, t in raw])
    return made((numpy.ascontiguousarray(packed.reshape(a.shape)), tau.reshape(*a.shape[:-2], tau.shape[-1])))


def _ormqr(x: Any, tau: Any, other: Any, left: bool = True, transpose: bool = False) -> Any:
    """The product of the orthogonal matrix of a QR factorisation in packed form with a matrix."""
    rows, columns = x.array.shape[-2:]
    wide = x if rows == columns else _padded(x, rows)
    q = _PRODUCT(wide, tau)
    q = q.adjoint() if transpose else q
    return q.matmul(other) if left else other.matmul(q)


def _padded(x: Any, columns: int) -> Any:
    missing = columns - x.array.shape[-1]
    if missing < 0:
        raise ShapeError(f"ormqr: a packed form of {x.array.shape[-1]} columns has at most {columns}")
    from wengert.eager.operations.joining import cat

    return cat([x, dispatch.constant(numpy.zeros((*x.array.shape[:-1], missing), x.array.dtype))], -1)


def _lstsq(x: Any, b: Any, rcond: Any = None, *, driver: str | None = None) -> Any:
    """The solution of least squares, the squares that are left, ranks, and singular values (with the drivers that compute them)."""
    vectors = b.array.ndim == x.array.ndim - 1
    wide = b.unsqueeze(-1) if vectors else b
    solution = LINALG["pinv"](x).matmul(wide)
    rows, columns = x.array.shape[-2:]
    rank = dispatch.new(numpy.asarray(numpy.linalg.matrix_rank(seen(x)), numpy.int64))
    full = rows > columns and bool(numpy.all(rank.array == columns)) and driver != "gelsy"
    rest = ((x.matmul(solution) - wide).abs() ** 2).sum(-2) if full else dispatch.constant(numpy.zeros(0, x.array.real.dtype))
    values = LINALG["svdvals"](x) if driver in ("gelsd", "gelss") else dispatch.constant(numpy.zeros(0, x.array.real.dtype))
    return solution.squeeze(-1) if vectors else solution, rest, rank if driver != "gels" else dispatch.constant(numpy.zeros(0, numpy.int64)), values


def _svd_lowrank(x: Any, q: int | None = 6, niter: int | None = 2, M: Any = None) -> Any:  # noqa: N803
    """The q largest singular values with their vectors, by the whole decomposition."""
    u, s, vh = LINALG["svd"](x if M is None else x - M, full_matrices=False)
    q = min(6 if q is None else q, s.array.shape[-1])
    return u.narrow(-1, 0, q), s.narrow(-1, 0, q), vh.adjoint().narrow(-1, 0, q)


def _pca_lowrank(x: Any, q: int | None = None, center: bool = True, niter: int = 2) -> Any:
    q = min(6, *x.array.shape[-2:]) if q is None else q
    return _svd_lowrank(x - x.mean(-2, True) if center else x, q, niter)


def _lobpcg(
    A: Any,  # noqa: N803  (the names under which they are known)
    k: int | None = None,
    B: Any = None,  # noqa: N803
    X: Any = None,  # noqa: N803
    n: int | None = None,
    iK: Any = None,  # noqa: N803
    niter: int | None = None,
    tol: float | None = None,
    largest: bool | None = None,
    method: str | None = None,
    tracker: Any = None,
    **ortho: Any,
) -> Any:
    """The k largest (or smallest) eigenvalues of symmetric ``A x = e B x`` with eigenvectors for which X^T B X = 1, by the whole decomposition.

    Where to start, with what to precondition and when to stop (X beyond its number of columns, iK, niter, tol, method, ``ortho_*``) matter for an
    iteration only. Two eigenvalues that are equal have no derivatives of their vectors.

    Raises:
        ShapeError: fewer eigenvalues than k.
        ValueError: a tracker, as there are no iterations to look at.
    """
    if tracker is not None:
        raise ValueError("lobpcg: there are no iterations here for a tracker to look at")
    k = k if k is not None else 1 if X is None else int(X.array.shape[-1])
    size = A.array.shape[-1]
    if not 0 < k <= size:
        raise ShapeError(f"lobpcg: {k} eigenvalues of a matrix of {size} rows")
    a = (A + A.mT) / 2
    if B is None:
        values, vectors = LINALG["eigh"](a)
    else:  # L L^T = B, and y = L^T x: (L^-1 A L^-T) y = e y
        lower = LINALG["cholesky"]((B + B.mT) / 2)
        inner = LINALG["solve"](lower, LINALG["solve"](lower, a).mT)
        values, rotated = LINALG["eigh"]((inner + inner.mT) / 2)
        vectors = LINALG["solve"](lower.mT, rotated)
    if largest is False:
        return values.narrow(-1, 0, k), vectors.narrow(-1, 0, k)
    return values.narrow(-1, size - k, k).flip(-1), vectors.narrow(-1, size - k, k).flip(-1)


FACTORS_OF_LINALG: dict[str, Function] = {
    **{f"{name}_ex": _with_info(name) for name in ("cholesky", "inv", "solve")},
    "lu": lambda x, *, pivot=True: _LU(x, pivot=pivot),
    "lu_factor": _lu_factor,
    "lu_factor_ex": lambda x, *, pivot=True, check_errors=False: _LU_FACTOR(x, pivot=pivot),
    "lu_solve": _lu_solve,
    "householder_product": _PRODUCT,
    "eig": _EIG,
    "eigvals": lambda x: _EIG(x)[0],
    "lstsq": _lstsq,
}
FACTORS: dict[str, Function] = {
    "lu": lambda x, pivot=True, get_infos=False: tuple(_LU_FACTOR(x, pivot=pivot)[: 3 if get_infos else 2]),
    "lu_solve": lambda b, factors, pivots: _lu_solve(factors, pivots, b),
    "lu_unpack": lambda factors, pivots, unpack_data=True, unpack_pivots=True: _UNPACK(factors, pivots, unpack_data, unpack_pivots),
    "geqrf": _geqrf,
    "ormqr": _ormqr,
    "lobpcg": _lobpcg,
    "svd_lowrank": _svd_lowrank,
    "pca_lowrank": _pca_lowrank,
}

# -- Fourier transforms of signals that are symmetric in several dimensions

_OTHER = {None: "forward", "backward": "forward", "forward": "backward", "ortho": "ortho"}


def _hermitian(x: Any, s: Any = None, dim: Any = None, norm: str | None = None) -> Any:
    """Of half of a signal with hermitian symmetry, a real transform."""
    return FFT["irfftn"](x.conj() if x.array.dtype.kind == "c" else x, s, dim, _OTHER[norm])


def _inverse_hermitian(x: Any, s: Any = None, dim: Any = None, norm: str | None = None) -> Any:
    return FFT["rfftn"](x, s, dim, _OTHER[norm]).conj()


HERMITIAN: dict[str, Function] = {
    "hfftn": _hermitian,
    "hfft2": lambda x, s=None, dim=(-2, -1), norm=None: _hermitian(x, s, dim, norm),
    "ihfftn": _inverse_hermitian,
    "ihfft2": lambda x, s=None, dim=(-2, -1), norm=None: _inverse_hermitian(x, s, dim, norm),
}
