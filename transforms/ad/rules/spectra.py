"""Derivatives of eigenvalues, singular values and their vectors.

The formulas are those of Giles, "Collected matrix derivative results for forward and reverse mode" (2008), and Townsend,
"Differentiating the singular value decomposition" (2016); for the symmetric eigenproblem Magnus (1985). At degenerate eigenvalues
and singular values the derivative is infinite, as it is mathematically.
"""

from __future__ import annotations

from collections.abc import Sequence

from wengert.dialects import core
from wengert.dialects.builder import OpBuilder, Value
from wengert.ir.attributes import bool_attr, int_of
from wengert.ir.tensor_types import c128, element, i32, is_complex, real_element, shape, tensor
from wengert.transforms.ad.building_blocks.matrices import adjoint, columns, diagonal, hermitian, identity_like, keep, matmul, positive_definite, rows
from wengert.transforms.ad.case import Arg, Case
from wengert.transforms.ad.errors import refuse
from wengert.transforms.ad.rule import LinearMap, Tangent, derivative

# -- eigenvalues


@derivative(core.EighOp)
def eigh(b: OpBuilder, op: core.EighOp) -> LinearMap:
    # with x = v^H da v: w_dot = diag(x), v_dot = v (f * x), f_ij = 1 / (w_j - w_i) off the diagonal
    v = op.vectors
    real_type = tensor(shape(op.a), real_element(element(op.a)))
    frame = b.full(0, real_type)
    gaps = b.subtract(columns(b, op.values, frame), rows(b, op.values, frame))
    eye = identity_like(b, frame)
    f = b.convert(b.subtract(b.divide(b.full(1, real_type), b.add(gaps, eye)), eye), element(op.a))
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
        positions = b.iota(len(shape(v)) - 2, tensor(shape(v), i32))
        largest = b.argreduce(core.Extreme.max, size, len(shape(v)) - 2, i32)[1]
        self.is_largest = b.compare("EQ", positions, columns(b, largest, positions))
        self.largest = b.reduce_sum(b.select(self.is_largest, b.real(v), b.full_like(size, 0)), [len(shape(v)) - 2])
        self.v_conjugate = b.conj(v)

    def dots(self, lb: OpBuilder, a_dot: Value) -> tuple[Value, Value]:
        """Tangents of the eigenvalues and of the eigenvectors."""
        v, line = self.v, len(shape(self.v)) - 2
        x = matmul(lb, self.u_adjoint, matmul(lb, a_dot, v))
        w_dot = lb.divide(diagonal(lb, x), self.overlap)
        free = matmul(lb, v, lb.multiply(x, self.coefficients))
        # corrections that keep the norm, and that keep the largest component real
        norm = lb.negate(lb.real(lb.reduce_sum(lb.multiply(free, self.v_conjugate), [line])))
        imaginary = lb.imag(free)
        phase = lb.reduce_sum(lb.select(self.is_largest, imaginary, lb.full_like(imaginary, 0)), [line])
        shift = lb.complex(norm, lb.negate(lb.divide(phase, self.largest)))
        return w_dot, lb.add(free, lb.multiply(columns(lb, shift, v), v))


# -- singular values


@derivative(core.SvdOp)
def svd(b: OpBuilder, op: core.SvdOp) -> LinearMap:
    m, n = shape(op.a)[-2:]
    if int_of(op.full) and m != n:
        raise refuse(op, "has no derivative if all singular vectors of a matrix that is not square are requested: they are not determined")
    k = min(m, n)
    u, s, vh = op.u, op.s, op.vh
    element_type = element(op.a)
    frame = b.full(0, tensor([*shape(op.a)[:-2], k, k], element(s)))
    across, down = columns(b, s, frame), rows(b, s, frame)
    eye = identity_like(b, frame)
    squares = b.multiply(b.add(across, down), b.subtract(across, down))
    f = b.convert(b.subtract(b.divide(b.full_like(frame, 1), b.add(squares, eye)), eye), element_type)
    u_adjoint, v = adjoint(b, u), adjoint(b, vh)
    s_columns, s_rows = b.convert(across, element_type), b.convert(down, element_type)

    def apply(lb: OpBuilder, tangents: Sequence[Tangent]) -> Sequence[Tangent]:
        a_dot = tangents[0]
        assert a_dot is not None
        av = matmul(lb, a_dot, v)
        x = matmul(lb, u_adjoint, av)
        s_dot = diagonal(lb, x)
        s_dot = lb.real(s_dot) if is_complex(element_type) else s_dot
        # u^H u_dot and v^H v_dot are skew; off the diagonal they solve two linear equations
        xs, sx = lb.multiply(x, s_columns), lb.multiply(x, s_rows)
        skew_u = lb.multiply(lb.add(xs, adjoint(lb, xs)), f)
        skew_v = lb.multiply(lb.add(sx, adjoint(lb, sx)), f)
        if is_complex(element_type):
            # the common phase is assigned to u, since LAPACK does not specify it
            middle = keep(lb, x, "EQ")
            imaginary = lb.subtract(middle, lb.convert(lb.real(middle), element_type))
            skew_u = lb.add(skew_u, lb.divide(imaginary, _nonzero(b, s_columns)))
        u_dot, v_dot = matmul(lb, u, skew_u), matmul(lb, v, skew_v)
        if m > n:
            u_dot = lb.add(u_dot, _orthogonal_part(lb, b, lb.subtract(av, matmul(lb, u, x)), u, s))
        if n > m:
            au = matmul(lb, adjoint(lb, a_dot), u)
            v_dot = lb.add(v_dot, _orthogonal_part(lb, b, lb.subtract(au, matmul(lb, v, adjoint(lb, x))), v, s))
        return [u_dot, s_dot, adjoint(lb, v_dot), None]

    return apply


