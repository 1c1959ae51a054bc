"""Derivatives of matrix factorisations and triangular systems.

The formulas are those of Giles, "Collected matrix derivative results for forward and reverse mode" (2008), and Townsend,
"Differentiating the singular value decomposition" (2016); for the symmetric eigenproblem Magnus (1985). Only the triangle that
an op reads contributes. Degenerate eigenvalues and singular values give the infinities that the mathematics has there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.ir import Block, Region

from wengert.dialects import core
from wengert.dialects import stablehlo as hlo
from wengert.dialects.builder import OpBuilder, Value
from wengert.dialects.core import Kind
from wengert.dialects.stablehlo.attributes import GatherDimensionNumbersAttr, Transpose, TransposeAttr, dimensions
from wengert.ir.attributes import bool_attr, int_attr, int_of
from wengert.ir.tensor_types import c128, element, i32, i64, is_complex, real_element, shape, tensor, type_of
from wengert.transforms.ad.case import Arg, Case
from wengert.transforms.ad.errors import refuse
from wengert.transforms.ad.rule import LinearMap, Tangent, derivative, sum_of, transpose

# -- matrices in the last two dimensions


def matmul(b: OpBuilder, x: Value, y: Value) -> Value:
    """The batched matrix product."""
    batch = list(range(len(shape(x)) - 2))
    return b.dot_general(x, y, ([len(batch) + 1], [len(batch)]), (batch, batch))


def transposed(b: OpBuilder, x: Value) -> Value:
    """The batched transpose."""
    n = len(shape(x))
    return b.transpose(x, [*range(n - 2), n - 1, n - 2])


def adjoint(b: OpBuilder, x: Value) -> Value:
    """The batched conjugate transpose."""
    return transposed(b, b.conj(x) if is_complex(element(x)) else x)


def keep(b: OpBuilder, x: Value, direction: str, offset: int = 0) -> Value:
    """x where ``row direction column + offset``, else 0: GE is the lower triangle, GT the strict one, EQ the diagonal."""
    n = len(shape(x))
    places = tensor(shape(x), i32)
    columns = b.iota(n - 1, places)
    if offset:
        columns = b.add(columns, b.full(offset, places))
    return b.select(b.compare(direction, b.iota(n - 2, places), columns), x, b.full_like(x, 0))


def identity_like(b: OpBuilder, x: Value) -> Value:
    """Ones on the diagonal of x's type."""
    return keep(b, b.full_like(x, 1), "EQ")


def diagonal(b: OpBuilder, x: Value) -> Value:
    """The diagonal of (the leading square of) batched matrices."""
    return b.reduce_sum(keep(b, x, "EQ"), [len(shape(x)) - (1 if shape(x)[-2] <= shape(x)[-1] else 2)])


def rows(b: OpBuilder, v: Value, like: Value) -> Value:
    """A vector per matrix, constant along columns: element (i, j) is v[i]."""
    n = len(shape(like))
    return b.broadcast_in_dim(v, list(range(n - 1)), shape(like))


def columns(b: OpBuilder, v: Value, like: Value) -> Value:
    """A vector per matrix, constant along rows: element (i, j) is v[j]."""
    n = len(shape(like))
    return b.broadcast_in_dim(v, [*range(n - 2), n - 1], shape(like))


def solve(b: OpBuilder, a: Value, x: Value, *, left: bool = True, lower: bool, unit: bool = False, how: Transpose = Transpose.NO_TRANSPOSE) -> Value:
    """stablehlo.triangular_solve."""
    properties = {"left_side": bool_attr(left), "lower": bool_attr(lower), "unit_diagonal": bool_attr(unit), "transpose_a": TransposeAttr(how)}
    return b.one(hlo.TriangularSolveOp, (a, x), x.type, **properties)


