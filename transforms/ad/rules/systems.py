"""Derivatives of linear systems: triangular, general by their factors, and tridiagonal."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from wengert.dialects import core
from wengert.dialects import stablehlo as hlo
from wengert.dialects.builder import OpBuilder, Value
from wengert.dialects.stablehlo.attributes import Transpose
from wengert.ir.attributes import bool_attr, int_of
from wengert.ir.tensor_types import element, i32, is_complex, shape, tensor
from wengert.transforms.ad.building_blocks.matrices import (
    adjoint,
    along_rows,
    cholesky_solve,
    hermitian,
    identity_like,
    keep,
    lu_solve,
    matmul,
    paired_rows,
    paired_rows_adjoint,
    pivots_to_permutation,
    positive_definite,
    solve,
    transposed,
    transposed_diagonals,
    tridiagonal,
)
from wengert.transforms.ad.case import Arg, Case
from wengert.transforms.ad.rule import LinearMap, Tangent, derivative, sum_of, transpose

# -- triangular systems


@derivative(hlo.TriangularSolveOp)
def triangular_solve(b: OpBuilder, op: hlo.TriangularSolveOp) -> LinearMap:
    # op(a) x = b: dx = op(a)^-1 (db - op(da) x), with da in the triangle that is read
    lower, unit, left = (bool(int_of(flag)) for flag in (op.lower, op.unit_diagonal, op.left_side))
    how = op.transpose_a.data

    def from_a(lb: OpBuilder, a_dot: Value) -> Value:
        return from_b(lb, lb.negate(triangular_product(lb, op, a_dot, op.result)))

    def from_b(lb: OpBuilder, b_dot: Value) -> Value:
        return solve(lb, op.a, b_dot, left=left, lower=lower, unit=unit, how=how)

    return sum_of([from_a, from_b])


def triangular_product(b: OpBuilder, op: hlo.TriangularSolveOp, a: Value, x: Value) -> Value:
    """``op(a) x``, or ``x op(a)``, with the triangle that the solve ``op`` reads (without its diagonal where that is one)."""
    lower, unit = bool(int_of(op.lower)), bool(int_of(op.unit_diagonal))
    part = keep(b, a, ("GT" if lower else "LT") if unit else ("GE" if lower else "LE"))
    if op.transpose_a.data is Transpose.TRANSPOSE:
        part = transposed(b, part)
    elif op.transpose_a.data is Transpose.ADJOINT:
        part = adjoint(b, part)
    return matmul(b, part, x) if int_of(op.left_side) else matmul(b, x, part)


@transpose(hlo.TriangularSolveOp)
def triangular_solve_transpose(b: OpBuilder, op: hlo.TriangularSolveOp, linear: Sequence[bool], y_bars: Sequence[Value]) -> Sequence[Tangent]:
    # x = op(a)^-1 b  <->  b_bar = op(a)^-T x_bar
    lower, unit, left = (bool(int_of(flag)) for flag in (op.lower, op.unit_diagonal, op.left_side))
    how = op.transpose_a.data
    if how is Transpose.ADJOINT:
        # (a^H)^T = conj(a)
        a = b.conj(op.a) if is_complex(element(op.a)) else op.a
        return [None, solve(b, a, y_bars[0], left=left, lower=lower, unit=unit)]
    flipped = Transpose.TRANSPOSE if how is Transpose.NO_TRANSPOSE else Transpose.NO_TRANSPOSE
    return [None, solve(b, op.a, y_bars[0], left=left, lower=lower, unit=unit, how=flipped)]


# -- general systems by their factors


@derivative(core.LuSolveOp)
def lu_solve_(b: OpBuilder, op: core.LuSolveOp) -> LinearMap:
    # op(a) x = b: dx = op(a)^-1 (db - op(da) x), by the same factors, which follow from a
    factors, flipped = op.operands[:3], bool(int_of(op.transpose))

    def apply(lb: OpBuilder, tangents: Sequence[Tangent]) -> Sequence[Tangent]:
        a_dot, total = tangents[0], tangents[3]
        if a_dot is not None:
            product = lu_product(lb, op, a_dot, op.x)
            total = lb.negate(product) if total is None else lb.subtract(total, product)
        return [None if total is None else lu_solve(lb, factors, total, transpose=flipped)]

    return apply


def lu_product(b: OpBuilder, op: core.LuSolveOp, a: Value, x: Value) -> Value:
    """``op(a) x`` of the system ``op``."""
    return matmul(b, transposed(b, a) if int_of(op.transpose) else a, x)


@transpose(core.LuSolveOp)
def lu_solve_transpose(b: OpBuilder, op: core.LuSolveOp, linear: Sequence[bool], y_bars: Sequence[Value]) -> Sequence[Tangent]:
    # x = op(a)^-1 b  <->  b_bar = op(a)^-T x_bar
    return [None, None, None, lu_solve(b, op.operands[:3], y_bars[0], transpose=not int_of(op.transpose))]


@derivative(core.CholeskySolveOp)
def cholesky_solve_(b: OpBuilder, op: core.CholeskySolveOp) -> LinearMap:
    # h x = b, h the Hermitian matrix in one triangle of a: dx = h^-1 (db - dh x), by the same factor
    def apply(lb: OpBuilder, tangents: Sequence[Tangent]) -> Sequence[Tangent]:
        a_dot, _, total = tangents
        if a_dot is not None:
            product = hermitian_product(lb, op, a_dot, op.x)
            total = lb.negate(product) if total is None else lb.subtract(total, product)
        return [None if total is None else cholesky_solve(lb, op, total)]

    return apply


def hermitian_product(b: OpBuilder, op: core.CholeskySolveOp, a: Value, x: Value) -> Value:
    """``h x`` with the Hermitian matrix in the triangle of ``a`` that the system ``op`` reads."""
    return matmul(b, hermitian(b, a, bool(int_of(op.a_lower))), x)


@transpose(core.CholeskySolveOp)
def cholesky_solve_transpose(b: OpBuilder, op: core.CholeskySolveOp, linear: Sequence[bool], y_bars: Sequence[Value]) -> Sequence[Tangent]:
    # x = h^-1 b  <->  b_bar = h^-T x_bar, h^T = conj(h)
    if not is_complex(element(op.b)):
        return [None, None, cholesky_solve(b, op, y_bars[0])]
    return [None, None, b.conj(cholesky_solve(b, op, b.conj(y_bars[0])))]


def _cholesky_solve_case(lower: bool, a_lower: bool) -> Callable[[OpBuilder, Value, Value], Value]:
    def build(b: OpBuilder, a: Value, x: Value) -> Value:
        h = positive_definite(b, a)
        factor = b.create(core.CholeskyOp, (h,), (h.type, tensor(shape(h)[:-2], i32)), {"lower": bool_attr(a_lower)})[0]
        factor = factor if lower is a_lower else transposed(b, factor)
        return b.one(core.CholeskySolveOp, (h, factor, x), x.type, lower=bool_attr(lower), a_lower=bool_attr(a_lower))

    return build


def _lu_solve_case(flipped: bool) -> Callable[[OpBuilder, Value, Value], Value]:
    def build(b: OpBuilder, a: Value, x: Value) -> Value:
        batch, n = shape(a)[:-2], shape(a)[-1]
        lu, pivots, _ = b.create(core.LuOp, (a,), (a.type, tensor([*batch, n], i32), tensor(batch, i32)))
        return lu_solve(b, (a, lu, pivots_to_permutation(b, pivots, n)), x, transpose=flipped)

    return build


# -- tridiagonal systems


@derivative(core.TridiagonalSolveOp)
def tridiagonal_solve(b: OpBuilder, op: core.TridiagonalSolveOp) -> LinearMap:
    # a x = b: dx = a^-1 (db - da x), da x from the elements of da within the matrix
    diagonals, x = op.operands[:3], op.x

    def apply(lb: OpBuilder, tangents: Sequence[Tangent]) -> Sequence[Tangent]:
        total = tangents[3]
        for offset, diagonal_dot in zip((-1, 0, 1), tangents, strict=False):
            if diagonal_dot is not None:
                product = banded_product(lb, diagonal_dot, x, offset)
                total = lb.negate(product) if total is None else lb.subtract(total, product)
        assert total is not None
        return [tridiagonal(lb, diagonals, total), None]

    return apply


def banded_product(b: OpBuilder, diagonal: Value, x: Value, offset: int) -> Value:
    """The product of the matrix with this diagonal (below the main one: -1, above it: 1; as long as that) and zeros beside it."""
    here, there = paired_rows(b, along_rows(b, diagonal, x), x, offset)
    return paired_rows_adjoint(b, b.multiply(here, there), len(shape(x)) - 2, offset)


@transpose(core.TridiagonalSolveOp)
def tridiagonal_solve_transpose(b: OpBuilder, op: core.TridiagonalSolveOp, linear: Sequence[bool], y_bars: Sequence[Value]) -> Sequence[Tangent]:
    # x = a^-1 b  <->  b_bar = a^-T x_bar
    return [None, None, None, tridiagonal(b, transposed_diagonals(b, *op.operands[:3]), y_bars[0])]


def _tridiagonal_case(b: OpBuilder, lower: Value, main: Value, upper: Value, x: Value) -> Value:
    """A diagonally dominant system, except in its first row."""
    places = b.iota(len(shape(main)) - 1, tensor(shape(main), i32))
    shift = b.select(b.compare("EQ", places, b.full_like(places, 0)), b.full_like(main, 0), b.full_like(main, 4))
    return tridiagonal(b, (lower, b.add(main, shift), upper), x)


def _solver(lower: bool, left: bool, unit: bool, how: Transpose) -> Callable[[OpBuilder, Value, Value], Value]:
    return lambda b, a, x: solve(b, a, x, left=left, lower=lower, unit=unit, how=how)


_FLAGS = [(True, True, False), (False, False, False), (True, False, True)]

_PIVOTED = (0.1, 2, 1, 3, 0.2, 1, 0.5, 0.4, 2)

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
    Case("cholesky solve", _cholesky_solve_case(True, True), (Arg((3, 3)), Arg((3, 2)))),
    Case("cholesky solve, upper, batched", _cholesky_solve_case(False, False), (Arg((2, 3, 3)), Arg((2, 3, 1)))),
    Case("cholesky solve, turned", _cholesky_solve_case(False, True), (Arg((3, 3)), Arg((3, 1)))),
    Case("cholesky solve, complex", _cholesky_solve_case(True, True), (Arg((2, 2), complex=True), Arg((2, 2), complex=True))),
    Case("lu solve", _lu_solve_case(False), (Arg((3, 3), values=_PIVOTED), Arg((3, 2)))),
    Case("lu solve, transposed, batched", _lu_solve_case(True), (Arg((2, 3, 3), values=(*_PIVOTED, 1, 2, 3, 0.3, 0.1, 4, 5, 0.2, 0.1)), Arg((2, 3, 1)))),
    Case("lu solve, complex", _lu_solve_case(False), (Arg((2, 2), complex=True), Arg((2, 3), complex=True))),
    Case("lu solve, complex, transposed", _lu_solve_case(True), (Arg((2, 2), complex=True), Arg((2, 3), complex=True))),
    Case("tridiagonal solve", _tridiagonal_case, (Arg((4,)), Arg((4,)), Arg((4,)), Arg((4, 2)))),
    Case("tridiagonal solve, batched", _tridiagonal_case, (Arg((2, 3)), Arg((2, 3)), Arg((2, 3)), Arg((2, 3, 1)))),
    Case("tridiagonal solve, complex", _tridiagonal_case, (*[Arg((3,), complex=True)] * 3, Arg((3, 2), complex=True))),
    Case(
        "tridiagonal solve, one row",
        lambda b, lower, main, upper, x: tridiagonal(b, (lower, main, upper), x),
        (Arg((1,)), Arg((1,), 1, 2), Arg((1,)), Arg((1, 2))),
    ),
]
