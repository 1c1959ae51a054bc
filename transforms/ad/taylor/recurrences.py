"""Ops that declare how the Taylor coefficients of their result follow from those of their operands.

A. Griewank, A. Walther, "Evaluating Derivatives" (2nd ed., SIAM 2008), chapter 13, table 13.1. Products and linear ops need no declaration: their
facts say what they are. All other ops follow from their derivative rule (:mod:`wengert.transforms.ad.taylor.by_rule`), which for exponentials, sines,
hyperbolic tangents, logarithms and roots gives the recurrences of that table. A declaration is for ops of which the rule repeats the op itself (a
quotient, a system) or leads to ever new ones (a power), or takes more ops than it needs. Powers, systems and factorisations have modules of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from xdsl.ir import Operation

from wengert.dialects import stablehlo as hlo
from wengert.dialects.builder import OpBuilder, Value
from wengert.ir.plugins import note_registration
from wengert.transforms.ad.rule import Tangent
from wengert.transforms.ad.taylor.series import Series, product, quotient_by, times, total

Coefficients = Callable[[OpBuilder, Any, Sequence[Series], Callable[[int], Tangent], int], Tangent]
"""(builder, the op on the primals, the operands' series, the result's coefficients of lower order, j) to the result's coefficient of order j."""

Whole = Callable[[OpBuilder, Any, Sequence[Series]], Series]
"""(builder, the op on the primals, the operands' series) to the result's series."""

RECURRENCES: dict[type[Operation], Whole] = {}


def recurrence(*ops: type[Operation]) -> Callable[[Coefficients], Coefficients]:
    """Declares the recurrence of ops, each along any path of its operands, for their first result; others do not change along it."""

    def register(rule: Coefficients) -> Coefficients:
        def whole(b: OpBuilder, op: Operation, operands: Sequence[Series]) -> Series:
            result = Series(op.results[0])

            def compute(j: int) -> Tangent:
                return rule(b, op, operands, result.at, j)

            result.compute = compute
            return result

        note_registration(rule)
        for op in ops:
            _claim(op, whole)
        return rule

    return register


def series_of(*ops: type[Operation]) -> Callable[[Whole], Whole]:
    """Declares the series of the first result of ops as a whole, for recurrences that go by series of other values; other results do not change."""

    def register(rule: Whole) -> Whole:
        note_registration(rule)
        for op in ops:
            _claim(op, rule)
        return rule

    return register


def _claim(op: type[Operation], rule: Whole) -> None:
    if op in RECURRENCES:
        raise ValueError(f"{op.name} is declared twice")
    RECURRENCES[op] = rule


@recurrence(hlo.DivideOp)
def divide(b: OpBuilder, op: Operation, operands: Sequence[Series], y: Callable[[int], Tangent], j: int) -> Tangent:
    """The quotient: ``y v = u``."""
    # y = u / v:  y_j = (u_j - sum_{i=1..j} v_i y_{j-i}) / v_0
    u, v = operands
    others = total(b, [product(b, v.at(i), y(j - i)) for i in range(1, j + 1)])
    return quotient_by(b, u.at(j), others, v.primal)


@recurrence(hlo.SqrtOp)
def sqrt(b: OpBuilder, op: Operation, operands: Sequence[Series], y: Callable[[int], Tangent], j: int) -> Tangent:
    """The root: ``y y = x``."""
    # y y = x:  y_j = (x_j - sum_{i=1..j-1} y_i y_{j-i}) / (2 y_0); each product of the sum occurs twice but for the middle one
    pairs = [(i, j - i) for i in range(1, (j + 1) // 2)]
    twice = total(b, [product(b, y(i), y(k)) for i, k in pairs])
    terms: list[Tangent] = [None if twice is None else times(b, twice, 2)]
    if j % 2 == 0:
        terms.append(product(b, y(j // 2), y(j // 2)))
    root: Value = op.results[0]
    return quotient_by(b, operands[0].at(j), total(b, terms), times(b, root, 2))
