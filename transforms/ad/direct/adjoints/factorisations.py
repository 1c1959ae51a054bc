"""Adjoints of the factorisations into triangular and orthogonal matrices: Cholesky, LU, QR.

The differentials are those of Giles, "Collected matrix derivative results for forward and reverse mode" (2008);
``matrix_cotangents`` states how adjoints follow. Where an op reads one triangle of its operand, the other one has a zero cotangent.
"""

from __future__ import annotations

from collections.abc import Sequence

from wengert.dialects import core
from wengert.dialects import stablehlo as hlo
from wengert.dialects.builder import OpBuilder, Value
from wengert.dialects.core import Kind
from wengert.dialects.stablehlo.attributes import ScatterDimensionNumbersAttr, Transpose, dimensions
from wengert.ir.attributes import int_attr, int_of
from wengert.ir.tensor_types import element, i32, rank, shape, tensor, type_of
from wengert.transforms.ad.building_blocks.matrices import adjoint as hermitian_transpose
from wengert.transforms.ad.building_blocks.matrices import identity_like, keep, matmul, pivots_to_permutation, reflected, solve, transposed
from wengert.transforms.ad.direct.adjoint import Bars, adjoint
from wengert.transforms.ad.direct.matrix_cotangents import conj, from_hermitian, on_diagonal, real_part, total
from wengert.transforms.ad.rule import Tangent

# -- Cholesky


def _cholesky_bar(b: OpBuilder, factor: Value, y_bar: Value, lower: bool) -> Value:
    # dl = l phi(l^-1 h l^-H): phi halves the diagonal and drops the other triangle; for u = l^H, du = phi(u^-H h u^-1) u
    factor_t = transposed(b, factor)
    p_bar = matmul(b, factor_t, y_bar) if lower else matmul(b, y_bar, factor_t)
    s_bar = b.add(keep(b, p_bar, "GT" if lower else "LT"), b.multiply(keep(b, p_bar, "EQ"), b.full_like(p_bar, 0.5)))
    conjugate = conj(b, factor)
    if lower:
        h_bar = solve(b, conjugate, solve(b, factor, s_bar, lower=True, how=Transpose.TRANSPOSE), left=False, lower=True)
    else:
        h_bar = solve(b, factor, solve(b, conjugate, s_bar, lower=False), left=False, lower=False, how=Transpose.TRANSPOSE)
    return from_hermitian(b, h_bar, lower)


@adjoint(core.CholeskyOp)
def cholesky(b: OpBuilder, op: core.CholeskyOp, y_bars: Sequence[Value], needed: Sequence[bool]) -> Bars:
    return [_cholesky_bar(b, op.factor, y_bars[0], bool(int_of(op.lower)))]


@adjoint(hlo.CholeskyOp)
def stablehlo_cholesky(b: OpBuilder, op: hlo.CholeskyOp, y_bars: Sequence[Value], needed: Sequence[bool]) -> Bars:
    lower = op.lower is not None and bool(int_of(op.lower))
    # the specification does not define the other triangle
    return [_cholesky_bar(b, keep(b, op.result, "GE" if lower else "LE"), y_bars[0], lower)]


# -- LU


@adjoint(core.LuOp)
def lu(b: OpBuilder, op: core.LuOp, y_bars: Sequence[Value], needed: Sequence[bool]) -> Bars:
    # p da = dl u + l du gives x = l^-1 p da u^-1 = l^-1 dl + du u^-1, the first strictly lower, the second upper. l and u are
    # extended to squares with ones on the diagonal, which does not change this.
    m, n = shape(op.a)[-2:]
    low = _completed(b, keep(b, op.lu, "GT"), m, m)
    u = _completed(b, keep(b, op.lu, "LE"), n, n, from_packed=True)
    y_bar = y_bars[0]
    below, above = matmul(b, transposed(b, low), y_bar), matmul(b, y_bar, transposed(b, u))
    x_bar = b.add(keep(b, below, "GT"), keep(b, above, "LE"))
    z_bar = solve(b, low, x_bar, lower=True, unit=True, how=Transpose.TRANSPOSE)
    z_bar = solve(b, u, z_bar, left=False, lower=False, how=Transpose.TRANSPOSE)
    return [_scatter_rows(b, z_bar, pivots_to_permutation(b, op.pivots, m))]


@adjoint(core.LuDiagonalOp)
def lu_diagonal(b: OpBuilder, op: core.LuDiagonalOp, y_bars: Sequence[Value], needed: Sequence[bool]) -> Bars:
    # du_ii = x_ii u_ii with the x above, so x_bar is diagonal; p da = l x u gives a_bar = p^T l^-T x_bar u^-T
    x_bar = on_diagonal(b, b.multiply(y_bars[0], op.diagonal), op.lu)
    z_bar = solve(b, op.lu, x_bar, left=False, lower=False, how=Transpose.TRANSPOSE)
    z_bar = solve(b, op.lu, z_bar, lower=True, unit=True, how=Transpose.TRANSPOSE)
    return [_scatter_rows(b, z_bar, pivots_to_permutation(b, op.pivots, shape(op.a)[-1])), None, None]


