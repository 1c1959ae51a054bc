"""Adjoints of matrix factorisations and triangular systems.

Derived from three facts about the pairing ``Re tr(y_bar^T dy)``: for ``y = a x c``, ``x_bar = a^T y_bar c^T``; for ``y = x^H``,
``x_bar = y_bar^H``; and scaling elements by real numbers (a triangle, half a diagonal) is its own adjoint. The differentials
are those of Giles, "Collected matrix derivative results for forward and reverse mode" (2008). Where an op reads one triangle
of its operand, only that has a cotangent.
"""

from __future__ import annotations

from collections.abc import Sequence

from wengert.dialects import core
from wengert.dialects import stablehlo as hlo
from wengert.dialects.builder import OpBuilder, Value
from wengert.dialects.core import Kind
from wengert.dialects.stablehlo.attributes import ScatterDimensionNumbersAttr, Transpose, dimensions
from wengert.ir.attributes import int_attr, int_of
from wengert.ir.tensor_types import element, i32, is_complex, rank, real_element, shape, tensor, type_of
from wengert.transforms.ad.direct.adjoint import Bars, adjoint
from wengert.transforms.ad.errors import refuse
from wengert.transforms.ad.matrices import adjoint as hermitian_transpose
from wengert.transforms.ad.matrices import (
    columns,
    diagonal,
    identity_like,
    keep,
    matmul,
    paired_rows,
    rows,
    rows_back,
    solve,
    transposed,
    tridiagonal,
    turned_diagonals,
)
from wengert.transforms.ad.rule import Tangent
from wengert.transforms.ad.rules.factorisations import pivots_to_permutation


def conj(b: OpBuilder, x: Value) -> Value:
    """The conjugate; a real value is itself."""
    return b.conj(x) if is_complex(element(x)) else x


def real_part(b: OpBuilder, x: Value) -> Value:
    """The real part, in x's type."""
    return b.convert(b.real(x), element(x)) if is_complex(element(x)) else x


def on_diagonal(b: OpBuilder, v: Value, like: Value) -> Value:
    """Diagonal matrices in the shape and type of ``like``."""
    return keep(b, rows(b, b.convert(v, element(like)), like), "EQ")


def total(b: OpBuilder, *terms: Tangent) -> Value:
    """The sum of those terms that are there."""
    found: Tangent = None
    for term in terms:
        if term is not None:
            found = term if found is None else b.add(found, term)
    assert found is not None
    return found


def from_hermitian(b: OpBuilder, h_bar: Value, lower: bool) -> Value:
    """h is written in one triangle of a, real on the diagonal: an element off the diagonal stands in h twice, once conjugated."""
    both = b.add(h_bar, hermitian_transpose(b, h_bar))
    return b.add(keep(b, both, "GT" if lower else "LT"), real_part(b, keep(b, h_bar, "EQ")))


# -- triangular systems


@adjoint(hlo.TriangularSolveOp)
def triangular_solve(b: OpBuilder, op: hlo.TriangularSolveOp, y_bars: Sequence[Value], needed: Sequence[bool]) -> Bars:
    # m x = r (or x m = r): r_bar = m^-T x_bar (or x_bar m^-T), m_bar = -r_bar x^T (or -x^T r_bar); m = a, a^T or a^H
    lower, unit, left = (bool(int_of(flag)) for flag in (op.lower, op.unit_diagonal, op.left_side))
    how = op.transpose_a.data
    matrix = conj(b, op.a) if how is Transpose.ADJOINT else op.a
    turned = Transpose.TRANSPOSE if how is Transpose.NO_TRANSPOSE else Transpose.NO_TRANSPOSE
    r_bar = solve(b, matrix, y_bars[0], left=left, lower=lower, unit=unit, how=turned)
    if not needed[0]:
        return [None, r_bar]
    x_transposed = transposed(b, op.result)
    product = matmul(b, r_bar, x_transposed) if left else matmul(b, x_transposed, r_bar)
    if how is not Transpose.NO_TRANSPOSE:
        product = transposed(b, product) if how is Transpose.TRANSPOSE else hermitian_transpose(b, product)
    strict, whole = ("GT", "GE") if lower else ("LT", "LE")
    return [b.negate(keep(b, product, strict if unit else whole)), r_bar if needed[1] else None]


