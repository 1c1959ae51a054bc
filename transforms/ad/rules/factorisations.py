"""Derivatives of matrix factorisations: Cholesky, LU and QR.

The formulas are those of Giles, "Collected matrix derivative results for forward and reverse mode" (2008). Only the triangle
that an op reads contributes.
"""

from __future__ import annotations

from collections.abc import Sequence

from wengert.dialects import core
from wengert.dialects import stablehlo as hlo
from wengert.dialects.builder import OpBuilder, Value
from wengert.dialects.stablehlo.attributes import Transpose
from wengert.ir.attributes import bool_attr, int_of
from wengert.ir.tensor_types import element, i32, is_complex, shape, tensor
from wengert.transforms.ad.building_blocks.matrices import (
    adjoint,
    diagonal,
    hermitian,
    identity_like,
    keep,
    lu_diagonal,
    matmul,
    pivots_to_permutation,
    positive_definite,
    reflected,
    solve,
)
from wengert.transforms.ad.case import Arg, Case
from wengert.transforms.ad.rule import LinearMap, Tangent, derivative, sum_of
from wengert.transforms.core.recognisers.systems import take_rows

# -- Cholesky


def _cholesky_dot(factor: Value, lower: bool):
    def apply(lb: OpBuilder, a_dot: Value) -> Value:
        return factor_tangent(lb, factor, hermitian(lb, a_dot, lower), lower)

    return apply


def factor_tangent(lb: OpBuilder, factor: Value, s: Value, lower: bool) -> Value:
    """The tangent of a Cholesky factor from that of its Hermitian matrix."""
    # l_dot = l phi(l^-1 da l^-H), phi = the lower triangle with half the diagonal; u = l^H
    conjugate_transpose = Transpose.ADJOINT if is_complex(element(factor)) else Transpose.TRANSPOSE
    right = solve(lb, factor, s, left=False, lower=lower, how=conjugate_transpose if lower else Transpose.NO_TRANSPOSE)
    inner = solve(lb, factor, right, lower=lower, how=Transpose.NO_TRANSPOSE if lower else conjugate_transpose)
    strict = keep(lb, inner, "GT" if lower else "LT")
    half = lb.multiply(keep(lb, inner, "EQ"), lb.full_like(inner, 0.5))
    phi = lb.add(strict, half)
    return matmul(lb, factor, phi) if lower else matmul(lb, phi, factor)


@derivative(core.CholeskyOp)
def cholesky(b: OpBuilder, op: core.CholeskyOp) -> LinearMap:
    """a = l l^H: l_dot = l phi(l^-1 da l^-H), phi = the lower triangle with half the diagonal."""
    apply = _cholesky_dot(op.factor, bool(int_of(op.lower)))
    return lambda lb, tangents: [None if tangents[0] is None else apply(lb, tangents[0]), None]


@derivative(hlo.CholeskyOp)
def stablehlo_cholesky(b: OpBuilder, op: hlo.CholeskyOp) -> LinearMap:
    """a = l l^H: l_dot = l phi(l^-1 da l^-H), phi = the lower triangle with half the diagonal."""
    lower = op.lower is not None and bool(int_of(op.lower))
    # the specification does not define the other triangle, so it is masked
    return sum_of([_cholesky_dot(keep(b, op.result, "GE" if lower else "LE"), lower)])


# -- LU


