"""The standard's linear algebra extension: factorisations, systems of equations, norms; batched over leading dimensions.

Factorisations read symmetric (Hermitian) matrices as the mean of the matrix and its adjoint, so that derivatives are those of symmetric
functions. What fails in a traced program, such as the Cholesky factor of a matrix that is not positive definite, gives NaN; concrete
arrays go to NumPy, which raises an exception.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np
from xdsl.ir import Operation

from wengert.dialects import core
from wengert.dialects.builder import Value
from wengert.frontends.tracing.errors import value_error
from wengert.frontends.tracing.operands import axes_of, builder, is_traced, listed, promoted, shape_of, traced, value_of
from wengert.frontends.tracing.tracer import TracedArray
from wengert.frontends.tracing.weak_types import is_narrow_float
from wengert.ir.attributes import bool_attr
from wengert.ir.tensor_types import element, i32, real_element, shape, tensor
from wengert.numpy import reductions
from wengert.numpy.comparisons import where
from wengert.numpy.contraction import cross, diagonal, matmul, outer, tensordot, trace, vecdot
from wengert.numpy.creation import eye
from wengert.numpy.dispatch import NUMPY, Array, ArrayLike, concrete_by
from wengert.numpy.dtypes import astype
from wengert.numpy.elementwise import abs, conj, sqrt
from wengert.numpy.manipulation import broadcast_to, expand_dims, matrix_transpose, moveaxis, reshape
from wengert.transforms.ad.building_blocks.matrices import lu_diagonal, lu_solve, pivots_to_permutation


class EighResult(NamedTuple):
    """The result of :func:`eigh`."""

    eigenvalues: Any
    eigenvectors: Any


class QRResult(NamedTuple):
    """The result of :func:`qr`."""

    Q: Any
    R: Any


class SlogdetResult(NamedTuple):
    """The result of :func:`slogdet`."""

    sign: Any
    logabsdet: Any


class SVDResult(NamedTuple):
    """The result of :func:`svd`."""

    U: Any
    S: Any
    Vh: Any


def _matrices(function: str, x: ArrayLike, square: bool = False) -> Value:
    """Matrices of floats as a value."""
    if len(shape_of(x)) < 2 or (square and shape_of(x)[-1] != shape_of(x)[-2]):
        raise value_error(f"{function} needs {'square ' if square else ''}matrices, found an array of shape {shape_of(x)}")
    dtype = x.dtype if isinstance(x, TracedArray) else np.asarray(x).dtype
    return value_of(x, np.dtype(np.float64) if dtype.kind in "biu" and not is_narrow_float(dtype) else dtype)


def _factors(cls: type[Operation], a: Value, results: list[Any], **properties: Any) -> tuple[Value, ...]:
    """The results of a factorisation, given by shape and element type; the last one says where it failed."""
    return tuple(builder().create(cls, (a,), [tensor(*r) for r in results], properties))


def _nan_where_failed(info: Value, *values: Value) -> list[TracedArray]:
    failed = traced(info) != 0
    marked: list[TracedArray] = []
    for value in values:
        spread = failed[(...,) + (None,) * (len(shape(value)) - len(failed.shape))]
        marked.append(where(spread, float("nan"), traced(value)))
    return marked


def _symmetric(a: Value) -> Value:
    x = traced(a)
    return value_of((x + conj(matrix_transpose(x))) * 0.5)


@concrete_by(np.linalg.cholesky)
def cholesky(x: ArrayLike, /, *, upper: bool = False) -> Array:
    """The triangular factor of positive definite matrices: ``x = l l^H``, or ``u^H u`` if ``upper``."""
    a = _symmetric(_matrices("cholesky", x, square=True))
    factor, info = _factors(core.CholeskyOp, a, [(shape(a), element(a)), (shape(a)[:-2], i32)], lower=bool_attr(True))
    triangle = _nan_where_failed(info, factor)[0]
    return conj(matrix_transpose(triangle)) if upper else triangle


@concrete_by(np.linalg.qr)
def qr(x: ArrayLike, /, *, mode: Literal["reduced", "complete"] = "reduced") -> Any:
    """``x = q r`` with orthonormal columns in q and an upper triangular r."""
    a = _matrices("qr", x)
    *batch, m, n = shape(a)
    k = m if mode == "complete" else min(m, n)
    q, r = _factors(core.QrOp, a, [((*batch, m, k), element(a)), ((*batch, k, n), element(a))], full=bool_attr(mode == "complete"))
    return QRResult(traced(q), traced(r))


@concrete_by(np.linalg.eigh)
def eigh(x: ArrayLike, /) -> Any:
    """Eigenvalues, ascending, and eigenvectors (in columns) of symmetric (Hermitian) matrices."""
    a = _symmetric(_matrices("eigh", x, square=True))
    types = [(shape(a), element(a)), (shape(a)[:-1], real_element(element(a))), (shape(a)[:-2], i32)]
    vectors, values, info = _factors(core.EighOp, a, types, lower=bool_attr(True))
    vectors, values = _nan_where_failed(info, vectors, values)
    return EighResult(values, vectors)


@concrete_by(np.linalg.eigvalsh)
def eigvalsh(x: ArrayLike, /) -> Array:
    """Eigenvalues of symmetric (Hermitian) matrices, ascending."""
    return eigh(x).eigenvalues


@concrete_by(np.linalg.svd)
def svd(x: ArrayLike, /, *, full_matrices: bool = True) -> Any:
    """``x = u diag(s) vh`` with the singular values s descending; u and vh are square if ``full_matrices``."""
    a = _matrices("svd", x)
    *batch, m, n = shape(a)
    k, element_type = min(m, n), element(a)
    sizes = (m, n) if full_matrices else (k, k)
    types = [((*batch, m, sizes[0]), element_type), ((*batch, k), real_element(element_type)), ((*batch, sizes[1], n), element_type), (batch, i32)]
    u, s, vh, info = _factors(core.SvdOp, a, types, full=bool_attr(full_matrices))
    return SVDResult(*_nan_where_failed(info, u, s, vh))


@concrete_by(np.linalg.svdvals)
def svdvals(x: ArrayLike, /) -> Array:
    """Singular values, descending."""
    return svd(x, full_matrices=False).S


# -- systems of equations, by elimination with pivots


def _lu(a: Value) -> tuple[Value, Value]:
    """Both factors in one matrix, and the pivots: row i was exchanged with row pivots[i], counted from 1."""
    *batch, m, n = shape(a)
    packed, pivots, _ = _factors(core.LuOp, a, [(shape(a), element(a)), ((*batch, min(m, n)), i32), (batch, i32)])
    return packed, pivots


@concrete_by(np.linalg.solve)
def solve(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """The solution of ``x1 @ x = x2`` for square matrices; ``x2`` is one column if it has one dimension."""
    a = _matrices("solve", x1, square=True)
    column = len(shape_of(x2)) == 1
    rights = expand_dims(x2, axis=-1) if column else x2
    if shape_of(rights)[-2] != shape(a)[-1]:
        raise value_error(f"solve: the shapes {shape(a)} and {shape_of(x2)} do not fit")
    solution = _solved(*promoted(traced(a), rights)[0])
    return solution[..., 0] if column else solution


def _solved(a: Value, b: Value) -> Any:
    *batch, n, k = shape(b)
    if batch and len(shape(a)) == 2:
        # one system, of which all columns are right-hand sides
        columns = moveaxis(traced(b), -2, 0)
        return moveaxis(reshape(_solved(a, value_of(reshape(columns, (n, -1 if 0 not in shape(b) else 0)))), columns.shape), 0, -2)
    lu, pivots = _lu(a)
    order = pivots_to_permutation(builder(), pivots, n)
    lead = np.broadcast_shapes(shape(a)[:-2], batch)
    factors = [value_of(broadcast_to(traced(x), (*lead, *shape(x)[len(shape(a)) - 2 :]))) for x in (a, lu, order)]
    return traced(lu_solve(builder(), factors, value_of(broadcast_to(traced(b), (*lead, n, k)))))


@concrete_by(np.linalg.inv)
def inv(x: ArrayLike, /) -> Array:
    """The inverse of square matrices."""
    a = _matrices("inv", x, square=True)
    unit = traced(value_of(np.eye(shape(a)[-1]), traced(a).dtype))
    return solve(traced(a), broadcast_to(unit, shape(a)))


def _sign_and_diagonal(a: Value) -> tuple[Any, Any]:
    packed, pivots = _lu(a)
    swaps = reductions.sum(astype(traced(pivots) != np.arange(1, shape(pivots)[-1] + 1), np.int64), -1)
    return astype(1 - 2 * (swaps % 2), traced(packed).dtype), traced(lu_diagonal(builder(), a, packed, pivots))


@concrete_by(np.linalg.det)
def det(x: ArrayLike, /) -> Array:
    """The determinant of square matrices."""
    sign, parts = _sign_and_diagonal(_matrices("det", x, square=True))
    return sign * reductions.prod(parts, -1)


@concrete_by(np.linalg.slogdet)
def slogdet(x: ArrayLike, /) -> Any:
    """The sign of the determinant (of modulus 1 for complex matrices) and the logarithm of its absolute value."""
    from wengert.numpy.elementwise import log, sign

    swaps, parts = _sign_and_diagonal(_matrices("slogdet", x, square=True))
    return SlogdetResult(swaps * reductions.prod(sign(parts), -1), reductions.sum(log(abs(parts)), -1))


@concrete_by(np.linalg.matrix_power)
def matrix_power(x: ArrayLike, n: int, /) -> Array:
    """The product of ``n`` equal square matrices; of the inverse for negative ``n``."""
    if n < 0:
        return matrix_power(inv(x), -n)
    a = traced(_matrices("matrix_power", x, square=True))
    if n == 1:
        return a.viewing(x) if isinstance(x, TracedArray) else a
    if n == 0:
        return broadcast_to(traced(value_of(eye(a.shape[-1]), a.dtype)), a.shape)
    power: Any = None
    while n:
        if n & 1:
            power = a if power is None else power @ a
        n >>= 1
        if n:
            a = a @ a
    return power


def _pinv(x: Any, /, *, rtol: Any = None) -> Any:
    return NUMPY.linalg.pinv(x) if rtol is None else NUMPY.linalg.pinv(x, rtol=rtol)


@concrete_by(_pinv)
def pinv(x: ArrayLike, /, *, rtol: Any = None) -> Array:
    """The pseudoinverse of Moore and Penrose: singular values not above ``rtol`` times the largest count as 0."""
    a = traced(_matrices("pinv", x))
    u, s, vh = svd(a, full_matrices=False)
    kept = s > _cutoff(s, rtol, a.shape)
    inverse = where(kept, 1.0 / where(kept, s, 1.0), 0.0)
    return matmul(conj(matrix_transpose(vh)), inverse[..., :, None] * conj(matrix_transpose(u)))


def _cutoff(s: Any, rtol: Any, extents: Any) -> Any:
    relative = max(extents[-2:]) * float(np.finfo(s.dtype).eps) if rtol is None else rtol
    return (reductions.max(s, -1) * relative)[..., None]


def _matrix_rank(x: Any, /, *, rtol: Any = None) -> Any:
    return np.linalg.matrix_rank(x, rtol=rtol)


@concrete_by(_matrix_rank)
def matrix_rank(x: ArrayLike, /, *, rtol: Any = None) -> Array:
    """The number of singular values above ``rtol`` times the largest."""
    a = traced(_matrices("matrix_rank", x))
    s = svdvals(a)
    return reductions.count_nonzero(s > _cutoff(s, rtol, a.shape), -1)


# -- norms


@concrete_by(np.linalg.vector_norm)
def vector_norm(x: ArrayLike, /, *, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> Array:
    """The norm of order ``ord`` over dimensions, all by default."""
    axes = axes_of(axis, x.ndim)
    size = abs(x) if x.dtype.kind in "fcV" else abs(astype(x, np.float64))
    if ord == np.inf:
        return reductions.max(size, axes, keepdims=keepdims)
    if ord == -np.inf:
        return reductions.min(size, axes, keepdims=keepdims)
    if ord == 0:
        return astype(reductions.count_nonzero(size, axes, keepdims=keepdims), size.dtype)
    if ord == 1:
        return reductions.sum(size, axes, keepdims=keepdims)
    if ord == 2:
        squares = (x * conj(x)).real if x.dtype.kind == "c" else size * size
        return sqrt(reductions.sum(squares, axes, keepdims=keepdims))
    return reductions.sum(size**ord, axes, keepdims=keepdims) ** (1.0 / ord)


@concrete_by(np.linalg.matrix_norm)
def matrix_norm(x: ArrayLike, /, *, keepdims: bool = False, ord: Any = "fro") -> Array:
    """The norm of matrices in the last two dimensions: "fro", "nuc", 1, -1, 2, -2, inf or -inf."""
    if ord == "fro":
        return vector_norm(x, axis=(-2, -1), keepdims=keepdims)
    if ord in (1, -1, np.inf, -np.inf):
        sums = reductions.sum(abs(x), -2 if ord in (1, -1) else -1, keepdims=True)
        norms = (reductions.max if ord > 0 else reductions.min)(sums, (-2, -1), keepdims=True)
    elif ord in ("nuc", 2, -2):
        s = svdvals(x)[..., None]
        norms = (reductions.sum if ord == "nuc" else reductions.max if ord == 2 else reductions.min)(s, (-2, -1), keepdims=True)
    else:
        raise value_error(f"there is no matrix norm {ord!r}", "it is one of 'fro', 'nuc', 1, -1, 2, -2, inf, -inf")
    return norms if keepdims else norms[..., 0, 0]


def norm(x: ArrayLike, /, ord: Any = None, *, axis: Any = None, keepdims: bool = False) -> Array:
    """NumPy's norm: of vectors over one dimension, of matrices over two. Not in the standard."""
    if not is_traced(x):
        return np.linalg.norm(x, ord, axis=axis, keepdims=keepdims)
    dims = tuple(range(x.ndim)) if axis is None else listed(axis)
    pair = dims if len(dims) == 2 else None
    if pair is None or ord is None:
        return vector_norm(x, axis=axis, keepdims=keepdims, ord=2 if ord is None else ord)
    norms = matrix_norm(moveaxis(x, pair, (-2, -1)), ord=ord)
    return expand_dims(norms, axis=tuple(sorted(pair))) if keepdims else norms


__all__ = [
    "cholesky",
    "cross",
    "det",
    "diagonal",
    "eigh",
    "eigvalsh",
    "inv",
    "matmul",
    "matrix_norm",
    "matrix_power",
    "matrix_rank",
    "matrix_transpose",
    "norm",
    "outer",
    "pinv",
    "qr",
    "slogdet",
    "solve",
    "svd",
    "svdvals",
    "tensordot",
    "trace",
    "vecdot",
    "vector_norm",
]
