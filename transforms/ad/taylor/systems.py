"""Taylor coefficients of solutions of linear systems: one system for each order, all with the matrix at the point.

Of ``A(t) x(t) = b(t)`` coefficient j is ``A_0 x_j = b_j - sum_{i=1..j} A_i x_{j-i}``. The factors that a solution goes by are not followed: they say
nothing that the matrix does not.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from wengert.dialects import core
from wengert.dialects import stablehlo as hlo
from wengert.dialects.builder import OpBuilder, Value
from wengert.dialects.stablehlo.attributes import Transpose
from wengert.ir.attributes import int_of
from wengert.transforms.ad.building_blocks.matrices import cholesky_solve, lu_solve, solve, tridiagonal
from wengert.transforms.ad.rule import Tangent
from wengert.transforms.ad.rules.systems import banded_product, hermitian_product, lu_product, triangular_product
from wengert.transforms.ad.taylor.recurrences import recurrence
from wengert.transforms.ad.taylor.series import Series, total


def _solution(
    b: OpBuilder,
    solver: Callable[[Value], Value],
    products: Sequence[tuple[Series, Callable[[Value, Value], Value]]],
    right: Tangent,
    x: Callable[[int], Tangent],
    j: int,
) -> Tangent:
    """Coefficient j of a solution; ``products`` are parts of the matrix, and what the product of each with a solution is."""
    terms: list[Tangent] = []
    for part, product in products:
        for i in range(1, j + 1):
            a_i, x_k = part.at(i), x(j - i)
            terms.append(None if a_i is None or x_k is None else product(a_i, x_k))
    others = total(b, terms)
    if others is not None:
        right = b.negate(others) if right is None else b.subtract(right, others)
    return None if right is None else solver(right)


@recurrence(hlo.TriangularSolveOp)
def triangular_solve(b: OpBuilder, op: hlo.TriangularSolveOp, operands: Sequence[Series], x: Callable[[int], Tangent], j: int) -> Tangent:
    """A triangular system, from the left or the right."""
    lower, unit, left = (bool(int_of(flag)) for flag in (op.lower, op.unit_diagonal, op.left_side))
    how: Transpose = op.transpose_a.data

    def solver(right: Value) -> Value:
        return solve(b, op.a, right, left=left, lower=lower, unit=unit, how=how)

    return _solution(b, solver, [(operands[0], lambda a, y: triangular_product(b, op, a, y))], operands[1].at(j), x, j)


@recurrence(core.LuSolveOp)
def lu_solve_(b: OpBuilder, op: core.LuSolveOp, operands: Sequence[Series], x: Callable[[int], Tangent], j: int) -> Tangent:
    """A system by its LU factors."""

    def solver(right: Value) -> Value:
        return lu_solve(b, op.operands[:3], right, transpose=bool(int_of(op.transpose)))

    return _solution(b, solver, [(operands[0], lambda a, y: lu_product(b, op, a, y))], operands[3].at(j), x, j)


@recurrence(core.CholeskySolveOp)
def cholesky_solve_(b: OpBuilder, op: core.CholeskySolveOp, operands: Sequence[Series], x: Callable[[int], Tangent], j: int) -> Tangent:
    """A Hermitian system by its Cholesky factor."""
    return _solution(b, lambda right: cholesky_solve(b, op, right), [(operands[0], lambda a, y: hermitian_product(b, op, a, y))], operands[2].at(j), x, j)


@recurrence(core.TridiagonalSolveOp)
def tridiagonal_solve(b: OpBuilder, op: core.TridiagonalSolveOp, operands: Sequence[Series], x: Callable[[int], Tangent], j: int) -> Tangent:
    """A tridiagonal system, by its three diagonals."""

    def along(offset: int) -> Callable[[Value, Value], Value]:
        return lambda diagonal, y: banded_product(b, diagonal, y, offset)

    parts = [(operands[n], along(n - 1)) for n in range(3)]
    return _solution(b, lambda right: tridiagonal(b, op.operands[:3], right), parts, operands[3].at(j), x, j)