class LuFactors:
    """Both factors of an LU factorisation, extended to squares with ones.

    Args:
        b: where the factors are written out.
        op: the factorisation.
    """

    def __init__(self, b: OpBuilder, op: core.LuOp):
        m, n = shape(op.a)[-2:]
        k, batch = min(m, n), list(shape(op.a)[:-2])
        packed_l = _extended(b, corner(b, op.lu, m, k), [*batch, m, m])
        packed_u = _extended(b, corner(b, op.lu, k, n), [*batch, n, n])
        self.lower = b.add(keep(b, packed_l, "GT"), identity_like(b, packed_l))
        self.upper = keep(b, packed_u, "LE")
        if k < n:
            self.upper = b.add(self.upper, _identity_from(b, packed_u, k))

    def tangent(self, lb: OpBuilder, rows_dot: Value) -> Value:
        """The tangent of both factors in one matrix, from that of the matrix with its rows exchanged."""
        # p a = l u: with x = l^-1 p da u^-1, l_dot = l stril(x) and u_dot = triu(x) u
        x = solve(lb, self.lower, rows_dot, lower=True, unit=True)
        x = solve(lb, self.upper, x, left=False, lower=False)
        # x: [m, n]; l_dot multiplies its columns up to k, u_dot its rows up to k
        low = keep(lb, x, "GT")
        high = keep(lb, x, "LE")
        l_dot = matmul(lb, self.lower, low)
        u_dot = matmul(lb, high, self.upper)
        return lb.add(l_dot, u_dot)


@derivative(core.LuOp)
def lu(b: OpBuilder, op: core.LuOp) -> LinearMap:
    # p a = l u: with x = l^-1 p da u^-1, l_dot = l stril(x) and u_dot = triu(x) u
    permutation = pivots_to_permutation(b, op.pivots, shape(op.a)[-2])
    factors = LuFactors(b, op)

    def apply(lb: OpBuilder, tangents: Sequence[Tangent]) -> Sequence[Tangent]:
        assert tangents[0] is not None
        return [factors.tangent(lb, take_rows(lb, tangents[0], permutation)), None, None]

    return apply


@derivative(core.LuDiagonalOp)
def lu_diagonal_(b: OpBuilder, op: core.LuDiagonalOp) -> LinearMap:
    # with x = l^-1 p da u^-1, du = triu(x) u, so du_ii = x_ii u_ii
    permutation = pivots_to_permutation(b, op.pivots, shape(op.a)[-1])

    def from_a(lb: OpBuilder, a_dot: Value) -> Value:
        x = solve(lb, op.lu, take_rows(lb, a_dot, permutation), lower=True, unit=True)
        x = solve(lb, op.lu, x, left=False, lower=False)
        return lb.multiply(diagonal(lb, x), op.diagonal)

    return sum_of([from_a, None, None])


def corner(b: OpBuilder, x: Value, m: int, n: int) -> Value:
    """The first m rows and n columns."""
    limits = [*shape(x)[:-2], m, n]
    return x if tuple(limits) == shape(x) else b.slice(x, [0] * len(limits), limits)


def _extended(b: OpBuilder, x: Value, extents: Sequence[int]) -> Value:
    if tuple(extents) == shape(x):
        return x
    high = [n - have for n, have in zip(extents, shape(x), strict=True)]
    return b.pad(x, b.scalar(0, element(x)), [0] * len(high), high)


def _identity_from(b: OpBuilder, like: Value, k: int) -> Value:
    """Ones on the diagonal from position k on."""
    n = len(shape(like))
    rest = b.compare("GE", b.iota(n - 2, tensor(shape(like), i32)), b.full(k, tensor(shape(like), i32)))
    return b.select(rest, identity_like(b, like), b.full_like(like, 0))


# -- QR


@derivative(core.QrOp)
def qr(b: OpBuilder, op: core.QrOp) -> LinearMap:
    """a = q r: with w = da r^-1 and s = q^H w, q_dot = w - q (s - omega), r_dot = (s - omega) r, omega the skew part."""
    m, n = shape(op.a)[-2:]
    if int_of(op.full) and m > n:
        return _full_qr_dot(b, op)
    if m < n:
        return lambda lb, tangents: _wide_qr_dot(lb, op, tangents[0])
    return lambda lb, tangents: _tall_qr_dot(lb, op.q, op.r, tangents[0])


