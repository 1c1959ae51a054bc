"""Eigenvalues and eigenvectors of symmetric (Hermitian) matrices by Jacobi's method, with rotations of n / 2 pairs at once.

In a sweep every pair of rows is rotated once, so that its element becomes zero (Golub and Van Loan, Matrix Computations, section 8.5). A step is two kernels:
the rotations, and what they make of all elements of the matrix and of the eigenvectors, which stand below it. Sweeps end when what is left beside the diagonal
is as small as rounding errors.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from wengert.dialects import core
from wengert.dialects.builder import OpBuilder, Value
from wengert.dialects.core import Kind
from wengert.ir.attributes import int_of
from wengert.ir.tensor_types import dtype_of, element, i32, shape, tensor, type_of
from wengert.transforms.linalg.counted_loop import bounded_while, counted_loop
from wengert.transforms.linalg.jacobi import MOST_SWEEPS, partners, ranks, rotation
from wengert.transforms.linalg.matrices import (
    Grid,
    adjoint,
    as_element,
    batched,
    conjugate,
    diagonal,
    is_empty,
    leading,
    nothing,
    real_of,
    real_part,
    scaled,
    squared,
    taken,
    taken_entries,
    times,
)
from wengert.transforms.linalg.permutations import inverse
from wengert.transforms.linalg.scaling import power_of_two


def eigh(b: OpBuilder, op: core.EighOp) -> Sequence[Value]:
    """Eigenvectors (if anything uses them), eigenvalues in ascending order, and info: 1 where sweeps did not end."""
    if is_empty(op.vectors):
        return nothing(b, [result.type for result in op.results])
    a = _hermitian(b, batched(b, op.a), bool(int_of(op.lower)))
    n = shape(a)[1]
    scale = power_of_two(b, a)
    matrix = _even(b, scaled(b, a, Grid(b, shape(a)).each(b.divide(b.full_like(scale, 1), scale))))
    order = shape(matrix)[1]
    limit = _limit(b, matrix)
    work = with_identity(b, matrix) if op.vectors.first_use is not None else matrix
    rivals = partners(b, order, shape(work)[1])

    def sweep(b: OpBuilder, number: Value, constants: Sequence[Value], carried: Sequence[Value]) -> Sequence[Value]:
        return counted_loop(b, order - 1, constants[:1], carried, lambda b, k, given, now: [_rotated(b, now[0], given[0], k)])

    def goes_on(b: OpBuilder, constants: Sequence[Value], carried: Sequence[Value]) -> Value:
        rest = _beside_diagonal(b, carried[0])
        return b.reduce(Kind.or_, b.compare("GT", rest, constants[1]), (0,))

    (work,) = bounded_while(b, MOST_SWEEPS, [rivals, limit], [work], goes_on, sweep)
    done = b.compare("LE", _beside_diagonal(b, work), limit)
    values = real_part(b, b.slice(_diagonal_of_work(b, work), (0, 0), (shape(a)[0], n)))
    places = inverse(b, ranks(b, values))
    vectors = b.slice(work, (0, order, 0), (shape(a)[0], order + n, n)) if shape(work)[1] > order else b.zeros(type_of(a))
    info = b.select(done, b.full(0, tensor(shape(done), i32)), b.full(1, tensor(shape(done), i32)))
    values = b.multiply(taken(b, values, 1, places), b.broadcast_in_dim(scale, (0,), shape(values)))
    return [b.reshape(taken(b, vectors, 2, places), shape(op.vectors)), b.reshape(values, shape(op.values)), b.reshape(info, shape(op.info))]


def _hermitian(b: OpBuilder, a: Value, lower: bool) -> Value:
    """The matrix of which one triangle was given."""
    grid = Grid(b, shape(a))
    middle = as_element(b, real_part(b, a), element(a))
    rest = b.select(grid.compared("GT" if lower else "LT"), a, adjoint(b, a))
    return b.select(grid.compared("EQ"), middle, rest)


def _even(b: OpBuilder, a: Value) -> Value:
    """With one row and column of zeros more if their number is odd: nothing is rotated with them."""
    odd = shape(a)[1] % 2
    return b.pad(a, b.scalar(0, element(a)), (0, 0, 0), (0, odd, odd)) if odd else a


def _limit(b: OpBuilder, a: Value) -> Value:
    """The sum of squares beside the diagonal that is as small as rounding errors: ``[batch]``."""
    eps = float(np.finfo(dtype_of(real_of(a))).eps)
    total = b.reduce(Kind.add, squared(b, a), (1, 2))
    return b.multiply(total, b.full_like(total, eps * eps))


def with_identity(b: OpBuilder, a: Value) -> Value:
    """``[batch, 2 n, n]``: the matrix, and below it the rotations so far."""
    batch, n, _ = shape(a)
    grid = Grid(b, (batch, 2 * n, n))
    below = b.select(b.compare("EQ", grid.rows, b.add(grid.columns, b.full(n, grid.places))), grid.full(1, element(a)), grid.full(0, element(a)))
    upper = b.pad(a, b.scalar(0, element(a)), (0, 0, 0), (0, n, 0))
    return b.select(b.compare("LT", grid.rows, b.full(n, grid.places)), upper, below)


def _diagonal_of_work(b: OpBuilder, work: Value) -> Value:
    return diagonal(b, leading(b, work, shape(work)[2], shape(work)[2]))


def _beside_diagonal(b: OpBuilder, work: Value) -> Value:
    """The sum of squares of what is beside the diagonal: ``[batch]``."""
    n = shape(work)[2]
    sizes = squared(b, leading(b, work, n, n))
    return b.reduce(Kind.add, b.select(Grid(b, shape(sizes)).compared("EQ"), b.full_like(sizes, 0), sizes), (1, 2))


def _rotated(b: OpBuilder, work: Value, rivals: Value, k: Value) -> Value:
    """Step k of a sweep."""
    batch, m, n = shape(work)
    partner = b.dynamic_slice(rivals, [k, b.scalar(0, i32)], (1, m))
    row_partners = b.broadcast_in_dim(partner, (0, 1), (batch, m))
    column_partners = b.broadcast_in_dim(b.slice(partner, (0, 0), (1, n)), (0, 1), (batch, n))
    cosines, sines = _rotations(b, work, column_partners)
    grid = Grid(b, shape(work))
    row_cosines = grid.down(b.pad(cosines, b.scalar(1, element(cosines)), (0, 0), (0, m - n)))
    row_sines = grid.down(b.pad(conjugate(b, sines), b.scalar(0, element(sines)), (0, 0), (0, m - n)))
    column_cosines, column_sines = grid.across(cosines), grid.across(sines)
    other_column = taken(b, work, 2, column_partners)
    other_row = taken(b, work, 1, row_partners)
    other = taken_entries(b, work, grid.down(row_partners), grid.across(column_partners))
    above = b.subtract(scaled(b, work, column_cosines), times(b, column_sines, other_column))
    below = b.subtract(scaled(b, other_row, column_cosines), times(b, column_sines, other))
    turned = b.subtract(scaled(b, above, row_cosines), times(b, row_sines, below))
    is_pair = b.compare("EQ", grid.down(row_partners), grid.columns)
    return b.select(is_pair, b.full_like(turned, 0), turned)  # below row n nothing is its own column's partner


def _rotations(b: OpBuilder, work: Value, partner: Value) -> tuple[Value, Value]:
    """The rotation of each row with its partner: both read one element, so that theirs is one to the bit."""
    own = b.iota(1, tensor(shape(partner), i32))
    above = taken_entries(b, work, b.minimum(own, partner), b.maximum(own, partner))
    there = real_part(b, taken_entries(b, work, partner, partner))
    return rotation(b, real_part(b, _diagonal_of_work(b, work)), there, above, b.compare("LT", own, partner))
