"""Taylor coefficients of the Cholesky and the LU factorisation.

The coefficients of a product of factors are known, so that of the factors' j-th coefficients there is one linear equation, with a right-hand side from
those of lower order. Other factorisations follow from their derivative rules, which lead to products and triangular systems.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from wengert.dialects import core
from wengert.dialects import stablehlo as hlo
from wengert.dialects.builder import OpBuilder, Value
from wengert.ir.attributes import int_of
from wengert.ir.tensor_types import shape
from wengert.transforms.ad.building_blocks.matrices import adjoint, hermitian, keep, matmul, pivots_to_permutation
from wengert.transforms.ad.rule import Tangent
from wengert.transforms.ad.rules.factorisations import LuFactors, corner, factor_tangent
from wengert.transforms.ad.taylor.recurrences import recurrence
from wengert.transforms.ad.taylor.series import Series, total
from wengert.transforms.core.recognisers.systems import take_rows


def _factor(b: OpBuilder, factor: Value, lower: bool, a_j: Tangent, known: Callable[[int], Tangent], j: int) -> Tangent:
    # a = l l^H: the equation of its tangent for l_j, with a_j - sum_{0<i<j} l_i l_{j-i}^H as that of a
    terms: list[Tangent] = []
    for i in range(1, j):
        left, right = known(i), known(j - i)
        if left is not None and right is not None:
            terms.append(matmul(b, left, adjoint(b, right)) if lower else matmul(b, adjoint(b, left), right))
    others, top = total(b, terms), None if a_j is None else hermitian(b, a_j, lower)
    if others is not None:
        top = b.negate(others) if top is None else b.subtract(top, others)
    return None if top is None else factor_tangent(b, factor, top, lower)


@recurrence(core.CholeskyOp)
def cholesky(b: OpBuilder, op: core.CholeskyOp, operands: Sequence[Series], factor: Callable[[int], Tangent], j: int) -> Tangent:
    """The factor of a Hermitian matrix, of which one triangle is read."""
    return _factor(b, op.factor, bool(int_of(op.lower)), operands[0].at(j), factor, j)


@recurrence(hlo.CholeskyOp)
def stablehlo_cholesky(b: OpBuilder, op: hlo.CholeskyOp, operands: Sequence[Series], factor: Callable[[int], Tangent], j: int) -> Tangent:
    """The same; what the other triangle of the result holds is not defined, and does not count."""
    lower = op.lower is not None and bool(int_of(op.lower))
    return _factor(b, keep(b, op.result, "GE" if lower else "LE"), lower, operands[0].at(j), factor, j)


@recurrence(core.LuOp)
def lu(b: OpBuilder, op: core.LuOp, operands: Sequence[Series], packed: Callable[[int], Tangent], j: int) -> Tangent:
    """Both factors in one matrix; rows are exchanged as they are at the point."""
    # p a = l u: with x = l^-1 (p a_j - sum_{0<i<j} l_i u_{j-i}) u^-1 it is l_j = l stril(x), u_j = triu(x) u
    factors, (m, n) = LuFactors(b, op), shape(op.a)[-2:]
    k = min(m, n)
    terms: list[Tangent] = []
    for i in range(1, j):
        left, right = packed(i), packed(j - i)
        if left is not None and right is not None:
            terms.append(matmul(b, corner(b, keep(b, left, "GT"), m, k), corner(b, keep(b, right, "LE"), k, n)))
    a_j, others = operands[0].at(j), total(b, terms)
    top = None if a_j is None else take_rows(b, a_j, pivots_to_permutation(b, op.pivots, m))
    if others is not None:
        top = b.negate(others) if top is None else b.subtract(top, others)
    return None if top is None else factors.tangent(b, top)