def hermitian(b: OpBuilder, x: Value, lower: bool) -> Value:
    """The Hermitian matrix that is written in one triangle of x (its diagonal is real)."""
    strict = keep(b, x, "GT" if lower else "LT")
    middle = keep(b, x, "EQ")
    if is_complex(element(x)):
        middle = b.convert(b.real(middle), element(x))
    return b.add(b.add(strict, adjoint(b, strict)), middle)


# -- triangular systems


@derivative(hlo.TriangularSolveOp)
def triangular_solve(b: OpBuilder, op: hlo.TriangularSolveOp) -> LinearMap:
    # op(a) x = b: dx = op(a)^-1 (db - op(da) x), with da in the triangle that is read
    lower, unit, left = (bool(int_of(flag)) for flag in (op.lower, op.unit_diagonal, op.left_side))
    how = op.transpose_a.data

    def from_a(lb: OpBuilder, a_dot: Value) -> Value:
        part = keep(lb, a_dot, ("GT" if lower else "LT") if unit else ("GE" if lower else "LE"))
        if how is Transpose.TRANSPOSE:
            part = transposed(lb, part)
        elif how is Transpose.ADJOINT:
            part = adjoint(lb, part)
        product = matmul(lb, part, op.result) if left else matmul(lb, op.result, part)
        return from_b(lb, lb.negate(product))

    def from_b(lb: OpBuilder, b_dot: Value) -> Value:
        return solve(lb, op.a, b_dot, left=left, lower=lower, unit=unit, how=how)

    return sum_of([from_a, from_b])


@transpose(hlo.TriangularSolveOp)
def triangular_solve_transpose(b: OpBuilder, op: hlo.TriangularSolveOp, linear: Sequence[bool], y_bars: Sequence[Value]) -> Sequence[Tangent]:
    # x = op(a)^-1 b  <->  b_bar = op(a)^-T x_bar
    lower, unit, left = (bool(int_of(flag)) for flag in (op.lower, op.unit_diagonal, op.left_side))
    how = op.transpose_a.data
    if how is Transpose.ADJOINT:
        # (a^H)^T = conj(a)
        a = b.conj(op.a) if is_complex(element(op.a)) else op.a
        return [None, solve(b, a, y_bars[0], left=left, lower=lower, unit=unit)]
    turned = Transpose.TRANSPOSE if how is Transpose.NO_TRANSPOSE else Transpose.NO_TRANSPOSE
    return [None, solve(b, op.a, y_bars[0], left=left, lower=lower, unit=unit, how=turned)]


# -- Cholesky


def _cholesky_dot(factor: Value, lower: bool):
    def apply(lb: OpBuilder, a_dot: Value) -> Value:
        # l_dot = l phi(l^-1 da l^-H), phi = the lower triangle with half the diagonal; u = l^H
        turned = Transpose.ADJOINT if is_complex(element(factor)) else Transpose.TRANSPOSE
        s = hermitian(lb, a_dot, lower)
        right = solve(lb, factor, s, left=False, lower=lower, how=turned if lower else Transpose.NO_TRANSPOSE)
        inner = solve(lb, factor, right, lower=lower, how=Transpose.NO_TRANSPOSE if lower else turned)
        strict = keep(lb, inner, "GT" if lower else "LT")
        half = lb.multiply(keep(lb, inner, "EQ"), lb.full_like(inner, 0.5))
        phi = lb.add(strict, half)
        return matmul(lb, factor, phi) if lower else matmul(lb, phi, factor)

    return apply


@derivative(core.CholeskyOp)
def cholesky(b: OpBuilder, op: core.CholeskyOp) -> LinearMap:
    apply = _cholesky_dot(op.factor, bool(int_of(op.lower)))
    return lambda lb, tangents: [None if tangents[0] is None else apply(lb, tangents[0]), None]


@derivative(hlo.CholeskyOp)
def stablehlo_cholesky(b: OpBuilder, op: hlo.CholeskyOp) -> LinearMap:
    lower = op.lower is not None and bool(int_of(op.lower))
    # what the specification leaves open in the other triangle must not reach the product
    return sum_of([_cholesky_dot(keep(b, op.result, "GE" if lower else "LE"), lower)])


