"""Triangular systems by columns: Golub and Van Loan, Matrix Computations, algorithms 3.1.3 and 3.1.4, for all right-hand sides at once.

A step divides one row of the right-hand sides by an element of the diagonal, and subtracts its products with a column of the matrix from the rows to come.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from wengert.dialects import core, stablehlo
from wengert.dialects.builder import OpBuilder, Value
from wengert.dialects.stablehlo.attributes import Transpose
from wengert.ir.attributes import int_of
from wengert.ir.tensor_types import element, i32, is_complex, shape
from wengert.transforms.linalg.counted_loop import counted_loop
from wengert.transforms.linalg.matrices import Grid, batched, column, conjugate, entry, is_empty, nothing, row, times

MOST_UNROLLED, MOST_COMPLEX_UNROLLED = 8, 5
"""Systems of more unknowns are solved by a loop."""


@dataclass(frozen=True)
class System:
    """A triangular system: ``op(a) x = b``, or ``x op(a) = b`` if not ``left``, where a is one triangle of a matrix, and op may transpose and conjugate."""

    lower: bool
    left: bool = True
    unit: bool = False
    transposed: bool = False
    conjugated: bool = False

    @property
    def by_columns(self) -> bool:
        """Whether a column of a, not a row, says what becomes of the equations still to come."""
        return self.left != self.transposed

    @property
    def forward(self) -> bool:
        """Whether the first unknown is the one that has an equation of its own."""
        return self.lower == self.by_columns


def triangular_solve(b: OpBuilder, op: stablehlo.TriangularSolveOp) -> Sequence[Value]:
    """All sides, triangles, transpositions and diagonals."""
    if is_empty(op.result):
        return nothing(b, [op.result.type])
    how = op.transpose_a.data
    lower, left, unit = (bool(int_of(flag)) for flag in (op.lower, op.left_side, op.unit_diagonal))
    system = System(lower, left, unit, how in (Transpose.TRANSPOSE, Transpose.ADJOINT), how is Transpose.ADJOINT)
    return [b.reshape(solved(b, batched(b, op.a), batched(b, op.b), system), shape(op.result))]


def cholesky_solve(b: OpBuilder, op: core.CholeskySolveOp) -> Sequence[Value]:
    """Two triangular systems, with the factor and its adjoint."""
    if is_empty(op.x):
        return nothing(b, [op.x.type])
    factor, sides, lower = batched(b, op.factor), batched(b, op.b), bool(int_of(op.lower))
    plain, turned = System(lower), System(lower, transposed=True, conjugated=True)
    for system in (plain, turned) if lower else (turned, plain):
        sides = solved(b, factor, sides, system)
    return [b.reshape(sides, shape(op.x))]


def solved(b: OpBuilder, a: Value, sides: Value, system: System) -> Value:
    """The solution of systems, ``a: [batch, n, n]``, ``sides: [batch, n, k]``, or ``[batch, k, n]`` if a is on the right. Reads one triangle of a."""
    n = shape(a)[1]
    if n <= (MOST_COMPLEX_UNROLLED if is_complex(element(a)) else MOST_UNROLLED):
        return _unrolled(b, a, sides, system)

    def step(b: OpBuilder, number: Value, constants: Sequence[Value], carried: Sequence[Value]) -> Sequence[Value]:
        k = number if system.forward else b.subtract(b.scalar(n - 1, i32), number)
        return [_substituted(b, constants[0], carried[0], k, system)]

    return counted_loop(b, n, [a], [sides], step)[0]


def _unrolled(b: OpBuilder, a: Value, sides: Value, system: System) -> Value:
    """The solution without a loop: a thread has a right-hand side in its registers. The operations are those of the loop."""
    batch, n, _ = shape(a)
    dimension = 1 if system.left else 2
    unknowns: dict[int, Value] = {}
    for i in range(n) if system.forward else reversed(range(n)):
        start, end = [0, 0, 0], list(shape(sides))
        start[dimension], end[dimension] = i, i + 1
        x = b.slice(sides, start, end)

        def coefficient(j: int, i: int = i, like: Value = x) -> Value:
            row, column = (i, j) if system.by_columns else (j, i)
            value = b.broadcast_in_dim(b.slice(a, (0, row, column), (batch, row + 1, column + 1)), (0, 1, 2), shape(like))
            return conjugate(b, value) if system.conjugated else value

        for j, unknown in unknowns.items():
            x = b.subtract(x, times(b, coefficient(j), unknown))
        unknowns[i] = x if system.unit else b.divide(x, coefficient(i))
    return b.concatenate([unknowns[i] for i in range(n)], dimension)


def _substituted(b: OpBuilder, a: Value, x: Value, k: Value, system: System) -> Value:
    """One step: unknown k, and the equations still to come without it."""
    grid = Grid(b, shape(x))
    unknown = grid.across(row(b, x, k)) if system.left else grid.down(column(b, x, k))
    coefficients = column(b, a, k) if system.by_columns else row(b, a, k)
    spread = (grid.down if system.left else grid.across)(coefficients)
    pivot = grid.each(entry(b, a, k, k))
    if system.conjugated:
        spread, pivot = conjugate(b, spread), conjugate(b, pivot)
    if not system.unit:
        unknown = b.divide(unknown, pivot)
    is_place = grid.is_row if system.left else grid.is_column
    rest = b.select(is_place("GT" if system.forward else "LT", k), b.subtract(x, times(b, spread, unknown)), x)
    return b.select(is_place("EQ", k), unknown, rest)
