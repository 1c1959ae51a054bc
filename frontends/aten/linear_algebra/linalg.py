"""Matrix factorisations, determinants and inverses, batched over leading dimensions.

Symmetric (Hermitian) matrices are read from one triangle, as PyTorch does, and have the symmetric gradient that PyTorch gives. Where a
factorisation fails there are NaN in the results where PyTorch raises an error: programs do not look at their values.
"""

from __future__ import annotations

from typing import Any

from wengert.dialects import core
from wengert.dialects.builder import Value
from wengert.frontends.aten.builder import AtenBuilder
from wengert.frontends.aten.meanings import means
from wengert.frontends.aten.result_types.matrices import determinant, log_determinant, pseudo_inverse, same_matrix, singular
from wengert.frontends.aten.result_types.shapes import eigen_general, eigen_symmetric, orthogonal, with_info
from wengert.frontends.transforms.differentiation_control import stop_gradient
from wengert.ir.attributes import bool_attr
from wengert.ir.tensor_types import element, i32, real_element, shape, tensor
from wengert.numpy import conj, eye, finfo, matrix_transpose, maximum, where
from wengert.numpy import linalg as wlinalg
from wengert.transforms.ad.building_blocks.matrices import adjoint, identity_like, keep, matmul
from wengert.transforms.ad.building_blocks.matrices import hermitian as hermitian_of

Values = tuple[Value | None, ...]


def mean_of_triangles(b: AtenBuilder, a: Value, lower: bool) -> Value:
    """A Hermitian matrix by one triangle of a, which has the derivative of (a + a^H) / 2."""
    mean = b.multiply(b.add(a, adjoint(b, a)), b.full_like(a, 0.5))
    return b.add(mean, b.stopped(b.subtract(hermitian_of(b, a, lower), mean)))


def nan_where_failed(b: AtenBuilder, info: Value, x: Value) -> Value:
    """NaN in place of what a factorisation failed for; info has one number for each matrix."""
    failed = b.compare("NE", info, b.full_like(info, 0))
    return b.select(b.broadcast_in_dim(failed, range(len(shape(info))), shape(x)), b.full_like(x, float("nan")), x)


def _ok(b: AtenBuilder, position: int) -> Value:
    """Zeros for a result that says what failed and where; what fails here gives NaN."""
    type = b.types[position]
    assert type is not None
    return b.zeros(type)


# -- Cholesky


@means("linalg_cholesky_ex.default(self, *, upper=False, check_errors=False)", results=with_info)
def cholesky(b: AtenBuilder, a: Value, upper: bool = False, check_errors: bool = False) -> Values:
    """The factor, and where it failed."""
    symmetric = mean_of_triangles(b, a, lower=not upper)
    factor, info = b.create(core.CholeskyOp, (symmetric,), (symmetric.type, tensor(shape(a)[:-2], i32)), {"lower": bool_attr(True)})
    factor = nan_where_failed(b, info, factor)
    return adjoint(b, factor) if upper else factor, info


@means("cholesky.default(self, upper=False)", results=same_matrix)
def cholesky_alone(b: AtenBuilder, a: Value, upper: bool = False) -> Value:
    """The factor."""
    factor = cholesky(b, a, upper)[0]
    assert factor is not None
    return factor


# -- determinant and inverse


@means("linalg_inv_ex.default(A, *, check_errors=False)", results=with_info)
def inv(b: AtenBuilder, a: Value, check_errors: bool = False) -> Values:
    """The inverse."""
    return b.by_numpy(wlinalg.inv, a), _ok(b, 1)


@means("_linalg_det.default(A)", results=determinant)
def det(b: AtenBuilder, a: Value) -> Values:
    """The determinant."""
    return b.by_numpy(wlinalg.det, a), None, None


@means("_linalg_slogdet.default(A)", results=log_determinant)
def slogdet(b: AtenBuilder, a: Value) -> Values:
    """The sign of the determinant, and the logarithm of its absolute value."""
    sign, size = b.by_numpy(wlinalg.slogdet, a)
    return sign, size, None, None


@means("linalg_pinv.atol_rtol_tensor(self, *, atol=None, rtol=None, hermitian=False)", results=pseudo_inverse)
def pinv(b: AtenBuilder, a: Value, *, atol: Value | None = None, rtol: Value | None = None, hermitian: bool = False) -> Value:
    """The pseudoinverse; singular values up to a bound, or a multiple of the largest one, count as 0."""
    if 0 in shape(a):
        return b.full(0, b.type)
    known = b.stopped(hermitian_of(b, a, True) if hermitian else a)
    bounds: list[Any] = [0.0 if bound is None else bound for bound in (atol, rtol)]
    return b.by_numpy(_bounded_pinv, a, known, *bounds, atol is None, rtol is None)