# -- LU


@derivative(core.LuOp)
def lu(b: OpBuilder, op: core.LuOp) -> LinearMap:
    # p a = l u: with x = l^-1 p da u^-1, l_dot = l stril(x) and u_dot = triu(x) u; l and u are made square with ones
    m, n = shape(op.a)[-2:]
    k, batch = min(m, n), list(shape(op.a)[:-2])
    permutation = pivots_to_permutation(b, op.pivots, m)
    square_l, square_u = [*batch, m, m], [*batch, n, n]
    packed_l = _extended(b, _corner(b, op.lu, m, k), square_l)
    packed_u = _extended(b, _corner(b, op.lu, k, n), square_u)
    low_factor = b.add(keep(b, packed_l, "GT"), identity_like(b, packed_l))
    u = keep(b, packed_u, "LE")
    if k < n:
        u = b.add(u, _identity_from(b, packed_u, k))

    def apply(lb: OpBuilder, tangents: Sequence[Tangent]) -> Sequence[Tangent]:
        a_dot = tangents[0]
        assert a_dot is not None
        x = solve(lb, low_factor, take_rows(lb, a_dot, permutation), lower=True, unit=True)
        x = solve(lb, u, x, left=False, lower=False)
        # x: [m, n]; l_dot multiplies its columns up to k, u_dot its rows up to k
        low = keep(lb, x, "GT")
        high = keep(lb, x, "LE")
        l_dot = matmul(lb, low_factor, low)
        u_dot = matmul(lb, high, u)
        return [lb.add(l_dot, u_dot), None, None]

    return apply


def _corner(b: OpBuilder, x: Value, m: int, n: int) -> Value:
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


def pivots_to_permutation(b: OpBuilder, pivots: Value, m: int) -> Value:
    """The order of rows that exchanging row i with row pivots[i] - 1, one after the other, makes: ``[.., m]``, i32."""
    batch, k = list(shape(pivots)[:-1]), shape(pivots)[-1]
    held = tensor([*batch, m], i32)
    block = Block(arg_types=[tensor((), i64), pivots.type, held])
    i, targets, order = block.args
    inner = OpBuilder(block, location=b.location, pass_name=b.pass_name)
    here = inner.broadcast_in_dim(inner.convert(i, i32), [], [*batch, m])
    zeros = [inner.scalar(0, i64)] * len(batch)
    target = inner.reshape(inner.dynamic_slice(targets, [*zeros, i], [*batch, 1]), batch)
    there = inner.broadcast_in_dim(inner.subtract(target, inner.full(1, type_of(target))), list(range(len(batch))), [*batch, m])
    places = inner.iota(len(batch), held)
    at_here, at_there = inner.compare("EQ", places, here), inner.compare("EQ", places, there)

    def value_at(mask: Value) -> Value:
        picked = inner.reduce(Kind.add, inner.select(mask, order, inner.full(0, held)), [len(batch)])
        return inner.broadcast_in_dim(picked, list(range(len(batch))), [*batch, m])

    exchanged = inner.select(at_here, value_at(at_there), inner.select(at_there, value_at(at_here), order))
    block.add_op(hlo.ReturnOp.create(operands=[exchanged]))
    inputs = [b.scalar(k, i64), pivots, b.iota(len(batch), held)]
    return b.create(core.ForOp, inputs, [held], {"constants": int_attr(1)}, [Region([block])])[0]


def take_rows(b: OpBuilder, x: Value, order: Value) -> Value:
    """Batched matrices with their rows in another order."""
    rank = len(shape(x))
    batch = list(range(rank - 2))
    starts = b.reshape(order, [*shape(order), 1])
    numbers = GatherDimensionNumbersAttr(
        dimensions((rank - 1,)), dimensions((rank - 2,)), dimensions(batch), dimensions(batch), dimensions((rank - 2,)), int_attr(rank - 1)
    )
    return b.gather(x, starts, numbers, [*[1] * (rank - 1), shape(x)[-1]], shape(x))


