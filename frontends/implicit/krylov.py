"""Krylov methods: linear systems solved by products with a matrix that nobody writes down.

``cg`` (Hestenes and Stiefel 1952) for positive definite systems, ``bicgstab`` (van der Vorst 1992) and ``gmres`` (Saad and Schultz 1986) for any. Each is a
:func:`~wengert.custom_linear_solve`: its derivatives are solutions by the same method, of the same system forward and of its transpose in reverse, and
nothing is kept of its iterations.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from wengert.frontends.implicit.equations import custom_linear_solve
from wengert.frontends.pytrees import flatten, unflatten
from wengert.frontends.tracing.errors import type_error, value_error
from wengert.frontends.tracing.operands import shape_of
from wengert.frontends.tracing.signatures import is_array_leaf, spec_of
from wengert.frontends.transforms.control_flow import fori_loop, while_loop
from wengert.frontends.transforms.linear_maps import vjp
from wengert.numpy import (
    arange,
    asarray,
    astype,
    at,
    concat,
    conj,
    eye,
    linalg,
    logical_and,
    matmul,
    matrix_transpose,
    maximum,
    ones_like,
    real,
    reshape,
    sqrt,
    take,
    vecdot,
    where,
    zeros,
    zeros_like,
)

Function = Callable[[Any], Any]
Method = Callable[[Function, Any, Any, Function, Any, int], "tuple[Any, Any, Any]"]
"""(matvec, b, x0, preconditioner, tolerance, most iterations) -> (x, iterations, norm of the residual), for vectors."""


class SolveInfo(NamedTuple):
    """The outcome of a solver.

    Attributes:
        iterations: products with the matrix, about: of ``bicgstab`` there are two for each iteration.
        residual: the norm of ``b - A x``, as the method has it.
    """

    iterations: Any
    residual: Any


def cg(
    matvec: Any, b: Any, x0: Any = None, *, rtol: float | None = None, atol: float = 0.0, maxiter: int | None = None, preconditioner: Function | None = None
) -> tuple[Any, SolveInfo]:
    """The solution of ``matvec(x) = b`` by conjugate gradients, for a symmetric (Hermitian) positive definite matrix: ``(x, info)``.

    Args:
        matvec: a linear function from trees like b to trees like b, or a matrix.
        b: the right-hand side, a tree of float arrays of one dtype.
        x0: where to begin; zeros if it is left out. It has no influence on derivatives.
        rtol: the norm of the residual is to be at most ``max(rtol * norm(b), atol)``; 1e-10 if it is left out (1e-5 in 32 bits and less).
        atol: see there.
        maxiter: the most iterations; ten for each unknown if it is left out.
        preconditioner: a linear function that comes near the inverse, positive definite too.

    Raises:
        TracedTypeError, TracedValueError: shapes or dtypes do not fit.
        DiagnosticError: ``matvec`` is not linear.
    """
    return _solved(_cg, "cg", matvec, b, x0, rtol, atol, maxiter, preconditioner, self_adjoint=True)


def bicgstab(
    matvec: Any, b: Any, x0: Any = None, *, rtol: float | None = None, atol: float = 0.0, maxiter: int | None = None, preconditioner: Function | None = None
) -> tuple[Any, SolveInfo]:
    """The solution of ``matvec(x) = b`` by stabilised biconjugate gradients, for any regular matrix: ``(x, info)``; see :func:`cg`."""
    return _solved(_bicgstab, "bicgstab", matvec, b, x0, rtol, atol, maxiter, preconditioner)


def gmres(
    matvec: Any,
    b: Any,
    x0: Any = None,
    *,
    rtol: float | None = None,
    atol: float = 0.0,
    maxiter: int | None = None,
    preconditioner: Function | None = None,
    restart: int = 20,
) -> tuple[Any, SolveInfo]:
    """The solution of ``matvec(x) = b`` by generalised minimal residuals, for any regular matrix: ``(x, info)``; see :func:`cg`.

    ``restart`` is the most vectors that are kept; the residual is looked at whenever there are as many.
    """

    def method(a: Function, right: Any, start: Any, m: Function, tolerance: Any, most: int) -> tuple[Any, Any, Any]:
        return _gmres(a, right, start, m, tolerance, most, restart)

    return _solved(method, "gmres", matvec, b, x0, rtol, atol, maxiter, preconditioner)


def _solved(
    method: Method,
    name: str,
    matvec: Any,
    b: Any,
    x0: Any,
    rtol: float | None,
    atol: float,
    maxiter: int | None,
    m: Function | None,
    self_adjoint: bool = False,
) -> tuple[Any, SolveInfo]:
    """The solution by a method for vectors."""
    vector = _Vector(b, name)
    product, inverse = vector.map(_function_of(matvec, name), "matvec"), vector.map(m, "the preconditioner") if m is not None else _same
    relative = rtol if rtol is not None else (1e-10 if np.finfo(vector.dtype).bits == 64 else 1e-5)
    most = maxiter if maxiter is not None else 10 * vector.size
    start = None if x0 is None else vector.joined(x0, "x0")

    def run(a: Function, right: Any, inverse: Function) -> tuple[Any, SolveInfo]:
        begin = zeros_like(right) if start is None else start
        tolerance = maximum(_norm(right) * relative, asarray(atol, dtype=_real(vector.dtype)))
        x, iterations, residual = method(a, right, begin, inverse, tolerance, most)
        return x, SolveInfo(iterations, residual)

    def forward(a: Function, right: Any) -> tuple[Any, SolveInfo]:
        return run(a, right, inverse)

    def backward(a: Function, right: Any) -> tuple[Any, SolveInfo]:
        return run(a, right, inverse if m is None else lambda y: vjp(inverse, y)[1](y)[0])

    forward.__name__ = backward.__name__ = name
    symmetric = self_adjoint and vector.dtype.kind == "f"
    x, info = custom_linear_solve(product, vector.joined(b, "b"), forward, backward, symmetric=symmetric, has_aux=True)
    return vector.tree(x), info


def _same(x: Any) -> Any:
    return x


def _function_of(matvec: Any, name: str) -> Function:
    if callable(matvec):
        return matvec
    if len(shape_of(matvec)) != 2 or shape_of(matvec)[0] != shape_of(matvec)[1]:
        raise value_error(f"{name} needs a function or a square matrix, found an array of shape {shape_of(matvec)}")

    def product(x: Any) -> Any:
        return matmul(matvec, x)

    return product


class _Vector:
    """A tree of arrays as one vector."""

    def __init__(self, like: Any, name: str):
        leaves, self._spec = flatten(like)
        for leaf in leaves:
            if not is_array_leaf(leaf) or not spec_of(leaf).differentiable:
                shown = spec_of(leaf) if is_array_leaf(leaf) else repr(leaf)
                raise type_error(f"{name} solves for arrays of floats, found {shown} in the right-hand side", "write 1.0 for 1, or x.astype(float)")
        dtypes = {spec_of(leaf).dtype for leaf in leaves}
        if len(dtypes) != 1:
            raise type_error(f"{name} needs a right-hand side of one dtype, found {', '.join(sorted(d.name for d in dtypes)) or 'no array'}")
        self.dtype = np.dtype(dtypes.pop())
        self._shapes = [shape_of(leaf) for leaf in leaves]
        self._sizes = [int(np.prod(shape, dtype=np.int64)) for shape in self._shapes]
        self.size = sum(self._sizes)

    def joined(self, tree: Any, what: str) -> Any:
        """The elements of a tree like that, as a vector."""
        leaves, spec = flatten(tree)
        if spec != self._spec or [shape_of(leaf) for leaf in leaves] != self._shapes:
            raise value_error(f"{what} must have the shapes of the right-hand side, {self._shapes}, found {[shape_of(leaf) for leaf in leaves]}")
        parts = [reshape(asarray(leaf, dtype=self.dtype), (-1,)) for leaf in leaves]
        return parts[0] if len(parts) == 1 else concat(parts)

    def tree(self, x: Any) -> Any:
        """A vector as such a tree."""
        ends = np.cumsum(self._sizes)
        return unflatten(self._spec, [reshape(x[end - n : end], shape) for end, n, shape in zip(ends.tolist(), self._sizes, self._shapes, strict=True)])

    def map(self, function: Function, what: str) -> Function:
        """A function of such trees as one of vectors."""

        def mapped(x: Any) -> Any:
            return self.joined(function(self.tree(x)), f"what {what} returns")

        mapped.__name__ = getattr(function, "__name__", "matvec").replace("<lambda>", "matvec")
        return mapped


def _real(dtype: np.dtype[Any]) -> np.dtype[Any]:
    return np.dtype({"c": f"f{dtype.itemsize // 2}"}.get(dtype.kind, dtype))


def _dot(x: Any, y: Any) -> Any:
    """The inner product, conjugate in x."""
    return vecdot(x, y)


def _norm(x: Any) -> Any:
    return sqrt(real(_dot(x, x)) if x.dtype.kind == "c" else _dot(x, x))


def _quotient(x: Any, y: Any) -> Any:
    """x / y, and 0 where y is: the method has come to its end."""
    zero = y == 0
    return where(zero, zeros_like(y), x / where(zero, ones_like(y), y))


def _cg(a: Function, b: Any, x0: Any, m: Function, tolerance: Any, most: int) -> tuple[Any, Any, Any]:
    r = b - a(x0)
    z = m(r)

    def going(state: Any) -> Any:
        _, r, _, _, k = state
        return logical_and(_norm(r) > tolerance, k < most)

    def step(state: Any) -> Any:
        x, r, p, rho, k = state
        q = a(p)
        alpha = _quotient(rho, _dot(p, q))
        x, r = x + alpha * p, r - alpha * q
        z = m(r)
        new = _dot(r, z)
        return x, r, z + _quotient(new, rho) * p, new, k + 1

    x, r, _, _, k = while_loop(going, step, (x0, r, z, _dot(r, z), asarray(0, dtype=np.int64)))
    return x, k, _norm(r)


def _bicgstab(a: Function, b: Any, x0: Any, m: Function, tolerance: Any, most: int) -> tuple[Any, Any, Any]:
    r0 = b - a(x0)
    one = ones_like(_dot(r0, r0))

    def going(state: Any) -> Any:
        _, r, _, _, rho, _, _, k = state
        return logical_and(logical_and(_norm(r) > tolerance, k < most), rho != 0)

    def step(state: Any) -> Any:
        x, r, p, v, rho, alpha, omega, k = state
        new = _dot(r0, r)
        beta = _quotient(new, rho) * _quotient(alpha, omega)
        p = r + beta * (p - omega * v)
        y = m(p)
        v = a(y)
        alpha = _quotient(new, _dot(r0, v))
        s = r - alpha * v
        z = m(s)
        t = a(z)
        omega = _quotient(_dot(t, s), _dot(t, t))
        return x + alpha * y + omega * z, s - omega * t, p, v, new, alpha, omega, k + 1

    zeros = zeros_like(r0)
    x, r, *_, k = while_loop(going, step, (x0, r0, zeros, zeros, one, one, one, asarray(0, dtype=np.int64)))
    return x, k, _norm(r)


def _gmres(a: Function, b: Any, x0: Any, m: Function, tolerance: Any, most: int, restart: int) -> tuple[Any, Any, Any]:
    """Right-preconditioned, so that the residual that is minimised is that of the system."""
    n = b.shape[0]
    count = min(restart, n)

    def going(state: Any) -> Any:
        _, r, k = state
        return logical_and(_norm(r) > tolerance, k < most)

    def cycle(state: Any) -> Any:
        x, r, k = state
        x = x + m(_correction(lambda v: a(m(v)), r, count))
        return x, b - a(x), k + count

    x, r, k = while_loop(going, cycle, (x0, b - a(x0), asarray(0, dtype=np.int64)))
    return x, k, _norm(r)


def _correction(a: Function, r: Any, count: int) -> Any:
    """The combination of ``r, a(r), a(a(r)), ...``, of so many, that makes the residual least (Arnoldi's method, orthogonalised twice).

    Where these are dependent, the vectors that follow are zeros, and their coefficients too.
    """
    n, dtype = r.shape[0], r.dtype
    beta = _norm(r)
    basis = zeros((count + 1, n), dtype=dtype)
    basis = at(basis)[0].set(_quotient(r, beta * ones_like(r)))
    hessenberg = zeros((count, count + 1), dtype=dtype)  # columns as rows

    def arnoldi(j: Any, state: Any) -> Any:
        basis, hessenberg = state
        v = take(basis, j, axis=0)
        w = a(v)
        scale = _norm(w)
        first = matmul(_conj(basis), w)
        w = w - matmul(first, basis)
        second = matmul(_conj(basis), w)
        w = w - matmul(second, basis)
        norm = _norm(w)
        ended = norm <= scale * float(8 * np.finfo(dtype).eps)
        norm = where(ended, zeros_like(norm), norm)
        dead = astype(_norm(v) == 0, dtype)
        places = arange(count + 1)
        column = first + second + astype(places == j + 1, dtype) * astype(norm, dtype) + dead * astype(places == j, dtype)
        unit = _quotient(w, astype(norm, dtype) * ones_like(w))
        return at(basis)[j + 1].set(unit), at(hessenberg)[j].set(column)

    basis, hessenberg = fori_loop(0, count, arnoldi, (basis, hessenberg))
    q, upper = linalg.qr(matrix_transpose(hessenberg))
    right = _conj(q[0]) * astype(beta, dtype)
    y = _back_substituted(upper, right)
    return matmul(y, basis[:count])


def _back_substituted(upper: Any, right: Any) -> Any:
    """The solution of a triangular system; a row without a pivot counts for nothing."""
    count = right.shape[0]
    diagonal = linalg.diagonal(upper)
    lost = diagonal == 0
    safe = upper + eye(count, dtype=upper.dtype) * astype(lost, upper.dtype)
    return linalg.solve(safe, where(lost, zeros_like(right), right))


def _conj(x: Any) -> Any:
    return conj(x) if x.dtype.kind == "c" else x