def _tall_qr_dot(lb: OpBuilder, q: Value, r: Value, a_dot: Tangent) -> Sequence[Tangent]:
    # with w = da r^-1 and s = q^H w: q_dot = w - q (s - omega), r_dot = (s - omega) r, omega the skew part in q_dot
    assert a_dot is not None
    w = solve(lb, r, a_dot, left=False, lower=False)
    s = matmul(lb, adjoint(lb, q), w)
    below = keep(lb, s, "GT")
    omega = lb.subtract(below, adjoint(lb, below))
    if is_complex(element(s)):
        middle = keep(lb, s, "EQ")
        omega = lb.add(omega, lb.subtract(middle, lb.convert(lb.real(middle), element(s))))
    rest = lb.subtract(s, omega)
    return [lb.subtract(w, matmul(lb, q, rest)), matmul(lb, rest, r)]


def _full_qr_dot(b: OpBuilder, op: core.QrOp) -> LinearMap:
    # q = [q1 q2] with q1 = [t; s], t square. All of q is determined by q1 where q is a product of n reflectors, as in Householder's method:
    # with z = s (t - 1)^-1, dq2 = dq1 z^H - (q1 + q2 z) (ds - z dt)^H (arXiv 2409.13374, equations 32 and 33)
    m, n = shape(op.a)[-2:]
    q1, r1 = corner(b, op.q, m, n), corner(b, op.r, n, n)
    z = reflected(b, q1)
    z_adjoint, mixed = adjoint(b, z), b.add(q1, matmul(b, _columns_from(b, op.q, n), z))

    def apply(lb: OpBuilder, tangents: Sequence[Tangent]) -> Sequence[Tangent]:
        q1_dot, r1_dot = _tall_qr_dot(lb, q1, r1, tangents[0])
        assert q1_dot is not None
        assert r1_dot is not None
        inner = lb.subtract(_rows_from(lb, q1_dot, n), matmul(lb, z, corner(lb, q1_dot, n, n)))
        q2_dot = lb.subtract(matmul(lb, q1_dot, z_adjoint), matmul(lb, mixed, adjoint(lb, inner)))
        return [lb.concatenate([q1_dot, q2_dot], len(shape(op.q)) - 1), _extended(lb, r1_dot, shape(op.r))]

    return apply


def _rows_from(b: OpBuilder, x: Value, start: int) -> Value:
    rank = len(shape(x))
    return b.slice(x, [*[0] * (rank - 2), start, 0], list(shape(x)))


def _columns_from(b: OpBuilder, x: Value, start: int) -> Value:
    rank = len(shape(x))
    return b.slice(x, [*[0] * (rank - 1), start], list(shape(x)))


def _wide_qr_dot(lb: OpBuilder, op: core.QrOp, a_dot: Tangent) -> Sequence[Tangent]:
    # a = [a1 a2] with a1 square: q comes from a1 alone, and r2 = q^H a2
    assert a_dot is not None
    m, n = shape(op.a)[-2:]
    zeros, extents = [0] * len(shape(op.a)), list(shape(op.a))

    def left(x: Value) -> Value:
        return lb.slice(x, zeros, [*extents[:-1], m])

    def right(x: Value) -> Value:
        return lb.slice(x, [*zeros[:-1], m], extents)

    q_dot, r1_dot = _tall_qr_dot(lb, op.q, left(op.r), left(a_dot))
    assert q_dot is not None
    assert r1_dot is not None
    assert n > m
    r2_dot = lb.add(matmul(lb, adjoint(lb, q_dot), right(op.a)), matmul(lb, adjoint(lb, op.q), right(a_dot)))
    return [q_dot, lb.concatenate([r1_dot, r2_dot], len(extents) - 1)]


# -- cases: functions of factors that do not depend on undetermined signs and phases


def _factor(op: type[core.CholeskyOp], b: OpBuilder, a: Value, lower: bool) -> Value:
    return b.create(op, (a,), (a.type, tensor(shape(a)[:-2], i32)), {"lower": bool_attr(lower)})[0]