# -- QR


@derivative(core.QrOp)
def qr(b: OpBuilder, op: core.QrOp) -> LinearMap:
    m, n = shape(op.a)[-2:]
    if int_of(op.full) and m > n:
        raise refuse(op, "has no derivative if all of q is asked for and there are more rows than columns: q is not determined")
    if m < n:
        return lambda lb, tangents: _wide_qr_dot(lb, op, tangents[0])
    return lambda lb, tangents: _tall_qr_dot(lb, op.q, op.r, tangents[0])


def _tall_qr_dot(lb: OpBuilder, q: Value, r: Value, a_dot: Tangent) -> Sequence[Tangent]:
    # with w = da r^-1 and s = q^H w: q_dot = w - q (s - omega), r_dot = (s - omega) r, omega the skew part that q keeps
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


# -- eigenvalues


@derivative(core.EighOp)
def eigh(b: OpBuilder, op: core.EighOp) -> LinearMap:
    # with x = v^H da v: w_dot = diag(x), v_dot = v (f * x), f_ij = 1 / (w_j - w_i) off the diagonal
    v = op.vectors
    held = tensor(shape(op.a), real_element(element(op.a)))
    frame = b.full(0, held)
    gaps = b.subtract(columns(b, op.values, frame), rows(b, op.values, frame))
    eye = identity_like(b, frame)
    f = b.convert(b.subtract(b.divide(b.full(1, held), b.add(gaps, eye)), eye), element(op.a))
    v_adjoint = adjoint(b, v)

    def apply(lb: OpBuilder, tangents: Sequence[Tangent]) -> Sequence[Tangent]:
        a_dot = tangents[0]
        assert a_dot is not None
        x = matmul(lb, v_adjoint, matmul(lb, hermitian(lb, a_dot, bool(int_of(op.lower))), v))
        w_dot = diagonal(lb, x)
        if is_complex(element(x)):
            w_dot = lb.real(w_dot)
        return [matmul(lb, v, lb.multiply(x, f)), w_dot, None]

    return apply


@derivative(core.EigOp)
def eig(b: OpBuilder, op: core.EigOp) -> LinearMap:
    # a v = v diag(w): w_dot_i = u_i^H da v_i / (u_i^H v_i); the left vectors are the right ones of a^H
    right, left = _Eigenvectors(b, op.values, op.right, op.left), _Eigenvectors(b, b.conj(op.values), op.left, op.right)

    def apply(lb: OpBuilder, tangents: Sequence[Tangent]) -> Sequence[Tangent]:
        assert tangents[0] is not None
        a_dot = lb.convert(tangents[0], element(op.values))
        w_dot, right_dot = right.dots(lb, a_dot)
        return [w_dot, left.dots(lb, adjoint(lb, a_dot))[1], right_dot, None]

    return apply


