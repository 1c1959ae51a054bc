"""Unevaluated sums hi + lo of two floats, for the steps where one rounding would be seen in the result.

Algorithms: T. J. Dekker, Numer. Math. 18 (1971); D. E. Knuth, TAOCP 2, 4.2.2; products by fused multiply-add.
"""

from __future__ import annotations

from msgspec import Struct

from wengert.transforms.codegen.llvm.math.expressions import Float, MathBuilder, Operand


class Pair(Struct, frozen=True):
    """hi + lo with |lo| <= ulp(hi)/2."""

    hi: Float
    lo: Float


def split(value: tuple[float, float], builder: MathBuilder) -> Pair:
    """A constant as a pair."""
    return Pair(builder.constant(value[0]), builder.constant(value[1]))


def quick_sum(a: Operand, b: Float) -> Pair:
    """a + b exactly, if |a| >= |b| or a = 0."""
    total = b + a
    return Pair(total, b - (total - a))


def exact_sum(a: Float, b: Float) -> Pair:
    """a + b exactly."""
    total = a + b
    part = total - a
    return Pair(total, (a - (total - part)) + (b - part))


def exact_product(a: Float, b: Operand) -> Pair:
    """a * b exactly (unless the low part underflows)."""
    product = a * b
    return Pair(product, a.builder.fma(a, b, -product))


def add(a: Pair, b: Pair) -> Pair:
    """The sum of pairs, to about 2^-104 relative to |a| + |b|."""
    total = exact_sum(a.hi, b.hi)
    return quick_sum(total.hi, total.lo + (a.lo + b.lo))


def multiply(a: Pair, b: Pair) -> Pair:
    """The product of pairs."""
    builder = a.hi.builder
    product = exact_product(a.hi, b.hi)
    return quick_sum(product.hi, builder.fma(a.lo, b.hi, builder.fma(a.hi, b.lo, product.lo)))


def divide(a: Pair, b: Pair) -> Pair:
    """The quotient of pairs: one division and a correction by the remainder."""
    builder = a.hi.builder
    reciprocal = 1.0 / b.hi
    quotient = a.hi * reciprocal
    remainder = builder.fma(-quotient, b.hi, a.hi) + builder.fma(-quotient, b.lo, a.lo)
    return quick_sum(quotient, remainder * reciprocal)