def _completed(b: OpBuilder, x: Value, m: int, n: int, from_packed: bool = False) -> Value:
    """x cropped or zero-padded to m by n, plus ones on the diagonal: on all of it, or where x was padded (``from_packed``)."""
    have, (p, q) = list(shape(x)), shape(x)[-2:]
    if p > m or q > n:
        have[-2:] = [min(p, m), min(q, n)]
        x = b.slice(x, [0] * rank(x), have)
    high = [*[0] * (rank(x) - 2), m - have[-2], n - have[-1]]
    if any(high):
        x = b.pad(x, b.scalar(0, element(x)), [0] * rank(x), high)
    ones = identity_like(b, x)
    if from_packed:
        k = min(p, q)
        if k == n:
            return x
        places = tensor(shape(x), i32)
        ones = b.select(b.compare("LT", b.iota(rank(x) - 1, places), b.full(k, places)), b.full_like(x, 0), ones)
        x = b.select(b.compare("LT", b.iota(rank(x) - 2, places), b.full(k, places)), x, b.full_like(x, 0))
    return b.add(x, ones)


def _scatter_rows(b: OpBuilder, x: Value, order: Value) -> Value:
    """Moves row i of x to row order[i]."""
    n = rank(x)
    batch, line = dimensions(range(n - 2)), dimensions((n - 2,))
    numbers = ScatterDimensionNumbersAttr(dimensions((n - 1,)), line, batch, batch, line, int_attr(n - 1))
    return b.scatter(Kind.add, b.zeros(type_of(x)), b.reshape(order, [*shape(order), 1]), x, numbers, unique=True)


# -- QR


@adjoint(core.QrOp)
def qr(b: OpBuilder, op: core.QrOp, y_bars: Sequence[Tangent], needed: Sequence[bool]) -> Bars:
    m, n = shape(op.a)[-2:]
    q_bar, r_bar = y_bars
    if int_of(op.full) and m > n:
        return [_full_qr_bar(b, op, q_bar, r_bar)]
    if m >= n:
        return [_tall_qr_bar(b, op.q, op.r, q_bar, r_bar)]
    # a = [a1 a2]: a1 = q r1 is square, r2 = q^H a2
    start, extents = [0] * rank(op.a), list(shape(op.a))

    def left(x: Value) -> Value:
        return b.slice(x, start, [*extents[:-1], m])

    def right(x: Value) -> Value:
        return b.slice(x, [*start[:-1], m], extents)

    if r_bar is None:
        a1_bar = _tall_qr_bar(b, op.q, left(op.r), q_bar, None)
        a2_bar = b.full_like(right(op.a), 0)
    else:
        r2_bar = right(r_bar)
        a2_bar = matmul(b, conj(b, op.q), r2_bar)
        by_r2 = matmul(b, conj(b, right(op.a)), hermitian_transpose(b, r2_bar))
        a1_bar = _tall_qr_bar(b, op.q, left(op.r), total(b, q_bar, by_r2), left(r_bar))
    return [b.concatenate([a1_bar, a2_bar], rank(op.a) - 1)]


def _full_qr_bar(b: OpBuilder, op: core.QrOp, q_bar: Tangent, r_bar: Tangent) -> Value:
    """q = [q1 q2], q1 = [t; s]: dq2 = dq1 z^H - c (ds - z dt)^H with z = s (t - 1)^-1 and c = q1 + q2 z, so that with h = (c^T q2_bar)^H,
    q1_bar gains q2_bar conj(z), s_bar loses h, and t_bar gains z^T h. The rows of r below the n-th are always zero."""
    (m, n), batch = shape(op.a)[-2:], list(shape(op.a)[:-2])

    def part(x: Value, rows: tuple[int, int], columns: tuple[int, int]) -> Value:
        return b.slice(x, [*[0] * len(batch), rows[0], columns[0]], [*batch, rows[1], columns[1]])

    q1, r1 = part(op.q, (0, m), (0, n)), part(op.r, (0, n), (0, n))
    r1_bar = None if r_bar is None else part(r_bar, (0, n), (0, n))
    if q_bar is None:
        return _tall_qr_bar(b, q1, r1, None, r1_bar)
    q1_bar, q2_bar, z = part(q_bar, (0, m), (0, n)), part(q_bar, (0, m), (n, m)), reflected(b, q1)
    c = b.add(q1, matmul(b, part(op.q, (0, m), (n, m)), z))
    h = hermitian_transpose(b, matmul(b, transposed(b, c), q2_bar))
    from_inner = b.concatenate([matmul(b, transposed(b, z), h), b.negate(h)], rank(op.a) - 2)
    return _tall_qr_bar(b, q1, r1, total(b, q1_bar, matmul(b, q2_bar, conj(b, z)), from_inner), r1_bar)


def _tall_qr_bar(b: OpBuilder, q: Value, r: Value, q_bar: Tangent, r_bar: Tangent) -> Value:
    """With w = da r^-1 and s = q^H w: dq = w - q t and dr = t r, where t is upper triangular with a real diagonal and
    ``t - s`` is skew; that is, t is s above the diagonal plus the adjoint of what is below."""
    from_q = None if q_bar is None else b.negate(matmul(b, transposed(b, q), q_bar))
    from_r = None if r_bar is None else matmul(b, r_bar, transposed(b, r))
    t_bar = total(b, from_q, from_r)
    above = keep(b, t_bar, "LT")
    s_bar = total(b, above, hermitian_transpose(b, above), real_part(b, keep(b, t_bar, "EQ")))
    w_bar = total(b, q_bar, matmul(b, conj(b, q), s_bar))
    return solve(b, r, w_bar, left=False, lower=False, how=Transpose.TRANSPOSE)