class _Eigenvectors:
    """Eigenvalues w and vectors v of a matrix with dual vectors u, normalised as LAPACK does: of norm 1, and the component
    of largest modulus real."""

    def __init__(self, b: OpBuilder, w: Value, v: Value, u: Value):
        self.v, self.u_adjoint = v, adjoint(b, u)
        frame = b.full_like(v, 0)
        eye = identity_like(b, v)
        self.overlap = diagonal(b, matmul(b, self.u_adjoint, v))
        gaps = b.subtract(columns(b, w, frame), rows(b, w, frame))
        off = b.subtract(b.divide(b.full_like(v, 1), b.add(gaps, eye)), eye)
        self.coefficients = b.divide(off, rows(b, self.overlap, frame))
        size = b.abs(v)
        places = b.iota(len(shape(v)) - 2, tensor(shape(v), i32))
        largest = b.argreduce(core.Extreme.max, size, len(shape(v)) - 2, i32)[1]
        self.is_largest = b.compare("EQ", places, columns(b, largest, places))
        self.largest = b.reduce_sum(b.select(self.is_largest, b.real(v), b.full_like(size, 0)), [len(shape(v)) - 2])
        self.v_conjugate = b.conj(v)

    def dots(self, lb: OpBuilder, a_dot: Value) -> tuple[Value, Value]:
        """Tangents of the eigenvalues and of the eigenvectors."""
        v, line = self.v, len(shape(self.v)) - 2
        x = matmul(lb, self.u_adjoint, matmul(lb, a_dot, v))
        w_dot = lb.divide(diagonal(lb, x), self.overlap)
        free = matmul(lb, v, lb.multiply(x, self.coefficients))
        # what keeps the norm, and what keeps the largest component real
        along = lb.negate(lb.real(lb.reduce_sum(lb.multiply(free, self.v_conjugate), [line])))
        imaginary = lb.imag(free)
        turned = lb.reduce_sum(lb.select(self.is_largest, imaginary, lb.full_like(imaginary, 0)), [line])
        shift = lb.complex(along, lb.negate(lb.divide(turned, self.largest)))
        return w_dot, lb.add(free, lb.multiply(columns(lb, shift, v), v))


# -- singular values


@derivative(core.SvdOp)
def svd(b: OpBuilder, op: core.SvdOp) -> LinearMap:
    m, n = shape(op.a)[-2:]
    if int_of(op.full) and m != n:
        raise refuse(op, "has no derivative if all singular vectors of a matrix that is not square are asked for: they are not determined")
    k = min(m, n)
    u, s, vh = op.u, op.s, op.vh
    held = element(op.a)
    frame = b.full(0, tensor([*shape(op.a)[:-2], k, k], element(s)))
    across, down = columns(b, s, frame), rows(b, s, frame)
    eye = identity_like(b, frame)
    squares = b.multiply(b.add(across, down), b.subtract(across, down))
    f = b.convert(b.subtract(b.divide(b.full_like(frame, 1), b.add(squares, eye)), eye), held)
    u_adjoint, v = adjoint(b, u), adjoint(b, vh)
    s_columns, s_rows = b.convert(across, held), b.convert(down, held)

    def apply(lb: OpBuilder, tangents: Sequence[Tangent]) -> Sequence[Tangent]:
        a_dot = tangents[0]
        assert a_dot is not None
        av = matmul(lb, a_dot, v)
        x = matmul(lb, u_adjoint, av)
        s_dot = diagonal(lb, x)
        s_dot = lb.real(s_dot) if is_complex(held) else s_dot
        # u^H u_dot and v^H v_dot are skew; off the diagonal they solve two linear equations
        xs, sx = lb.multiply(x, s_columns), lb.multiply(x, s_rows)
        skew_u = lb.multiply(lb.add(xs, adjoint(lb, xs)), f)
        skew_v = lb.multiply(lb.add(sx, adjoint(lb, sx)), f)
        if is_complex(held):
            # the phase that both share is put into u, as LAPACK does not say where it belongs
            middle = keep(lb, x, "EQ")
            imaginary = lb.subtract(middle, lb.convert(lb.real(middle), held))
            skew_u = lb.add(skew_u, lb.divide(imaginary, lb_safe(b, s_columns)))
        u_dot, v_dot = matmul(lb, u, skew_u), matmul(lb, v, skew_v)
        if m > n:
            outside = lb.subtract(av, matmul(lb, u, x))
            u_dot = lb.add(u_dot, lb.divide(outside, b.convert(columns(b, s, b.full(0, tensor(shape(u), element(s)))), held)))
        if n > m:
            au = matmul(lb, adjoint(lb, a_dot), u)
            outside = lb.subtract(au, matmul(lb, v, adjoint(lb, x)))
            v_dot = lb.add(v_dot, lb.divide(outside, b.convert(columns(b, s, b.full(0, tensor(shape(v), element(s)))), held)))
        return [u_dot, s_dot, adjoint(lb, v_dot), None]

    return apply