# -- tridiagonal systems


@adjoint(core.TridiagonalSolveOp)
def tridiagonal_solve(b: OpBuilder, op: core.TridiagonalSolveOp, y_bars: Sequence[Tangent], needed: Sequence[bool]) -> Bars:
    # a x = r: r_bar = a^-T x_bar, and a_bar = -r_bar x^T on the three diagonals
    assert y_bars[0] is not None
    r_bar = tridiagonal(b, turned_diagonals(b, *op.operands[:3]), y_bars[0])

    def diagonal_bar(offset: int) -> Value:
        product = b.multiply(*paired_rows(b, r_bar, op.x, offset))
        return rows_back(b, b.negate(b.reduce_sum(product, [rank(product) - 1])), rank(product) - 2, offset)

    bars = [diagonal_bar(offset) if wanted else None for offset, wanted in zip((-1, 0, 1), needed, strict=False)]
    return [*bars, r_bar if needed[3] else None]


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
    # the specification leaves the other triangle open
    return [_cholesky_bar(b, keep(b, op.result, "GE" if lower else "LE"), y_bars[0], lower)]


# -- LU


@adjoint(core.LuOp)
def lu(b: OpBuilder, op: core.LuOp, y_bars: Sequence[Value], needed: Sequence[bool]) -> Bars:
    # p da = dl u + l du gives x = l^-1 p da u^-1 = l^-1 dl + du u^-1, the first strictly lower, the second upper. l and u are
    # made square by ones on the diagonal, which leaves that as it is.
    m, n = shape(op.a)[-2:]
    low = _completed(b, keep(b, op.lu, "GT"), m, m)
    u = _completed(b, keep(b, op.lu, "LE"), n, n, from_packed=True)
    y_bar = y_bars[0]
    below, above = matmul(b, transposed(b, low), y_bar), matmul(b, y_bar, transposed(b, u))
    x_bar = b.add(keep(b, below, "GT"), keep(b, above, "LE"))
    z_bar = solve(b, low, x_bar, lower=True, unit=True, how=Transpose.TRANSPOSE)
    z_bar = solve(b, u, z_bar, left=False, lower=False, how=Transpose.TRANSPOSE)
    return [_rows_back(b, z_bar, pivots_to_permutation(b, op.pivots, m))]


def _completed(b: OpBuilder, x: Value, m: int, n: int, from_packed: bool = False) -> Value:
    """The leading m by n part of x, or zeros around it, with ones on the diagonal: everywhere, or where x has none."""
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


def _rows_back(b: OpBuilder, x: Value, order: Value) -> Value:
    """Row i of x put at row order[i]."""
    n = rank(x)
    batch, line = dimensions(range(n - 2)), dimensions((n - 2,))
    numbers = ScatterDimensionNumbersAttr(dimensions((n - 1,)), line, batch, batch, line, int_attr(n - 1))
    return b.scatter(Kind.add, b.zeros(type_of(x)), b.reshape(order, [*shape(order), 1]), x, numbers, unique=True)


# -- QR


@adjoint(core.QrOp)
def qr(b: OpBuilder, op: core.QrOp, y_bars: Sequence[Tangent], needed: Sequence[bool]) -> Bars:
    m, n = shape(op.a)[-2:]
    if int_of(op.full) and m > n:
        raise refuse(op, "has no derivative if all of q is asked for and there are more rows than columns: q is not determined")
    q_bar, r_bar = y_bars
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


# -- eigenvalues


