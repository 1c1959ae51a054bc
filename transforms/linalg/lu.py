"""LU factors with partial pivoting by columns, right-looking: Golub and Van Loan, Matrix Computations, algorithm 3.4.1.

A step exchanges rows, divides a column and updates what is right of it, all in one kernel: each element reads the row that comes to its place. The search for
the pivot takes two reductions before it.
"""

from __future__ import annotations

from collections.abc import Sequence

from wengert.dialects import core
from wengert.dialects.builder import OpBuilder, Value
from wengert.dialects.core import Kind
from wengert.ir.attributes import int_of
from wengert.ir.tensor_types import element, i32, shape, shape_of_type, tensor
from wengert.transforms.linalg.counted_loop import counted_loop
from wengert.transforms.linalg.matrices import Grid, batched, column, diagonal, is_empty, nothing, size_of_parts, taken, taken_entries, times
from wengert.transforms.linalg.permutations import inverse
from wengert.transforms.linalg.small_matrices import assembled, elements_of, is_small, joined, small_lu
from wengert.transforms.linalg.triangular import System, solved


def lu(b: OpBuilder, op: core.LuOp) -> Sequence[Value]:
    """The packed factors, the pivots, and info: the first zero pivot."""
    types = [result.type for result in op.results]
    if is_empty(op.lu):
        return nothing(b, types)
    factors, pivots, info = _small(b, batched(b, op.a)) if is_small(batched(b, op.a)) else _by_columns(b, batched(b, op.a))
    values = zip((factors, pivots, info), types, strict=True)
    return [b.reshape(value, shape_of_type(type)) for value, type in values]  # pyright: ignore[reportArgumentType]


def _small(b: OpBuilder, a: Value) -> tuple[Value, Value, Value]:
    """The results for very small matrices."""
    factors, rows, info = small_lu(b, elements_of(b, a))
    return assembled(b, factors), joined(b, [b.add(row, b.full_like(row, 1)) for row in rows]), info


def _by_columns(b: OpBuilder, a: Value) -> tuple[Value, Value, Value]:
    """The results by a loop over the columns of ``a: [batch, m, n]``."""
    batch, m, n = shape(a)
    steps = min(m, n)

    def step(b: OpBuilder, k: Value, constants: Sequence[Value], carried: Sequence[Value]) -> Sequence[Value]:
        a, pivots = carried
        pivot = _pivot(b, a, k)
        number = b.reshape(b.add(pivot, b.full_like(pivot, 1)), (batch, 1))
        return [_eliminated(b, a, k, pivot), b.dynamic_update_slice(pivots, number, [b.scalar(0, i32), k])]

    factors, pivots = counted_loop(b, steps, (), [a, b.zeros(tensor((batch, steps), i32))], step)
    return factors, pivots, first_where(b, b.compare("EQ", diagonal(b, factors), b.full_like(diagonal(b, factors), 0)))


def first_where(b: OpBuilder, failed: Value) -> Value:
    """LAPACK's info: the number, from 1, of the first that failed (``[batch, n]``), or 0."""
    n = shape(failed)[1]
    numbers = tensor(shape(failed), i32)
    place = b.reduce(Kind.min, b.select(failed, b.iota(1, numbers), b.full(n, numbers)), (1,))
    return b.select(b.compare("EQ", place, b.full_like(place, n)), b.full_like(place, 0), b.add(place, b.full_like(place, 1)))


def _pivot(b: OpBuilder, a: Value, k: Value) -> Value:
    """The row of the first of the largest elements of column k, from row k on; of a NaN if there is one. The size of a complex number is that of its parts."""
    batch, m, _ = shape(a)
    places = tensor((batch, m), i32)
    sizes = size_of_parts(b, column(b, a, k))
    below = b.compare("GE", b.iota(1, places), b.broadcast_in_dim(k, [], (batch, m)))
    sizes = b.select(below, sizes, b.full_like(sizes, -1))
    largest = b.broadcast_in_dim(b.reduce(Kind.max, sizes, (1,)), (0,), (batch, m))
    chosen = b.or_(b.compare("EQ", sizes, largest), b.compare("NE", sizes, sizes))
    return b.reduce(Kind.min, b.select(chosen, b.iota(1, places), b.full(m - 1, places)), (1,))


def _eliminated(b: OpBuilder, a: Value, k: Value, pivot: Value) -> Value:
    """Step k: rows k and ``pivot`` exchanged, column k divided by the pivot where that is not zero, and its products with row k subtracted."""
    grid = Grid(b, shape(a))
    batch, m, _ = grid.extents
    rows, ks = b.iota(1, tensor((batch, m), i32)), b.broadcast_in_dim(k, [], (batch, m))
    pivots = b.broadcast_in_dim(pivot, (0,), (batch, m))
    below = b.select(b.compare("EQ", rows, pivots), ks, rows)  # the row that comes to each place behind k
    moved = taken(b, a, 1, b.select(b.compare("EQ", rows, ks), pivots, below))
    multiplier = grid.down(taken_entries(b, a, below, ks))
    divisor = grid.each(taken_entries(b, a, pivot, b.broadcast_in_dim(k, [], (batch,))))
    multiplier = b.select(b.compare("EQ", divisor, grid.full(0, element(a))), multiplier, b.divide(multiplier, divisor))
    updated = b.subtract(moved, times(b, multiplier, grid.across(taken(b, a, 1, pivot))))
    right = b.select(grid.is_column("EQ", k), multiplier, b.select(grid.is_column("GT", k), updated, moved))
    return b.select(grid.is_row("GT", k), right, moved)


def lu_solve(b: OpBuilder, op: core.LuSolveOp) -> Sequence[Value]:
    """Two triangular systems, with rows taken in the order of the permutation before or after."""
    if is_empty(op.x):
        return nothing(b, [op.x.type])
    factors, sides, order = batched(b, op.lu), batched(b, op.b), batched(b, op.permutation, 1)
    order = b.clamp(b.full_like(order, 0), order, b.full_like(order, shape(order)[1] - 1))
    if int_of(op.transpose):
        y = solved(b, factors, sides, System(lower=False, transposed=True))
        x = taken(b, solved(b, factors, y, System(lower=True, unit=True, transposed=True)), 1, inverse(b, order))
    else:
        y = solved(b, factors, taken(b, sides, 1, order), System(lower=True, unit=True))
        x = solved(b, factors, y, System(lower=False))
    return [b.reshape(x, shape(op.x))]


def lu_diagonal(b: OpBuilder, op: core.LuDiagonalOp) -> Sequence[Value]:
    """A part of lu."""
    if is_empty(op.diagonal):
        return nothing(b, [op.diagonal.type])
    return [b.reshape(diagonal(b, batched(b, op.lu)), shape(op.diagonal))]