def lb_safe(b: OpBuilder, s: Value) -> Value:
    """Singular values with 1 in place of 0."""
    return b.select(b.compare("EQ", s, b.full_like(s, 0)), b.full_like(s, 1), s)


# -- cases: functions of factors that do not depend on signs and phases where those are free


def _solver(lower: bool, left: bool, unit: bool, how: Transpose) -> Callable[[OpBuilder, Value, Value], Value]:
    return lambda b, a, x: solve(b, a, x, left=left, lower=lower, unit=unit, how=how)


def _spd(b: OpBuilder, x: Value) -> Value:
    """A positive definite matrix from any: x x^H + n."""
    n = shape(x)[-1]
    return b.add(matmul(b, x, adjoint(b, x)), b.multiply(identity_like(b, x), b.full_like(x, n)))


def _factor(op: type[core.CholeskyOp], b: OpBuilder, a: Value, lower: bool) -> Value:
    return b.create(op, (a,), (a.type, tensor(shape(a)[:-2], i32)), {"lower": bool_attr(lower)})[0]


def _lu(b: OpBuilder, a: Value) -> Value:
    k = min(shape(a)[-2:])
    return b.create(core.LuOp, (a,), (a.type, tensor([*shape(a)[:-2], k], i32), tensor(shape(a)[:-2], i32)))[0]


def _qr(b: OpBuilder, a: Value) -> Sequence[Value]:
    batch, (m, n) = shape(a)[:-2], shape(a)[-2:]
    k = min(m, n)
    return b.create(core.QrOp, (a,), (tensor([*batch, m, k], element(a)), tensor([*batch, k, n], element(a))), {"full": bool_attr(False)})


def _eigh(b: OpBuilder, a: Value, lower: bool = True) -> Sequence[Value]:
    """Eigenvalues, and the squared moduli of the eigenvectors' components."""
    types = (a.type, tensor(shape(a)[:-1], real_element(element(a))), tensor(shape(a)[:-2], i32))
    v, w, _ = b.create(core.EighOp, (a,), types, {"lower": bool_attr(lower)})
    size = b.abs(v)
    return [w, b.multiply(size, size)]


def _svd(b: OpBuilder, a: Value) -> Sequence[Value]:
    """Singular values, the projections of u and of v, and u f(s) vh."""
    batch, (m, n) = shape(a)[:-2], shape(a)[-2:]
    k, held = min(m, n), element(a)
    types = (tensor([*batch, m, k], held), tensor([*batch, k], real_element(held)), tensor([*batch, k, n], held), tensor(batch, i32))
    u, s, vh, _ = b.create(core.SvdOp, (a,), types, {"full": bool_attr(False)})
    weighted = b.multiply(u, b.convert(columns(b, b.sine(s), b.full(0, tensor(shape(u), element(s)))), held))
    return [s, matmul(b, weighted, vh), b.abs(u), b.abs(vh)]


def _eig(b: OpBuilder, a: Value) -> Value:
    batch, n = shape(a)[:-2], shape(a)[-1]
    held = c128
    types = (tensor([*batch, n], held), tensor([*batch, n, n], held), tensor([*batch, n, n], held), tensor(batch, i32))
    w = b.create(core.EigOp, (a,), types)[0]
    return b.reduce_sum(b.multiply(w, b.sine(w)), [len(batch)])  # LAPACK does not order them: a symmetric function


def _eig_vectors(b: OpBuilder, a: Value) -> Value:
    """sum_ij v_ij^2 conj(u)_ij f(w_j), which does not depend on the order of the eigenvalues."""
    n, held = shape(a)[-1], c128
    w, u, v, _ = b.create(core.EigOp, (a,), (tensor([n], held), tensor([n, n], held), tensor([n, n], held), tensor([], i32)))
    return b.reduce_sum(b.multiply(b.multiply(b.multiply(v, v), b.conj(u)), columns(b, b.cosine(w), v)), [1])