def _gap_inverses(b: OpBuilder, w: Value, frame: Value) -> Value:
    """1 / (w_j - w_i) at (i, j), 0 on the diagonal."""
    eye = identity_like(b, frame)
    gaps = b.add(b.subtract(columns(b, w, frame), rows(b, w, frame)), eye)
    return b.subtract(b.divide(b.full_like(frame, 1), gaps), eye)


@adjoint(core.EighOp)
def eigh(b: OpBuilder, op: core.EighOp, y_bars: Sequence[Tangent], needed: Sequence[bool]) -> Bars:
    # with x = v^H h v: dw = diag(x), dv = v (f * x)
    v, (v_bar, w_bar, _) = op.vectors, y_bars
    x_bar: Tangent = None
    if v_bar is not None:
        f = _gap_inverses(b, op.values, b.full(0, tensor(shape(v), real_element(element(v)))))
        x_bar = b.multiply(b.convert(f, element(v)), matmul(b, transposed(b, v), v_bar))
    if w_bar is not None:
        x_bar = total(b, x_bar, on_diagonal(b, w_bar, v))
    assert x_bar is not None
    h_bar = matmul(b, conj(b, v), matmul(b, x_bar, transposed(b, v)))
    return [from_hermitian(b, h_bar, bool(int_of(op.lower)))]


@adjoint(core.EigOp)
def eig(b: OpBuilder, op: core.EigOp, y_bars: Sequence[Tangent], needed: Sequence[bool]) -> Bars:
    # the left vectors are the right ones of a^H, whose eigenvalues are conjugate
    w_bar, left_bar, right_bar, _ = y_bars
    bars: list[Tangent] = []
    if w_bar is not None or right_bar is not None:
        bars.append(_eigenvectors_bar(b, op.values, op.right, op.left, w_bar, right_bar))
    if left_bar is not None:
        bars.append(hermitian_transpose(b, _eigenvectors_bar(b, b.conj(op.values), op.left, op.right, None, left_bar)))
    a_bar = total(b, *bars)
    return [a_bar if is_complex(element(op.a)) else b.real(a_bar)]


def _eigenvectors_bar(b: OpBuilder, w: Value, v: Value, u: Value, w_bar: Tangent, v_bar: Tangent) -> Value:
    """With x = u^H da v and the overlaps o_i = u_i^H v_i: dw_i = x_ii / o_i, and dv = v (c * x) + v diag(shift) with
    c_ij = 1 / (o_i (w_j - w_i)); the shift keeps the norm (its real part) and the largest component real (its imaginary one)."""
    overlap = diagonal(b, matmul(b, hermitian_transpose(b, u), v))
    x_bar: Tangent = None
    if v_bar is not None:
        free_bar = b.add(v_bar, _by_normalisation(b, v, v_bar))
        c = b.divide(_gap_inverses(b, w, b.full_like(v, 0)), rows(b, overlap, v))
        x_bar = b.multiply(c, matmul(b, transposed(b, v), free_bar))
    if w_bar is not None:
        x_bar = total(b, x_bar, on_diagonal(b, b.divide(w_bar, overlap), v))
    assert x_bar is not None
    return matmul(b, b.conj(u), matmul(b, x_bar, transposed(b, v)))


def _by_normalisation(b: OpBuilder, v: Value, v_bar: Value) -> Value:
    """shift_j = -Re sum_i free_ij conj(v_ij) - i Im(free_lj) / v_lj, l the largest component of column j, which is real. With
    s_j the cotangent of the shift, free gets -Re(s_j) conj(v_ij), and at l also -i Im(s_j) / v_lj."""
    line = rank(v) - 2
    s = b.reduce_sum(b.multiply(v_bar, v), [line])
    size = b.abs(v)
    places = b.iota(line, tensor(shape(v), i32))
    at_largest = b.compare("EQ", places, columns(b, b.argreduce(core.Extreme.max, size, line, i32)[1], places))
    largest = b.reduce_sum(b.select(at_largest, b.real(v), b.full_like(size, 0)), [line])
    zero = b.full_like(largest, 0)
    norm = b.multiply(columns(b, b.complex(b.real(s), zero), v), b.conj(v))
    phase = b.select(at_largest, columns(b, b.complex(zero, b.divide(b.imag(s), largest)), v), b.full_like(v, 0))
    return b.negate(b.add(norm, phase))