def _orthogonal_part(lb: OpBuilder, b: OpBuilder, outside: Value, vectors: Value, s: Value) -> Value:
    """The part of the tangent of singular vectors that is orthogonal to these: ``outside / s``, column by column."""
    return lb.divide(outside, b.convert(columns(b, s, b.full(0, tensor(shape(vectors), element(s)))), element(vectors)))


def _nonzero(b: OpBuilder, s: Value) -> Value:
    """Singular values with 1 in place of 0."""
    return b.select(b.compare("EQ", s, b.full_like(s, 0)), b.full_like(s, 1), s)


# -- cases: functions of vectors that do not depend on undetermined signs and phases


def _eigh(b: OpBuilder, a: Value, lower: bool = True) -> Sequence[Value]:
    """Eigenvalues, and the squared moduli of the eigenvectors' components."""
    types = (a.type, tensor(shape(a)[:-1], real_element(element(a))), tensor(shape(a)[:-2], i32))
    v, w, _ = b.create(core.EighOp, (a,), types, {"lower": bool_attr(lower)})
    size = b.abs(v)
    return [w, b.multiply(size, size)]


def _svd(b: OpBuilder, a: Value) -> Sequence[Value]:
    """Singular values, the projections of u and of v, and u f(s) vh."""
    batch, (m, n) = shape(a)[:-2], shape(a)[-2:]
    k, element_type = min(m, n), element(a)
    types = (tensor([*batch, m, k], element_type), tensor([*batch, k], real_element(element_type)), tensor([*batch, k, n], element_type), tensor(batch, i32))
    u, s, vh, _ = b.create(core.SvdOp, (a,), types, {"full": bool_attr(False)})
    weighted = b.multiply(u, b.convert(columns(b, b.sine(s), b.full(0, tensor(shape(u), element(s)))), element_type))
    return [s, matmul(b, weighted, vh), b.abs(u), b.abs(vh)]


def _eig(b: OpBuilder, a: Value) -> Value:
    batch, n = shape(a)[:-2], shape(a)[-1]
    element_type = c128
    types = (tensor([*batch, n], element_type), tensor([*batch, n, n], element_type), tensor([*batch, n, n], element_type), tensor(batch, i32))
    w = b.create(core.EigOp, (a,), types)[0]
    return b.reduce_sum(b.multiply(w, b.sine(w)), [len(batch)])  # LAPACK does not order them: a symmetric function


def _eig_vectors(b: OpBuilder, a: Value) -> Value:
    """sum_ij v_ij^2 conj(u)_ij f(w_j), which does not depend on the order of the eigenvalues."""
    n, element_type = shape(a)[-1], c128
    w, u, v, _ = b.create(core.EigOp, (a,), (tensor([n], element_type), tensor([n, n], element_type), tensor([n, n], element_type), tensor([], i32)))
    return b.reduce_sum(b.multiply(b.multiply(b.multiply(v, v), b.conj(u)), columns(b, b.cosine(w), v)), [1])


_SPLIT = Arg((3, 3), values=(4, 0.3, -0.2, 0.1, 2, 0.5, -0.4, 0.2, -1))

CASES = [
    Case("eigh", _eigh, (_SPLIT,)),
    Case("eigh, upper", lambda b, x: _eigh(b, x, False), (_SPLIT,)),
    Case("eigh, complex, batched", lambda b, x: _eigh(b, positive_definite(b, x)), (Arg((2, 2, 2), complex=True),)),
    Case("svd, tall", _svd, (Arg((4, 2)),)),
    Case("svd, wide", _svd, (Arg((2, 4)),)),
    Case("svd, square", _svd, (_SPLIT,)),
    Case("svd, complex", _svd, (Arg((3, 2), complex=True),)),
    Case("eig, values", lambda b, x: b.real(_eig(b, x)), (_SPLIT,)),
    Case("eig, vectors", _eig_vectors, (_SPLIT,)),
    Case("eig, complex pair", _eig_vectors, (Arg((3, 3), values=(1, 2, 0.3, -1.5, 0.7, 0.2, 0.1, 0.4, 3)),)),
    Case("eig of complex", _eig_vectors, (Arg((2, 2), complex=True),)),
]
