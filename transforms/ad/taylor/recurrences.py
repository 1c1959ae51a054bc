"""Ops that declare how the Taylor coefficients of their result follow from those of their operands.

A. Griewank, A. Walther, "Evaluating Derivatives" (2nd ed., SIAM 2008), chapter 13, table 13.1. Products and linear ops need no declaration: their
facts say what they are. All other ops follow from their derivative rule (:mod:`wengert.transforms.ad.taylor.by_rule`), which for exponentials, sines,
hyperbolic tangents, logarithms and roots gives the recurrences of that table. A declaration is for ops of which the rule repeats the op itself (a
quotient), or needs fewer ops than it takes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.ir import Operation

from wengert.dialects import stablehlo as hlo
from wengert.dialects.builder import OpBuilder, Value
from wengert.ir.plugins import note_registration
from wengert.transforms.ad.rule import Tangent
from wengert.transforms.ad.taylor.series import Series, times, total

Coefficients = Callable[[OpBuilder, Operation, Sequence[Series], Callable[[int], Tangent], int], Tangent]
"""(builder, the op on the primals, the operands' series, the result's coefficients of lower order, j) to the result's coefficient of order j."""

RECURRENCES: dict[type[Operation], Coefficients] = {}


def recurrence(*ops: type[Operation]) -> Callable[[Coefficients], Coefficients]:
    """Declares the recurrence of ops with one result, each along any path of its operands."""

    def register(rule: Coefficients) -> Coefficients:
        note_registration(rule)
        for op in ops:
            if op in RECURRENCES:
                raise ValueError(f"{op.name} is declared twice")
            RECURRENCES[op] = rule
        return rule

    return register


def _product(b: OpBuilder, x: Tangent, y: Tangent) -> Tangent:
    return None if x is None or y is None else b.multiply(x, y)


@recurrence(hlo.DivideOp)
def divide(b: OpBuilder, op: Operation, operands: Sequence[Series], y: Callable[[int], Tangent], j: int) -> Tangent:
    """The quotient: ``y v = u``."""
    # y = u / v:  y_j = (u_j - sum_{i=1..j} v_i y_{j-i}) / v_0
    u, v = operands
    others = total(b, [_product(b, v.at(i), y(j - i)) for i in range(1, j + 1)])
    top = u.at(j)
    if others is not None:
        top = b.negate(others) if top is None else b.subtract(top, others)
    return None if top is None else b.divide(top, v.primal)


@recurrence(hlo.SqrtOp)
def sqrt(b: OpBuilder, op: Operation, operands: Sequence[Series], y: Callable[[int], Tangent], j: int) -> Tangent:
    """The root: ``y y = x``."""
    # y y = x:  y_j = (x_j - sum_{i=1..j-1} y_i y_{j-i}) / (2 y_0); each product of the sum occurs twice but for the middle one
    pairs = [(i, j - i) for i in range(1, (j + 1) // 2)]
    twice = total(b, [_product(b, y(i), y(k)) for i, k in pairs])
    terms: list[Tangent] = [None if twice is None else times(b, twice, 2)]
    if j % 2 == 0:
        terms.append(_product(b, y(j // 2), y(j // 2)))
    others, top = total(b, terms), operands[0].at(j)
    if others is not None:
        top = b.negate(others) if top is None else b.subtract(top, others)
    root: Value = op.results[0]
    return None if top is None else b.divide(top, times(b, root, 2))