def _factors(b: OpBuilder, a: Value) -> Sequence[Value]:
    k = min(shape(a)[-2:])
    return b.create(core.LuOp, (a,), (a.type, tensor([*shape(a)[:-2], k], i32), tensor(shape(a)[:-2], i32)))


def _lu(b: OpBuilder, a: Value) -> Value:
    return _factors(b, a)[0]


def _qr(b: OpBuilder, a: Value) -> Sequence[Value]:
    batch, (m, n) = shape(a)[:-2], shape(a)[-2:]
    k = min(m, n)
    return b.create(core.QrOp, (a,), (tensor([*batch, m, k], element(a)), tensor([*batch, k, n], element(a))), {"full": bool_attr(False)})


def _full_qr(b: OpBuilder, a: Value) -> Sequence[Value]:
    batch, (m, n) = shape(a)[:-2], shape(a)[-2:]
    return b.create(core.QrOp, (a,), (tensor([*batch, m, m], element(a)), tensor([*batch, m, n], element(a))), {"full": bool_attr(True)})


def _lu_diagonal(b: OpBuilder, a: Value) -> Value:
    lu, pivots, _ = _factors(b, a)
    return lu_diagonal(b, a, lu, pivots)


_M = Arg((3, 3))
_SPLIT = Arg((3, 3), values=(4, 0.3, -0.2, 0.1, 2, 0.5, -0.4, 0.2, -1))

CASES = [
    Case("cholesky", lambda b, x: _factor(core.CholeskyOp, b, positive_definite(b, x), True), (_M,)),
    Case("cholesky, upper, batched", lambda b, x: _factor(core.CholeskyOp, b, positive_definite(b, x), False), (Arg((2, 3, 3)),)),
    Case("cholesky of one triangle", lambda b, x: _factor(core.CholeskyOp, b, x, True), (Arg((2, 2), values=(2, 9, 0.5, 3)),)),
    Case("cholesky, complex", lambda b, x: _factor(core.CholeskyOp, b, positive_definite(b, x), True), (Arg((2, 2), complex=True),)),
    Case("stablehlo.cholesky", lambda b, x: keep(b, b.one(hlo.CholeskyOp, (positive_definite(b, x),), x.type, lower=bool_attr(True)), "GE"), (_M,)),
    Case("lu", _lu, (_SPLIT,)),
    Case("lu with exchanges, batched", _lu, (Arg((2, 3, 3), values=(0.1, 2, 1, 3, 0.2, 1, 0.5, 0.4, 2, 1, 2, 3, 0.3, 0.1, 4, 5, 0.2, 0.1)),)),
    Case("lu, tall", _lu, (Arg((4, 2), values=(0.1, 2, 3, 0.2, 0.5, 0.4, 1, 1.5)),)),
    Case("lu, wide", _lu, (Arg((2, 4), values=(0.1, 2, 3, 0.2, 0.5, 0.4, 1, 1.5)),)),
    Case("lu, complex", _lu, (Arg((2, 2), complex=True),)),
    Case("lu, diagonal", _lu_diagonal, (_SPLIT,)),
    Case("lu, diagonal, complex, batched", _lu_diagonal, (Arg((2, 3, 3), complex=True),)),
    Case("qr, tall", _qr, (Arg((4, 2)),)),
    Case("qr, square, batched", _qr, (Arg((2, 3, 3)),)),
    Case("qr, wide", _qr, (Arg((2, 4)),)),
    Case("qr, complex", _qr, (Arg((3, 2), complex=True),)),
    Case("qr, full", _full_qr, (Arg((4, 2)),)),
    Case("qr, full, complex, batched", _full_qr, (Arg((2, 3, 2), complex=True),)),
    Case("qr, full, wide", _full_qr, (Arg((2, 3)),)),
]
