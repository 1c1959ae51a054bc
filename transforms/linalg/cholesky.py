"""Cholesky factors by columns, right-looking (the outer product form): Golub and Van Loan, Matrix Computations, section 4.2.6. A step is one kernel."""

from __future__ import annotations

from collections.abc import Sequence

from wengert.dialects import core, stablehlo
from wengert.dialects.builder import OpBuilder, Value
from wengert.ir.attributes import int_of
from wengert.ir.tensor_types import element, shape
from wengert.transforms.linalg.counted_loop import counted_loop
from wengert.transforms.linalg.lu import first_where
from wengert.transforms.linalg.matrices import (
    Grid,
    adjoint,
    as_element,
    batched,
    column,
    conjugate,
    diagonal,
    divided,
    entry,
    is_empty,
    nothing,
    real_of,
    real_part,
    times,
)
from wengert.transforms.linalg.small_matrices import assembled, elements_of, is_small, small_cholesky


def cholesky(b: OpBuilder, op: core.CholeskyOp) -> Sequence[Value]:
    """The factor, and info: the first minor that is not positive. (A NaN is none, as for LAPACK, and is in the factor.)"""
    if is_empty(op.factor):
        return nothing(b, [result.type for result in op.results])
    lower = bool(int_of(op.lower))
    factor, info = _lower(b, op.a, lower)
    return [b.reshape(factor if lower else adjoint(b, factor), shape(op.factor)), b.reshape(info, shape(op.info))]


def stable_cholesky(b: OpBuilder, op: stablehlo.CholeskyOp) -> Sequence[Value]:
    """The factor, NaN throughout its triangle where the matrix is not positive definite."""
    if is_empty(op.result):
        return nothing(b, [op.result.type])
    lower = op.lower is not None and bool(int_of(op.lower))
    factor, info = _lower(b, op.a, lower)
    grid = Grid(b, shape(factor))
    failed = b.and_(grid.each(b.compare("NE", info, b.full_like(info, 0))), grid.compared("GE"))
    marked = b.select(failed, b.full_like(factor, float("nan")), factor)
    return [b.reshape(marked if lower else adjoint(b, marked), shape(op.result))]


def _lower(b: OpBuilder, a: Value, lower: bool) -> tuple[Value, Value]:
    """Lower factors, ``[batch, n, n]``, of matrices of which one triangle is given, and info."""
    matrices = batched(b, a)
    if is_small(matrices):
        factor, info = small_cholesky(b, elements_of(b, matrices if lower else adjoint(b, matrices)))
        return assembled(b, factor), info
    columns = _columns(b, matrices if lower else adjoint(b, matrices))
    values = real_part(b, diagonal(b, columns))
    factor = b.select(Grid(b, shape(columns)).compared("GE"), columns, b.full_like(columns, 0))
    return factor, first_where(b, b.compare("LE", values, b.full_like(values, 0)))


def _columns(b: OpBuilder, matrices: Value) -> Value:
    """Lower factors, of which what is above the diagonal means nothing. Where it failed an element of the diagonal is not positive."""

    def step(b: OpBuilder, k: Value, constants: Sequence[Value], carried: Sequence[Value]) -> Sequence[Value]:
        return [_step(b, carried[0], k)]

    return counted_loop(b, shape(matrices)[1], (), [matrices], step)[0]


def _step(b: OpBuilder, a: Value, k: Value) -> Value:
    """Column k of the factor, and its products with itself subtracted from what is right of it."""
    grid = Grid(b, shape(a))
    pivot = grid.each(real_part(b, entry(b, a, k, k)))
    root = b.sqrt(pivot)
    this = column(b, a, k)
    left, right = divided(b, grid.down(this), root), divided(b, grid.across(conjugate(b, this)), root)
    updated = b.subtract(a, times(b, left, right))
    kept = b.select(b.compare("LE", pivot, grid.full(0, real_of(a))), pivot, root)
    inside = b.select(grid.is_column("EQ", k), left, b.select(grid.is_column("GT", k), updated, a))
    corner = b.and_(grid.is_row("EQ", k), grid.is_column("EQ", k))
    return b.select(corner, as_element(b, kept, element(a)), b.select(grid.is_row("GT", k), inside, a))
