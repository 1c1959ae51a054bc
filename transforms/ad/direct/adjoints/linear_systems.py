"""Adjoints of triangular, general and tridiagonal systems; ``matrix_cotangents`` states how they are derived.

Where an op reads one triangle of its operand, the other one has a zero cotangent.
"""

from __future__ import annotations

from collections.abc import Sequence

from wengert.dialects import core
from wengert.dialects import stablehlo as hlo
from wengert.dialects.builder import OpBuilder, Value
from wengert.dialects.stablehlo.attributes import Transpose
from wengert.ir.attributes import int_of
from wengert.ir.tensor_types import rank
from wengert.transforms.ad.building_blocks.matrices import adjoint as hermitian_transpose
from wengert.transforms.ad.building_blocks.matrices import (
    cholesky_solve,
    keep,
    lu_solve,
    matmul,
    paired_rows,
    paired_rows_adjoint,
    solve,
    transposed,
    transposed_diagonals,
    tridiagonal,
)
from wengert.transforms.ad.direct.adjoint import Bars, adjoint
from wengert.transforms.ad.direct.matrix_cotangents import conj, from_hermitian
from wengert.transforms.ad.rule import Tangent


@adjoint(hlo.TriangularSolveOp)
def triangular_solve(b: OpBuilder, op: hlo.TriangularSolveOp, y_bars: Sequence[Value], needed: Sequence[bool]) -> Bars:
    # m x = r (or x m = r): r_bar = m^-T x_bar (or x_bar m^-T), m_bar = -r_bar x^T (or -x^T r_bar); m = a, a^T or a^H
    lower, unit, left = (bool(int_of(flag)) for flag in (op.lower, op.unit_diagonal, op.left_side))
    how = op.transpose_a.data
    matrix = conj(b, op.a) if how is Transpose.ADJOINT else op.a
    flipped = Transpose.TRANSPOSE if how is Transpose.NO_TRANSPOSE else Transpose.NO_TRANSPOSE
    r_bar = solve(b, matrix, y_bars[0], left=left, lower=lower, unit=unit, how=flipped)
    if not needed[0]:
        return [None, r_bar]
    x_transposed = transposed(b, op.result)
    product = matmul(b, r_bar, x_transposed) if left else matmul(b, x_transposed, r_bar)
    if how is not Transpose.NO_TRANSPOSE:
        product = transposed(b, product) if how is Transpose.TRANSPOSE else hermitian_transpose(b, product)
    strict, whole = ("GT", "GE") if lower else ("LT", "LE")
    return [b.negate(keep(b, product, strict if unit else whole)), r_bar if needed[1] else None]


@adjoint(core.CholeskySolveOp)
def cholesky_solve_(b: OpBuilder, op: core.CholeskySolveOp, y_bars: Sequence[Value], needed: Sequence[bool]) -> Bars:
    # h x = r: r_bar = h^-T x_bar with h^T = conj(h), and h_bar = -r_bar x^T, of which a has one triangle
    r_bar = conj(b, cholesky_solve(b, op, conj(b, y_bars[0])))
    a_bar = None
    if needed[0]:
        a_bar = from_hermitian(b, matmul(b, b.negate(r_bar), transposed(b, op.x)), bool(int_of(op.a_lower)))
    return [a_bar, None, r_bar if needed[2] else None]


@adjoint(core.LuSolveOp)
def lu_solve_(b: OpBuilder, op: core.LuSolveOp, y_bars: Sequence[Value], needed: Sequence[bool]) -> Bars:
    # m x = r: r_bar = m^-T x_bar by the same factors, and m_bar = -r_bar x^T; m = a or a^T. The factors follow from a.
    flipped = bool(int_of(op.transpose))
    r_bar = lu_solve(b, op.operands[:3], y_bars[0], transpose=not flipped)
    a_bar = None
    if needed[0]:
        left, right = (op.x, b.negate(r_bar)) if flipped else (b.negate(r_bar), op.x)
        a_bar = matmul(b, left, transposed(b, right))
    return [a_bar, None, None, r_bar if needed[3] else None]


@adjoint(core.TridiagonalSolveOp)
def tridiagonal_solve(b: OpBuilder, op: core.TridiagonalSolveOp, y_bars: Sequence[Tangent], needed: Sequence[bool]) -> Bars:
    # a x = r: r_bar = a^-T x_bar, and a_bar = -r_bar x^T on the three diagonals
    assert y_bars[0] is not None
    r_bar = tridiagonal(b, transposed_diagonals(b, *op.operands[:3]), y_bars[0])

    def diagonal_bar(offset: int) -> Value:
        product = b.multiply(*paired_rows(b, r_bar, op.x, offset))
        return paired_rows_adjoint(b, b.negate(b.reduce_sum(product, [rank(product) - 1])), rank(product) - 2, offset)

    bars = [diagonal_bar(offset) if wanted else None for offset, wanted in zip((-1, 0, 1), needed, strict=False)]
    return [*bars, r_bar if needed[3] else None]
