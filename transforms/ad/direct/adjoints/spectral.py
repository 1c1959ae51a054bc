"""Adjoints of eigenvalues, singular values and their vectors.

The differentials are those of Giles, "Collected matrix derivative results for forward and reverse mode" (2008); the undetermined phase of
vectors is fixed as each op specifies. ``matrix_cotangents`` states how adjoints follow.
"""

from __future__ import annotations

from collections.abc import Sequence

from wengert.dialects import core
from wengert.dialects.builder import OpBuilder, Value
from wengert.ir.attributes import int_of
from wengert.ir.tensor_types import element, i32, is_complex, rank, real_element, shape, tensor
from wengert.transforms.ad.building_blocks.matrices import adjoint as hermitian_transpose
from wengert.transforms.ad.building_blocks.matrices import columns, diagonal, identity_like, keep, matmul, rows, transposed
from wengert.transforms.ad.direct.adjoint import Bars, adjoint
from wengert.transforms.ad.direct.matrix_cotangents import conj, from_hermitian, on_diagonal, real_part, total
from wengert.transforms.ad.errors import refuse
from wengert.transforms.ad.rule import Tangent

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
    positions = b.iota(line, tensor(shape(v), i32))
    at_largest = b.compare("EQ", positions, columns(b, b.argreduce(core.Extreme.max, size, line, i32)[1], positions))
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
        raise refuse(op, "has no derivative if all singular vectors of a matrix that is not square are requested: they are not determined")
    u_bar, s_bar, vh_bar, _ = y_bars
    element_type, k = element(op.a), min(m, n)
    square = tensor([*shape(op.a)[:-2], k, k], element_type)
    frame = b.full(0, tensor(square.get_shape(), element(op.s)))
    # x = u^H da v, ds = Re diag(x); du = u k and dv = v l with k = f * (x s + s x^H) and l = f * (s x + x^H s)
    x_bar: Tangent = None if s_bar is None else on_diagonal(b, s_bar, b.full(0, square))
    av_bar: Tangent = None
    a_bar: Tangent = None
    f = b.convert(_square_gap_inverses(b, op.s, frame), element_type)
    if u_bar is not None:
        k_bar = matmul(b, transposed(b, op.u), u_bar)
        x_bar = total(b, x_bar, b.multiply(_twice_hermitian_part(b, b.multiply(f, k_bar)), b.convert(columns(b, op.s, frame), element_type)))
        if is_complex(element_type):
            # the common phase of u and v is assigned to u: k_ii = i Im(x_ii) / s_i
            middle = keep(b, k_bar, "EQ")
            x_bar = b.add(x_bar, b.divide(b.subtract(middle, real_part(b, middle)), b.convert(columns(b, _no_zeros(b, op.s), frame), element_type)))
        if m > n:
            # the part of du orthogonal to u: (da v - u x) / s
            av_bar = b.divide(u_bar, b.convert(columns(b, op.s, b.full(0, tensor(shape(op.u), element(op.s)))), element_type))
            x_bar = b.subtract(x_bar, matmul(b, transposed(b, op.u), av_bar))
    if vh_bar is not None:
        v_bar = hermitian_transpose(b, vh_bar)
        v = hermitian_transpose(b, op.vh)
        weighted = _twice_hermitian_part(b, b.multiply(f, matmul(b, transposed(b, v), v_bar)))
        x_bar = total(b, x_bar, b.multiply(weighted, b.convert(rows(b, op.s, frame), element_type)))
        if n > m:
            # the part of dv orthogonal to v: (da^H u - v x^H) / s
            outside = b.divide(v_bar, b.convert(columns(b, op.s, b.full(0, tensor(shape(v), element(op.s)))), element_type))
            a_bar = matmul(b, conj(b, op.u), hermitian_transpose(b, outside))
            x_bar = b.subtract(x_bar, hermitian_transpose(b, matmul(b, transposed(b, v), outside)))
    assert x_bar is not None
    av_bar = total(b, av_bar, matmul(b, conj(b, op.u), x_bar))
    return [total(b, a_bar, matmul(b, av_bar, transposed(b, hermitian_transpose(b, op.vh))))]


def _twice_hermitian_part(b: OpBuilder, x: Value) -> Value:
    """x + x^H."""
    return b.add(x, hermitian_transpose(b, x))


def _square_gap_inverses(b: OpBuilder, s: Value, frame: Value) -> Value:
    """1 / (s_j^2 - s_i^2) at (i, j), 0 on the diagonal."""
    eye, across, down = identity_like(b, frame), columns(b, s, frame), rows(b, s, frame)
    gaps = b.add(b.multiply(b.subtract(across, down), b.add(across, down)), eye)
    return b.subtract(b.divide(b.full_like(frame, 1), gaps), eye)


def _no_zeros(b: OpBuilder, s: Value) -> Value:
    return b.select(b.compare("EQ", s, b.full_like(s, 0)), b.full_like(s, 1), s)
