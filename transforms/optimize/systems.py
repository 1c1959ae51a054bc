"""Laws of systems of equations by factors. They lose nothing in values, and give derivatives that do not go through the factors."""

from __future__ import annotations

from typing import Any

import numpy as np
from xdsl.ir import Operation, SSAValue

from wengert.dialects import core, stablehlo
from wengert.dialects.builder import OpBuilder
from wengert.dialects.stablehlo.attributes import ComparisonDirection, Transpose
from wengert.ir.attributes import bool_attr, int_of, ints
from wengert.ir.tensor_types import element, is_complex, rank, shape
from wengert.transforms.optimize.matching import is_zero, made_by, splat
from wengert.transforms.optimize.rewrites import Rewritten, rewrite


@rewrite(stablehlo.TriangularSolveOp, given=[stablehlo.TriangularSolveOp])
def system_by_cholesky(b: OpBuilder, op: stablehlo.TriangularSolveOp) -> Rewritten:
    """l^-H (l^-1 b) = core.cholesky_solve(a, l, b) for a Cholesky factor l of a, and so for u^-1 (u^-H b)"""
    first = made_by(op.b, stablehlo.TriangularSolveOp)
    if first is None or first.a is not op.a or not all(use.operation is op or _is_unused(use.operation) for use in first.result.uses):
        return None
    lower = bool(int_of(op.lower))
    if any(not int_of(x.left_side) or int_of(x.unit_diagonal) or bool(int_of(x.lower)) != lower for x in (first, op)):
        return None
    plain, turned = (first, op) if lower else (op, first)
    if plain.transpose_a.data is not Transpose.NO_TRANSPOSE or not _is_adjoint(turned):
        return None
    made = _factorisation(op.a, lower)
    if made is None:
        return None
    return b.one(core.CholeskySolveOp, (made.a, op.a, first.b), op.result.type, lower=bool_attr(lower), a_lower=made.lower)


def _is_unused(op: Operation) -> bool:
    """Whether an op is left over from moves that were simplified already."""
    if any(result.first_use is None for result in op.results):
        return True
    return isinstance(op, stablehlo.ReshapeOp | stablehlo.TransposeOp) and all(_is_unused(use.operation) for use in op.result.uses)


def _is_adjoint(op: stablehlo.TriangularSolveOp) -> bool:
    how = op.transpose_a.data
    return how is Transpose.ADJOINT or (how is Transpose.TRANSPOSE and not is_complex(element(op.a)))


def _factorisation(factor: SSAValue, lower: bool) -> core.CholeskyOp | None:
    """The op whose factor stands in this triangle of a value: behind transposes of real matrices, selections of that triangle, and of NaN where
    it failed."""
    asked: list[SSAValue] = []
    while True:
        op: Any = factor.owner
        if isinstance(op, core.CholeskyOp):
            matches = factor is op.factor and bool(int_of(op.lower)) == lower and all(info is op.info for info in asked)
            return op if matches else None
        if isinstance(op, stablehlo.TransposeOp) and not is_complex(element(factor)):
            n = rank(factor)
            if tuple(ints(op.permutation)) != (*range(n - 2), n - 1, n - 2):
                return None
            factor, lower = op.operand, not lower
        elif isinstance(op, stablehlo.SelectOp):
            if _holds_in_triangle(op.pred, lower):
                factor = op.on_true
            elif (info := _successful(op)) is not None:
                asked.append(info)
                factor = op.on_true
            else:
                return None
        else:
            return None


def _holds_in_triangle(pred: SSAValue, lower: bool) -> bool:
    """Whether a predicate on matrices holds in a triangle: row >= column, or row <= column."""
    source = pred
    if isinstance(pred.owner, stablehlo.BroadcastInDimOp):
        source, dims, n = pred.owner.operand, tuple(ints(pred.owner.broadcast_dimensions)), rank(pred)
        if dims[-2:] != (n - 2, n - 1) or shape(source)[-2:] != shape(pred)[-2:]:
            return False
    compare = made_by(source, stablehlo.CompareOp)
    if compare is None or rank(source) < 2:
        return False
    counted = [made_by(x, stablehlo.IotaOp) for x in compare.operands]
    places = [None if x is None else int_of(x.iota_dimension) - rank(source) for x in counted]
    rows, columns = (ComparisonDirection.GE, ComparisonDirection.LE) if lower else (ComparisonDirection.LE, ComparisonDirection.GE)
    return (places, compare.comparison_direction.data) in (([-2, -1], rows), ([-1, -2], columns))


def _successful(op: stablehlo.SelectOp) -> SSAValue | None:
    """The value, one for each matrix, that must be zero for a selection not to be NaN."""
    otherwise, source = splat(op.on_false), op.pred
    if otherwise is None or not np.isnan(otherwise):
        return None
    if isinstance(source.owner, stablehlo.BroadcastInDimOp):
        if tuple(ints(source.owner.broadcast_dimensions)) != tuple(range(rank(source) - 2)):
            return None
        source = source.owner.operand
    elif rank(source) != 0:
        return None
    compare = made_by(source, stablehlo.CompareOp)
    if compare is None or compare.comparison_direction.data is not ComparisonDirection.EQ or not is_zero(compare.rhs):
        return None
    return compare.lhs
