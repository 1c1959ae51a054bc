"""The rule table: one declaration per op from which every mode of differentiation follows.

A rule is the derivative of an op as a *linear map* from the tangents of its operands to the tangents of its
results. It is a function of two stages, and this split makes reverse mode possible:

- the *coefficient* stage runs when the rule is called; it may emit any ops on primal values (``b``), and its results are
  the coefficients of the map;
- the *linear* stage runs when the returned map is applied to tangents; it emits only linear ops (``lb``), with the
  coefficients as constants.

Forward mode interleaves both. Linearization emits the two stages into different blocks, and transposition reverses the linear
ops one by one; each linear op therefore declares its transpose (``@transpose``). This is the decomposition of
Radul, Paszke, Frostig, Johnson and Maclaurin, "You Only Linearize Once" (POPL 2023).

An op is declared in one of four ways, and an op that is not declared is refused by name and place:

``@elementwise(Op)``
    one partial derivative per operand, each a scaling of that operand's tangent;
``@derivative(Op)``
    any linear map;
``linear`` and ``bilinear`` among the op's facts (:mod:`wengert.dialects.facts`)
    the op itself, applied to tangents in place of primals;
``inactive(Op, ...)``
    the derivative is zero wherever it exists.

A tangent is ``None`` where it is zero *structurally*. Such zeros are never multiplied, so that a coefficient that is
infinite or NaN on a path that does not matter cannot poison the result.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from msgspec import Struct
from xdsl.ir import Operation

from wengert.dialects.builder import OpBuilder, Value
from wengert.ir.plugins import note_registration
from wengert.ir.tensor_types import type_of

Tangent = Value | None
"""A tangent or cotangent value, or None for a structural zero."""

LinearMap = Callable[[OpBuilder, Sequence[Tangent]], Sequence[Tangent]]
"""Emits linear ops: tangents of the operands to tangents of the results."""

Partial = Callable[[OpBuilder, Value], Value]
"""One operand's share of a linear map: its tangent to (a summand of) the result's tangent."""

Rule = Callable[[OpBuilder, Operation], LinearMap]
"""Emits coefficients for an op (given with its operands and results in the new function) and returns its linear map."""

Transpose = Callable[[OpBuilder, Operation, Sequence[bool], Sequence[Tangent]], Sequence["Tangent | InPlaceAdd"]]
"""Emits the transpose of a linear op: (builder, op, which operands it is linear in, cotangents of its results) to the
cotangents of its operands (None for those that it is not linear in, or where the cotangent is structurally zero)."""

RULES: dict[type[Operation], Rule] = {}
TRANSPOSES: dict[type[Operation], Transpose] = {}
STEPS: dict[type[Operation], Callable[[Any, Any], None]] = {}
"""The forward sweep over ops with regions: (sweep, op) emits primal and linear ops and binds the results."""
TRANSPOSE_STEPS: dict[type[Operation], Callable[..., None]] = {}
"""The transposes of linear ops with regions: (builder, op, which operands are linear, y_bars, cotangents)."""
INACTIVE: set[type[Operation]] = set()
"""Ops whose results never have a tangent."""


class InPlaceAdd(Struct, frozen=True):
    """A cotangent that is added in place to the sum so far, more cheaply than by materializing it: an indexed read
    transposes to an addition in place, whose cost does not depend on the size of the operand of the read."""

    accumulate: Callable[[Value | None], Value]


def derivative(*ops: type[Operation]) -> Callable[[Callable[[OpBuilder, Any], LinearMap]], Callable[[OpBuilder, Any], LinearMap]]:
    """Declares the derivative of ops as a general linear map."""

    def register(rule: Callable[[OpBuilder, Any], LinearMap]) -> Callable[[OpBuilder, Any], LinearMap]:
        note_registration(rule)
        for op in ops:
            _claim(RULES, op)
            RULES[op] = rule
        return rule

    return register


def transpose(*ops: type[Operation]) -> Callable[[Callable[..., Sequence[Tangent | InPlaceAdd]]], Callable[..., Sequence[Tangent | InPlaceAdd]]]:
    """Declares how linear ops are transposed."""

    def register(rule: Callable[..., Sequence[Tangent | InPlaceAdd]]) -> Callable[..., Sequence[Tangent | InPlaceAdd]]:
        note_registration(rule)
        for op in ops:
            _claim(TRANSPOSES, op)
            TRANSPOSES[op] = rule
        return rule

    return register


def elementwise(*ops: type[Operation]) -> Callable[[Callable[..., Partial | tuple[Partial | None, ...]]], Callable[..., Partial | tuple[Partial | None, ...]]]:
    """Declares the partial derivatives of an elementwise op, as a function ``(b, x1, ..., xn, y)`` with ``y`` the result.

    It returns one partial per operand (the partial itself for a unary op); None for an operand whose partial is zero.
    """

    def register(partials: Callable[..., Partial | tuple[Partial | None, ...]]) -> Callable[..., Partial | tuple[Partial | None, ...]]:
        def rule(b: OpBuilder, op: Operation) -> LinearMap:
            declared = partials(b, *op.operands, op.results[0])
            return sum_of((declared,) if callable(declared) else declared)

        note_registration(partials)
        for op in ops:
            _claim(RULES, op)
            RULES[op] = rule
        return partials

    return register


def linear(*ops: type[Operation], operands: Sequence[int] | None = None) -> None:
    """Declares ops to be jointly linear in some of their operands (all that have tangents, unless given)."""

    def rule(b: OpBuilder, op: Operation) -> LinearMap:
        return same_op(op, range(len(op.operands)) if operands is None else operands)

    for op in ops:
        _claim(RULES, op)
        RULES[op] = rule


def bilinear(op: type[Operation], first: int = 0, second: int = 1) -> None:
    """Declares an op to be linear in each of two operands separately: d f(x, y) = f(dx, y) + f(x, dy)."""

    def rule(b: OpBuilder, op: Operation) -> LinearMap:
        partials: list[Partial | None] = [None] * len(op.operands)
        for position in (first, second):
            partials[position] = _replacing(op, position)
        return sum_of(partials)

    _claim(RULES, op)
    RULES[op] = rule


def inactive(*ops: type[Operation]) -> None:
    """Declares ops whose derivative is zero wherever it exists."""

    def rule(b: OpBuilder, op: Operation) -> LinearMap:
        return lambda lb, tangents: [None] * len(op.results)

    for op in ops:
        _claim(RULES, op)
        RULES[op] = rule
        INACTIVE.add(op)


def _claim(table: dict[type[Operation], Any], op: type[Operation]) -> None:
    if op in table:
        raise ValueError(f"{op.name} is declared twice")


def _replacing(op: Operation, position: int) -> Partial:
    def partial(lb: OpBuilder, x_dot: Value) -> Value:
        operands = list(op.operands)
        operands[position] = x_dot
        return lb.create(type(op), operands, [r.type for r in op.results], op.properties)[0]

    return partial


# -- linear maps


def sum_of(partials: Sequence[Partial | None]) -> LinearMap:
    """The linear map that sums the partials of all operands that have a tangent; for ops with one result."""

    def apply(lb: OpBuilder, tangents: Sequence[Tangent]) -> Sequence[Tangent]:
        total: Tangent = None
        for partial, x_dot in zip(partials, tangents, strict=True):
            if partial is not None and x_dot is not None:
                term = partial(lb, x_dot)
                total = term if total is None else lb.add(total, term)
        return [total]

    return apply


def same_op(op: Operation, linear_operands: Sequence[int]) -> LinearMap:
    """The op itself on tangents, with zeros for those tangents that are missing."""

    def apply(lb: OpBuilder, tangents: Sequence[Tangent]) -> Sequence[Tangent]:
        operands = list(op.operands)
        for position in linear_operands:
            x_dot = tangents[position]
            operands[position] = lb.zeros(type_of(operands[position])) if x_dot is None else x_dot
        return lb.create(type(op), operands, [r.type for r in op.results], op.properties)

    return apply


# -- partials

Coefficient = Value | Callable[[], Value]
"""A coefficient, or a function that emits it, which is not called for an operand without a tangent."""


def scale(coefficient: Coefficient) -> Partial:
    """Multiplication by a coefficient."""
    return lambda lb, x_dot: lb.multiply(x_dot, coefficient() if callable(coefficient) else coefficient)


def divide_by(divisor: Coefficient) -> Partial:
    """Division by a coefficient."""
    return lambda lb, x_dot: lb.divide(x_dot, divisor() if callable(divisor) else divisor)


def identity(lb: OpBuilder, x_dot: Value) -> Value:
    """The tangent itself."""
    return x_dot


def negation(lb: OpBuilder, x_dot: Value) -> Value:
    """The tangent negated."""
    return lb.negate(x_dot)


def where(pred: Value) -> Partial:
    """The tangent where a condition holds, else zero."""
    return lambda lb, x_dot: lb.select(pred, x_dot, lb.full_like(x_dot, 0))
