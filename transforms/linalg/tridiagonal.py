"""Tridiagonal systems by elimination with partial pivoting, as LAPACK's gtsv does it (Golub and Van Loan, Matrix Computations, section 4.3).

A row of the matrix is kept with its right-hand sides: ``[batch, 3 + k]``. A step exchanges the row that is left of those before with the next one if that has
the larger element, and eliminates; what is left has two elements. The triangle has three in a row, by which the unknowns follow from the last to the first.
"""

from __future__ import annotations

from collections.abc import Sequence

from wengert.dialects import core
from wengert.dialects.builder import OpBuilder, Value
from wengert.ir.tensor_types import element, i32, shape, tensor
from wengert.transforms.linalg.counted_loop import counted_loop
from wengert.transforms.linalg.lu import first_where
from wengert.transforms.linalg.matrices import batched, is_empty, nothing, size_of_parts, times


def tridiagonal_solve(b: OpBuilder, op: core.TridiagonalSolveOp) -> Sequence[Value]:
    """The solution, and info: the first zero pivot."""
    if is_empty(op.main):
        return nothing(b, [result.type for result in op.results])
    lower, main, upper = (batched(b, diagonal, 1) for diagonal in (op.lower, op.main, op.upper))
    rows = _triangle(b, _rows(b, lower, main, upper, batched(b, op.b)))
    batch, n, width = shape(rows)
    pivots = b.reshape(b.slice(rows, (0, 0, 0), (batch, n, 1)), (batch, n))
    info = first_where(b, b.compare("EQ", pivots, b.full_like(pivots, 0)))
    x = b.zeros(tensor((batch, n, 0), element(rows))) if width == 3 else _substituted(b, rows)
    return [b.reshape(x, shape(op.x)), b.reshape(info, shape(op.info))]


def _rows(b: OpBuilder, lower: Value, main: Value, upper: Value, sides: Value) -> Value:
    """The rows of the matrix with their right-hand sides: ``[batch, n + 1, 3 + k]``, the first shifted to its diagonal, and one of zeros behind the last."""
    batch, n, _ = shape(sides)
    first = b.compare("EQ", b.iota(1, tensor((batch, n), i32)), b.full(0, tensor((batch, n), i32)))
    last = b.compare("EQ", b.iota(1, tensor((batch, n), i32)), b.full(n - 1, tensor((batch, n), i32)))
    none = b.full_like(main, 0)
    upper = b.select(last, none, upper)
    columns = [b.select(first, main, lower), b.select(first, upper, main), b.select(first, none, upper)]
    joined = b.concatenate([*(b.reshape(column, (batch, n, 1)) for column in columns), sides], 2)
    return b.pad(joined, b.scalar(0, element(sides)), (0, 0, 0), (0, 1, 0))


def _triangle(b: OpBuilder, rows: Value) -> Value:
    """The rows of the triangle, from the diagonal on, and what became of the right-hand sides: ``[batch, n, 3 + k]``."""
    batch, extent, width = shape(rows)
    n = extent - 1

    def step(b: OpBuilder, i: Value, constants: Sequence[Value], carried: Sequence[Value]) -> Sequence[Value]:
        left, triangle = carried
        zero = b.scalar(0, i32)
        following = b.dynamic_slice(constants[0], [zero, b.add(i, b.scalar(1, i32)), zero], (batch, 1, width))
        top, rest = _eliminated(b, left, following)
        return [rest, b.dynamic_update_slice(triangle, top, [zero, i, zero])]

    first = b.slice(rows, (0, 0, 0), (batch, 1, width))
    return counted_loop(b, n, [rows], [first, b.zeros(tensor((batch, n, width), element(rows)))], step)[1]


def _eliminated(b: OpBuilder, left: Value, following: Value) -> tuple[Value, Value]:
    """The row with the larger first element, and what is left of the other one without it: ``[batch, 1, 3 + k]``."""
    batch, _, width = shape(left)
    mine, theirs = (b.slice(row, (0, 0, 0), (batch, 1, 1)) for row in (left, following))
    exchanged = b.broadcast_in_dim(b.compare("GT", size_of_parts(b, theirs), size_of_parts(b, mine)), (0, 1, 2), (batch, 1, width))
    top, bottom = b.select(exchanged, following, left), b.select(exchanged, left, following)
    mine, theirs = (b.broadcast_in_dim(x, (0, 1, 2), (batch, 1, width)) for x in (mine, theirs))
    factor = b.divide(b.select(exchanged, mine, theirs), b.select(exchanged, theirs, mine))
    return top, _shifted(b, b.subtract(bottom, times(b, factor, top)))


def _shifted(b: OpBuilder, row: Value) -> Value:
    """The row with its elements in the matrix one place further to the left."""
    batch, _, width = shape(row)
    column = b.iota(2, tensor((batch, 1, width), i32))
    moved = b.pad(b.slice(row, (0, 0, 1), (batch, 1, width)), b.scalar(0, element(row)), (0, 0, 0), (0, 0, 1))
    inside = b.select(b.compare("LT", column, b.full_like(column, 2)), moved, b.full_like(row, 0))
    return b.select(b.compare("LT", column, b.full_like(column, 3)), inside, row)


def _substituted(b: OpBuilder, rows: Value) -> Value:
    """The unknowns, from the last to the first: ``[batch, n, k]``."""
    batch, n, width = shape(rows)
    k = width - 3

    def step(b: OpBuilder, number: Value, constants: Sequence[Value], carried: Sequence[Value]) -> Sequence[Value]:
        following, second, x = carried
        zero, i = b.scalar(0, i32), b.subtract(b.scalar(n - 1, i32), number)
        main, upper, above = (
            b.broadcast_in_dim(b.dynamic_slice(constants[0], [zero, i, b.scalar(j, i32)], (batch, 1, 1)), (0, 1, 2), (batch, 1, k)) for j in range(3)
        )
        side = b.dynamic_slice(constants[0], [zero, i, b.scalar(3, i32)], (batch, 1, k))
        unknown = b.subtract(b.subtract(side, times(b, upper, following)), times(b, above, second))
        unknown = b.divide(unknown, main)
        return [unknown, following, b.dynamic_update_slice(x, unknown, [zero, i, zero])]

    none = b.zeros(tensor((batch, 1, k), element(rows)))
    return counted_loop(b, n, [rows], [none, none, b.zeros(tensor((batch, n, k), element(rows)))], step)[2]