_M = Arg((3, 3))
_SPLIT = Arg((3, 3), values=(4, 0.3, -0.2, 0.1, 2, 0.5, -0.4, 0.2, -1))
_FLAGS = [(True, True, False), (False, False, False), (True, False, True)]

CASES = [
    *(
        Case(
            f"triangular solve, {'lower' if lower else 'upper'}, {'left' if left else 'right'}, {how}{', unit' if unit else ''}",
            _solver(lower, left, unit, how),
            (Arg((3, 3), values=(2, 0.3, 0.5, -0.4, 3, 0.2, 0.7, -0.6, 2.5)), Arg((3, 2) if left else (2, 3))),
        )
        for lower, left, unit in _FLAGS
        for how in (Transpose.NO_TRANSPOSE, Transpose.TRANSPOSE)
    ),
    Case(
        "triangular solve, complex, adjoint",
        lambda b, a, x: solve(b, b.add(a, identity_like(b, a)), x, lower=True, how=Transpose.ADJOINT),
        (Arg((2, 2, 2), 1, 2, complex=True), Arg((2, 2, 3), complex=True)),
    ),
    Case("cholesky", lambda b, x: _factor(core.CholeskyOp, b, _spd(b, x), True), (_M,)),
    Case("cholesky, upper, batched", lambda b, x: _factor(core.CholeskyOp, b, _spd(b, x), False), (Arg((2, 3, 3)),)),
    Case("cholesky of one triangle", lambda b, x: _factor(core.CholeskyOp, b, x, True), (Arg((2, 2), values=(2, 9, 0.5, 3)),)),
    Case("cholesky, complex", lambda b, x: _factor(core.CholeskyOp, b, _spd(b, x), True), (Arg((2, 2), complex=True),)),
    Case("stablehlo.cholesky", lambda b, x: keep(b, b.one(hlo.CholeskyOp, (_spd(b, x),), x.type, lower=bool_attr(True)), "GE"), (_M,)),
    Case("lu", _lu, (_SPLIT,)),
    Case("lu with exchanges, batched", _lu, (Arg((2, 3, 3), values=(0.1, 2, 1, 3, 0.2, 1, 0.5, 0.4, 2, 1, 2, 3, 0.3, 0.1, 4, 5, 0.2, 0.1)),)),
    Case("lu, tall", _lu, (Arg((4, 2), values=(0.1, 2, 3, 0.2, 0.5, 0.4, 1, 1.5)),)),
    Case("lu, wide", _lu, (Arg((2, 4), values=(0.1, 2, 3, 0.2, 0.5, 0.4, 1, 1.5)),)),
    Case("lu, complex", _lu, (Arg((2, 2), complex=True),)),
    Case("qr, tall", _qr, (Arg((4, 2)),)),
    Case("qr, square, batched", _qr, (Arg((2, 3, 3)),)),
    Case("qr, wide", _qr, (Arg((2, 4)),)),
    Case("qr, complex", _qr, (Arg((3, 2), complex=True),)),
    Case("eigh", _eigh, (_SPLIT,)),
    Case("eigh, upper", lambda b, x: _eigh(b, x, False), (_SPLIT,)),
    Case("eigh, complex, batched", lambda b, x: _eigh(b, _spd(b, x)), (Arg((2, 2, 2), complex=True),)),
    Case("svd, tall", _svd, (Arg((4, 2)),)),
    Case("svd, wide", _svd, (Arg((2, 4)),)),
    Case("svd, square", _svd, (_SPLIT,)),
    Case("svd, complex", _svd, (Arg((3, 2), complex=True),)),
    Case("eig, values", lambda b, x: b.real(_eig(b, x)), (_SPLIT,)),
    Case("eig, vectors", _eig_vectors, (_SPLIT,)),
    Case("eig, complex pair", _eig_vectors, (Arg((3, 3), values=(1, 2, 0.3, -1.5, 0.7, 0.2, 0.1, 0.4, 3)),)),
    Case("eig of complex", _eig_vectors, (Arg((2, 2), complex=True),)),
]