def _bounded_pinv(a: Any, known: Any, atol: Any, rtol: Any, no_atol: bool, no_rtol: bool) -> Any:
    u, s, vh = wlinalg.svd(known, full_matrices=False)
    largest = s[..., :1]
    standard = max(a.shape[-2:]) * float(finfo(s.dtype).eps)
    if no_rtol:
        rtol = standard if no_atol else where(atol > 0, 0.0, standard)
    relative = (rtol if isinstance(rtol, float) else rtol[..., None]) * largest
    kept = s > maximum(atol if isinstance(atol, float) else atol[..., None], relative)
    inverse = where(kept, 1.0 / where(kept, s, 1.0), 0.0)
    value = stop_gradient((conj(matrix_transpose(vh)) * inverse[..., None, :]) @ conj(matrix_transpose(u)))
    return _of_constant_rank(a, value, 2)


def _of_constant_rank(a: Any, value: Any, order: int) -> Any:
    """The pseudoinverse p with the derivative that it has among matrices of the same rank (G. H. Golub and V. Pereyra, 1973):
    -p da p + p p^H da^H (1 - a p) + (1 - p a) da^H p^H p. Right up to derivatives of this order."""
    if not order:
        return value
    p = _of_constant_rank(a, value, order - 1)
    da = a - stop_gradient(a)
    down, up = conj(matrix_transpose(da)), conj(matrix_transpose(p))
    left, right = eye(a.shape[-2], dtype=a.dtype) - a @ p, eye(a.shape[-1], dtype=a.dtype) - p @ a
    return value - p @ da @ p + p @ up @ down @ left + right @ down @ up @ p


# -- orthogonal factors


@means("linalg_qr.default(A, mode='reduced')", results=orthogonal)
def qr(b: AtenBuilder, a: Value, mode: str = "reduced") -> Values:
    """Orthonormal columns, and an upper triangle; with mode "r" only that."""
    q, r = b.by_numpy(wlinalg.qr, a, mode="complete" if mode == "complete" else "reduced")
    return (_ok(b, 0) if mode == "r" else q), r


@means("_linalg_eigh.default(A, UPLO='L', compute_v=True)", results=eigen_symmetric)
def eigh(b: AtenBuilder, a: Value, uplo: str = "L", compute_v: bool = True) -> Values:
    """Eigenvalues, ascending, and eigenvectors of Hermitian matrices."""
    lower = uplo.upper() == "L"
    symmetric = mean_of_triangles(b, a, lower)
    types = (symmetric.type, tensor(shape(a)[:-1], real_element(element(a))), tensor(shape(a)[:-2], i32))
    vectors, values, info = b.create(core.EighOp, (symmetric,), types, {"lower": bool_attr(lower)})
    return nan_where_failed(b, info, values), nan_where_failed(b, info, vectors) if compute_v else None


@means("_linalg_svd.default(A, full_matrices=False, compute_uv=True, *, driver=None)", results=singular)
def svd(b: AtenBuilder, a: Value, full_matrices: bool = False, compute_uv: bool = True, *, driver: str | None = None) -> Values:
    """Singular vectors and values."""
    if not compute_uv:
        return None, b.by_numpy(wlinalg.svdvals, a), None
    return b.by_numpy(wlinalg.svd, a, full_matrices=full_matrices)


@means("linalg_eig.default(self)", results=eigen_general)
def eig(b: AtenBuilder, a: Value) -> Values:
    """Complex eigenvalues, and eigenvectors of norm 1, of any square matrices."""
    element_type = b.element_type
    wide = b.convert(a, element_type)
    types = (tensor(shape(a)[:-1], element_type), tensor(shape(a), element_type), tensor(shape(a), element_type), tensor(shape(a)[:-2], i32))
    values, _, vectors, info = b.create(core.EigOp, (wide,), types)
    return nan_where_failed(b, info, values), nan_where_failed(b, info, vectors)


@means("linalg_householder_product.default(input, tau)", results=same_matrix)
def householder_product(b: AtenBuilder, a: Value, tau: Value) -> Value:
    """The first columns of the product of the reflections that a QR factorisation in packed form consists of."""
    *batch, m, n = shape(a)
    vectors = b.add(keep(b, a, "GT"), identity_like(b, a))
    product: Value | None = None
    unit = identity_like(b, b.full(0, tensor((*batch, m, m), element(a))))
    for i in range(shape(tau)[-1]):
        v = b.slice(vectors, [0] * len(batch) + [0, i], [*batch, m, i + 1])
        t = b.reshape(b.slice(tau, [0] * len(batch) + [i], [*batch, i + 1]), batch)
        outer = matmul(b, v, adjoint(b, v))
        reflection = b.subtract(unit, b.multiply(b.broadcast_in_dim(t, range(len(batch)), shape(outer)), outer))
        product = reflection if product is None else matmul(b, product, reflection)
    complete = unit if product is None else product
    return b.slice(complete, [0] * len(batch) + [0, 0], [*batch, m, n])
