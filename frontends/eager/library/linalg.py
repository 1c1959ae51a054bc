"""Linear algebra and Fourier transforms: functions of ``wengert.numpy`` as operations, under PyTorch's names."""

# pyright: reportUnknownLambdaType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
# (tables of one-line functions, whose arguments have no types)

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from wengert.eager.containers import listed
from wengert.eager.errors import ShapeError
from wengert.eager.library.calling import Function, aten, in_dtype, traced
from wengert.eager.library.reductions import cross
from wengert.eager.operations.creation import eye as identity
from wengert.eager.operations.creation import tensor, zeros
from wengert.eager.operations.joining import stack
from wengert.eager.operations.promotion import default_dtype
from wengert.numpy import fft as transforms
from wengert.numpy import linalg as matrices

inf = float("inf")
_QR, _EIGH, _SVD, _INV, _DET, _SLOGDET, _CHOLESKY, _SVDVALS, _EIGVALSH, _PINV, _RANK = (
    traced(f"linalg_{name}", getattr(matrices, name))
    for name in ("qr", "eigh", "svd", "inv", "det", "slogdet", "cholesky", "svdvals", "eigvalsh", "pinv", "matrix_rank")
)
_SOLVE = traced("linalg_solve", matrices.solve)


def _solve(a: Any, b: Any, *, left: bool = True) -> Any:
    if not left:
        return _solve(a.transpose(-2, -1), b.transpose(-2, -1)).transpose(-2, -1)
    vector = b.array.ndim == 1 or (a.array.ndim - 1 == b.array.ndim and a.array.shape[:-1] == b.array.shape)
    made = _SOLVE(a, b.unsqueeze(-1) if vector else b)
    return made.squeeze(-1) if vector else made


def _solve_triangular(a: Any, b: Any, *, upper: bool, left: bool = True, unitriangular: bool = False) -> Any:
    a = a.triu() if upper else a.tril()
    if unitriangular:
        a = (
            a
            - a.diagonal(0, -2, -1).detach().unsqueeze(-1) * identity(a.array.shape[-1], dtype=a.array.dtype)
            + identity(a.array.shape[-1], dtype=a.array.dtype)
        )
        a = (a.triu(1) if upper else a.tril(-1)) + identity(a.array.shape[-1], dtype=a.array.dtype)
    return _solve(a, b, left=left)


def _cholesky(x: Any, *, upper: bool = False) -> Any:
    made = _CHOLESKY(x)
    return made.transpose(-2, -1) if upper else made