# -- singular values


@adjoint(core.SvdOp)
def svd(b: OpBuilder, op: core.SvdOp, y_bars: Sequence[Tangent], needed: Sequence[bool]) -> Bars:
    m, n = shape(op.a)[-2:]
    if int_of(op.full) and m != n:
        raise refuse(op, "has no derivative if all singular vectors of a matrix that is not square are asked for: they are not determined")
    u_bar, s_bar, vh_bar, _ = y_bars
    held, k = element(op.a), min(m, n)
    square = tensor([*shape(op.a)[:-2], k, k], held)
    frame = b.full(0, tensor(square.get_shape(), element(op.s)))
    # x = u^H da v, ds = Re diag(x); du = u k and dv = v l with k = f * (x s + s x^H) and l = f * (s x + x^H s)
    x_bar: Tangent = None if s_bar is None else on_diagonal(b, s_bar, b.full(0, square))
    av_bar: Tangent = None
    a_bar: Tangent = None
    f = b.convert(_square_gap_inverses(b, op.s, frame), held)
    if u_bar is not None:
        k_bar = matmul(b, transposed(b, op.u), u_bar)
        weighted = b.multiply(f, k_bar)
        x_bar = total(b, x_bar, b.multiply(b.add(weighted, hermitian_transpose(b, weighted)), b.convert(columns(b, op.s, frame), held)))
        if is_complex(held):
            # the phase that u and v share is put into u: k_ii = i Im(x_ii) / s_i
            middle = keep(b, k_bar, "EQ")
            x_bar = b.add(x_bar, b.divide(b.subtract(middle, real_part(b, middle)), b.convert(columns(b, _no_zeros(b, op.s), frame), held)))
        if m > n:
            # the part of u outside of its own space: (da v - u x) / s
            av_bar = b.divide(u_bar, b.convert(columns(b, op.s, b.full(0, tensor(shape(op.u), element(op.s)))), held))
            x_bar = b.subtract(x_bar, matmul(b, transposed(b, op.u), av_bar))
    if vh_bar is not None:
        v_bar = hermitian_transpose(b, vh_bar)
        v = hermitian_transpose(b, op.vh)
        weighted = b.multiply(f, matmul(b, transposed(b, v), v_bar))
        x_bar = total(b, x_bar, b.multiply(b.add(weighted, hermitian_transpose(b, weighted)), b.convert(rows(b, op.s, frame), held)))
        if n > m:
            # and of v: (da^H u - v x^H) / s
            outside = b.divide(v_bar, b.convert(columns(b, op.s, b.full(0, tensor(shape(v), element(op.s)))), held))
            a_bar = matmul(b, conj(b, op.u), hermitian_transpose(b, outside))
            x_bar = b.subtract(x_bar, hermitian_transpose(b, matmul(b, transposed(b, v), outside)))
    assert x_bar is not None
    av_bar = total(b, av_bar, matmul(b, conj(b, op.u), x_bar))
    return [total(b, a_bar, matmul(b, av_bar, transposed(b, hermitian_transpose(b, op.vh))))]


def _square_gap_inverses(b: OpBuilder, s: Value, frame: Value) -> Value:
    """1 / (s_j^2 - s_i^2) at (i, j), 0 on the diagonal."""
    eye, across, down = identity_like(b, frame), columns(b, s, frame), rows(b, s, frame)
    gaps = b.add(b.multiply(b.subtract(across, down), b.add(across, down)), eye)
    return b.subtract(b.divide(b.full_like(frame, 1), gaps), eye)


def _no_zeros(b: OpBuilder, s: Value) -> Value:
    return b.select(b.compare("EQ", s, b.full_like(s, 0)), b.full_like(s, 1), s)
