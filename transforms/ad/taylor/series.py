"""The Taylor coefficients of a value along a path: ``x(t) = x_0 + x_1 t + x_2 t^2 + ...``; each is emitted when it is asked for."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from wengert.dialects.builder import OpBuilder, Value
from wengert.transforms.ad.rule import Tangent

Compute = Callable[[int], Tangent]


class Series:
    """The coefficients of one value, x_0 first. Those that are zero whatever the point is are None, except for x_0.

    Args:
        primal: x_0.
        compute: emits x_j for j = 1, 2, ... in order; None for a value that does not change along the path.
    """

    def __init__(self, primal: Value, compute: Compute | None = None):
        self.primal = primal
        self.compute = compute
        self._known: list[Tangent] = [primal]

    @property
    def is_constant(self) -> bool:
        """Whether the value does not change along the path."""
        return self.compute is None

    def at(self, j: int) -> Tangent:
        """The coefficient x_j."""
        if self.compute is None:
            return self.primal if j == 0 else None
        while len(self._known) <= j:
            self._known.append(self.compute(len(self._known)))
        return self._known[j]


def given(primal: Value, coefficients: Sequence[Tangent]) -> Series:
    """A series of which x_1, x_2, ... are there already; what comes behind them is zero."""
    if all(x is None for x in coefficients):
        return Series(primal)
    return Series(primal, lambda j: coefficients[j - 1] if j <= len(coefficients) else None)


def times(b: OpBuilder, x: Value, factor: float) -> Value:
    """The value times a number."""
    return x if factor == 1 else b.multiply(x, b.full_like(x, factor))


def total(b: OpBuilder, terms: Sequence[Tangent]) -> Tangent:
    """The sum of the terms that are there."""
    result: Tangent = None
    for term in terms:
        if term is not None:
            result = term if result is None else b.add(result, term)
    return result


def product(b: OpBuilder, x: Tangent, y: Tangent) -> Tangent:
    """The product of two coefficients, elementwise."""
    return None if x is None or y is None else b.multiply(x, y)


def product_of(b: OpBuilder, x: Series, y: Series, primal: Value | None = None) -> Series:
    """The series of an elementwise product; ``primal`` is its value where that is there already."""
    made = b.multiply(x.primal, y.primal) if primal is None else primal
    return Series(made, lambda j: total(b, [product(b, x.at(i), y.at(j - i)) for i in range(j + 1)]))


def quotient_by(b: OpBuilder, top: Tangent, others: Tangent, divisor: Value) -> Tangent:
    """``(top - others) / divisor``."""
    if others is not None:
        top = b.negate(others) if top is None else b.subtract(top, others)
    return None if top is None else b.divide(top, divisor)