def vector_norm(x: Any, ord: float = 2, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    """The norm of vectors along dimensions."""
    return in_dtype(x, dtype).norm(ord, dim, keepdim)


def matrix_norm(x: Any, ord: Any = "fro", dim: Any = (-2, -1), keepdim: bool = False, *, dtype: Any = None) -> Any:
    """The norm of matrices that lie in two dimensions."""
    x = in_dtype(x, dtype)
    rank = x.array.ndim
    rows, columns = (d % rank for d in dim)
    if ord == "fro":
        return x.norm(2, (rows, columns), keepdim)
    if ord in (1, -1, inf, -inf):
        gone, left = (rows, columns) if abs(ord) == 1 else (columns, rows)
        made = x.abs().sum(gone, True)
        made = made.amax(left, True) if ord > 0 else made.amin(left, True)
    elif ord in (2, -2, "nuc"):
        values = _SVDVALS(x.movedim((rows, columns), (-2, -1)))
        made = values.sum(-1) if ord == "nuc" else values.amax(-1) if ord == 2 else values.amin(-1)
        made = made.unsqueeze(min(rows, columns)).unsqueeze(max(rows, columns))
    else:
        raise ShapeError(f"matrix_norm: order {ord!r} is not one of 'fro', 'nuc', 1, 2, inf and their negatives")
    return made if keepdim else made.reshape(*(n for d, n in enumerate(made.array.shape) if d not in (rows, columns)))


def norm(x: Any, ord: Any = None, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    """A norm of vectors or of matrices, as the dimensions say."""
    x = in_dtype(x, dtype)
    if ord is None:
        return x.norm(2, dim, keepdim)
    several = isinstance(dim, list | tuple) and len(dim) == 2
    if isinstance(ord, str) or several or (dim is None and x.array.ndim == 2):
        return matrix_norm(x, ord, dim if several else (-2, -1), keepdim)
    return x.norm(ord, dim, keepdim)


def multi_dot(tensors: Any) -> Any:
    """The product of several matrices."""
    made = tensors[0]
    for x in tensors[1:]:
        made = made.matmul(x)
    return made


def matrix_power(x: Any, n: int) -> Any:
    """A matrix to a whole power."""
    if n < 0:
        return matrix_power(_INV(x), -n)
    made = identity(x.array.shape[-1], dtype=x.array.dtype).expand(*x.array.shape) + 0 * x if n == 0 else x
    for _ in range(n - 1):
        made = made.matmul(x)
    return made


def cond(x: Any, p: Any = None) -> Any:
    """How much a matrix magnifies errors."""
    if p in (None, 2, -2):
        values = _SVDVALS(x)
        return values.select(-1, 0) / values.select(-1, -1) if p != -2 else values.select(-1, -1) / values.select(-1, 0)
    return matrix_norm(x, p) * matrix_norm(_INV(x), p)


def vander(x: Any, N: int | None = None) -> Any:  # noqa: N803
    """Powers of each element."""
    x = x if x.array.ndim else x.reshape(1)
    count = x.array.shape[-1] if N is None else N
    return stack([x**i for i in range(count)], -1) if count else zeros(*x.array.shape, 0, dtype=x.array.dtype)


def tensorinv(x: Any, ind: int = 2) -> Any:
    """The inverse of what tensordot does."""
    front, back = x.array.shape[:ind], x.array.shape[ind:]
    return _INV(x.reshape(prod(front), prod(back))).reshape(*back, *front)


def tensorsolve(a: Any, b: Any, dims: Any = None) -> Any:
    """x such that the tensor product of a and x is b."""
    if dims is not None:
        a = a.movedim(tuple(dims), tuple(range(a.array.ndim - len(dims), a.array.ndim)))
    rest = a.array.shape[b.array.ndim :]
    return _solve(a.reshape(b.array.size, prod(rest)), b.reshape(-1)).reshape(*rest)


def _svd(x: Any, full_matrices: bool = True) -> Any:
    return _SVD(x, full_matrices=full_matrices)


def _vecdot(x: Any, y: Any, *, dim: int = -1) -> Any:
    return (x * y).sum(dim)


def _symmetric(x: Any, triangle: str) -> Any:
    """The symmetric matrix of which one triangle counts. The gradient lies in that triangle and its mirror, half in each, as PyTorch's does."""
    half = x.tril() if triangle == "L" else x.triu()
    low = half.detach() + half.detach().transpose(-2, -1) - half.detach().diagonal(0, -2, -1).unsqueeze(-1) * identity(x.array.shape[-1], dtype=x.array.dtype)
    return x + (low - x.detach())


def _pinv(x: Any, rcond: Any = None, hermitian: bool = False, *, atol: Any = None, rtol: Any = None) -> Any:
    _no_bound("pinv", atol)
    rtol = rcond if rtol is None else rtol
    rtol = rtol.item() if hasattr(rtol, "array") and rtol.array.size == 1 else rtol
    known = x.detach()
    return _pinv_of_constant_rank(x, _PINV(_symmetric(known, "L") if hermitian else known, rtol=rtol)) if 0 not in x.array.shape else x.transpose(-2, -1)


def _pinv_of_constant_rank(x: Any, value: Any, order: int = 2) -> Any:
    """The pseudoinverse p with the derivative that it has among matrices of the same rank (G. H. Golub and V. Pereyra, 1973), which need not be full:
    -p dx p + p p^H dx^H (1 - x p) + (1 - p x) dx^H p^H p. Right up to derivatives of this order."""
    if not order or not x.tracked:
        return value
    p = _pinv_of_constant_rank(x, value, order - 1)
    dx = x - x.detach()
    rows, columns = x.array.shape[-2:]
    left = identity(rows, dtype=x.array.dtype) - x.matmul(p)
    right = identity(columns, dtype=x.array.dtype) - p.matmul(x)
    down, up = dx.mH, p.mH
    return value - p.matmul(dx).matmul(p) + p.matmul(up).matmul(down).matmul(left) + right.matmul(down).matmul(up).matmul(p)


def _matrix_rank(x: Any, tol: Any = None, hermitian: bool = False, *, atol: Any = None, rtol: Any = None) -> Any:
    atol = tol if tol is not None else atol
    if atol is not None and 0 not in x.array.shape:
        values = _SVDVALS(_symmetric(x, "L") if hermitian else x).detach()
        bound = values.amax(-1, True) * (0.0 if rtol is None else _column(rtol))
        return (values > bound.maximum(_column(atol) + 0 * values)).sum(-1)
    if 0 in x.array.shape:
        return zeros(*x.array.shape[:-2], dtype="int64")
    return _RANK(_symmetric(x, "L") if hermitian else x, rtol=rtol)


def _column(bound: Any) -> Any:
    """A bound for each matrix, beside its singular values."""
    return bound.unsqueeze(-1) if hasattr(bound, "array") and bound.array.ndim else bound


def _no_bound(name: str, bound: Any) -> None:
    if bound is not None:
        raise ShapeError(f"linalg.{name}: an absolute bound (atol) is not supported; give rtol, in units of the largest singular value")


LINALG: dict[str, Function] = {
    "matrix_exp": aten("matrix_exp.default"),
    "qr": lambda x, mode="reduced": _QR(x, mode=mode),
    "eigh": lambda x, UPLO="L": _EIGH(_symmetric(x, UPLO)),  # noqa: N803
    "eigvalsh": lambda x, UPLO="L": _EIGVALSH(_symmetric(x, UPLO)),  # noqa: N803
    "svd": _svd,
    "svdvals": _SVDVALS,
    "inv": _INV,
    "det": _DET,
    "slogdet": _SLOGDET,
    "cholesky": _cholesky,
    "pinv": _pinv,
    "matrix_rank": _matrix_rank,
    "solve": _solve,
    "solve_triangular": _solve_triangular,
    "vector_norm": vector_norm,
    "matrix_norm": matrix_norm,
    "norm": norm,
    "multi_dot": multi_dot,
    "matrix_power": matrix_power,
    "cond": cond,
    "vander": vander,
    "tensorinv": tensorinv,
    "tensorsolve": tensorsolve,
    "vecdot": _vecdot,
    "cross": lambda x, other, dim=-1: cross(x, other, dim),
    "diagonal": lambda x, offset=0, dim1=-2, dim2=-1: x.diagonal(offset, dim1, dim2),
    "matmul": lambda x, other: x.matmul(other),
}
OLD_NAMES: dict[str, Function] = {
    "cholesky": lambda x, upper=False: _cholesky(x, upper=upper),
    "det": LINALG["det"],
    "slogdet": LINALG["slogdet"],
    "inverse": LINALG["inv"],
    "qr": lambda x, some=True: _QR(x, mode="reduced" if some else "complete"),
    "svd": lambda x, some=True, compute_uv=True: _transposed_last(_svd(x, not some)),
    "pinverse": lambda x, rcond=1e-15: _pinv(x, rcond),
    "matrix_power": matrix_power,
    "chain_matmul": lambda *xs: multi_dot(xs),
    "triangular_solve": lambda b, a, upper=True, transpose=False, unitriangular=False: (
        _solve_triangular(a, b, upper=upper, unitriangular=unitriangular)
        if not transpose
        else _solve_triangular(a.transpose(-2, -1), b, upper=not upper, unitriangular=unitriangular),
        a.clone(),
    ),
    "cholesky_solve": lambda b, factor, upper=False: _solve(factor.transpose(-2, -1).matmul(factor) if upper else factor.matmul(factor.transpose(-2, -1)), b),
    "cholesky_inverse": lambda factor, upper=False: _INV(factor.transpose(-2, -1).matmul(factor) if upper else factor.matmul(factor.transpose(-2, -1))),
}


def _transposed_last(factors: Any) -> Any:
    u, s, vh = factors
    return u, s, vh.transpose(-2, -1)


def _transform(name: str, several: bool) -> Function:
    op = traced(f"fft_{name}", getattr(transforms, name))
    if several:
        return lambda x, s=None, dim=None, norm=None: op(
            x, s=None if s is None else listed(s), axes=None if dim is None else listed(dim), norm=norm or "backward"
        )
    return lambda x, n=None, dim=-1, norm=None: op(x, n=n, axis=dim, norm=norm or "backward")


def _in_plane(name: str) -> Function:
    several = _transform(name, several=True)
    return lambda x, s=None, dim=(-2, -1), norm=None: several(x, s, dim, norm)


def _shift(name: str) -> Function:
    op = traced(f"fft_{name}", getattr(transforms, name))
    return lambda x, dim=None: op(x, axes=dim)


FFT: dict[str, Function] = {
    **{name: _transform(name, several=False) for name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")},
    **{name: _transform(name, several=True) for name in ("fftn", "ifftn", "rfftn", "irfftn")},
    **{name: _in_plane(f"{name[:-1]}n") for name in ("fft2", "ifft2", "rfft2", "irfft2")},
    "fftshift": _shift("fftshift"),
    "ifftshift": _shift("ifftshift"),
    "fftfreq": lambda n, d=1.0, dtype=None: tensor(np.fft.fftfreq(n, d), dtype or default_dtype()),
    "rfftfreq": lambda n, d=1.0, dtype=None: tensor(np.fft.rfftfreq(n, d), dtype or default_dtype()),
}
