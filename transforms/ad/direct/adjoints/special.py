"""Adjoints of CHLO's special functions."""

from __future__ import annotations

from collections.abc import Sequence
from math import pi, sqrt

from wengert.dialects import chlo
from wengert.dialects.builder import OpBuilder, Value
from wengert.ir.tensor_types import element, is_complex
from wengert.transforms.ad.direct.adjoint import Bars, Both, adjoint, binary, unary
from wengert.transforms.ad.errors import refuse
from wengert.transforms.ad.rules.special import bessel_i0e
from wengert.transforms.core.zeta_exponent import zeta_in_exponent


@unary(chlo.SquareOp)
def square(b: OpBuilder, x: Value, y: Value, y_bar: Value) -> Value:
    return b.multiply(y_bar, b.add(x, x))


# -- inverse trigonometric and hyperbolic functions


@unary(chlo.AsinOp)
def asin(b: OpBuilder, x: Value, y: Value, y_bar: Value) -> Value:
    # sin y = x, so cos y dy = dx with cos y = sqrt(1 - x^2)
    return b.multiply(y_bar, b.rsqrt(b.subtract(b.full_like(x, 1), b.multiply(x, x))))


@unary(chlo.AcosOp)
def acos(b: OpBuilder, x: Value, y: Value, y_bar: Value) -> Value:
    # cos y = x, so -sin y dy = dx
    return b.negate(b.multiply(y_bar, b.rsqrt(b.subtract(b.full_like(x, 1), b.multiply(x, x)))))


@unary(chlo.AtanOp)
def atan(b: OpBuilder, x: Value, y: Value, y_bar: Value) -> Value:
    return b.divide(y_bar, b.add(b.multiply(x, x), b.full_like(x, 1)))


@unary(chlo.SinhOp)
def sinh(b: OpBuilder, x: Value, y: Value, y_bar: Value) -> Value:
    return b.multiply(y_bar, b.like(chlo.CoshOp, x))


@unary(chlo.CoshOp)
def cosh(b: OpBuilder, x: Value, y: Value, y_bar: Value) -> Value:
    return b.multiply(y_bar, b.like(chlo.SinhOp, x))


@unary(chlo.AsinhOp)
def asinh(b: OpBuilder, x: Value, y: Value, y_bar: Value) -> Value:
    # sinh y = x, so cosh y dy = dx with cosh y = sqrt(1 + x^2)
    return b.multiply(y_bar, b.rsqrt(b.add(b.full_like(x, 1), b.multiply(x, x))))


@unary(chlo.AcoshOp)
def acosh(b: OpBuilder, x: Value, y: Value, y_bar: Value) -> Value:
    # cosh y = x, so sinh y dy = dx with sinh y = sqrt(x - 1) sqrt(x + 1), whose branch cuts give that of y
    minus, plus = b.subtract(x, b.full_like(x, 1)), b.add(x, b.full_like(x, 1))
    if is_complex(element(x)):
        return b.multiply(b.multiply(y_bar, b.rsqrt(minus)), b.rsqrt(plus))
    return b.multiply(y_bar, b.rsqrt(b.multiply(minus, plus)))


@unary(chlo.AtanhOp)
def atanh(b: OpBuilder, x: Value, y: Value, y_bar: Value) -> Value:
    # dx / ((1 - x) (1 + x)): unlike 1 - x^2, the product is accurate near 1
    one = b.full_like(x, 1)
    return b.divide(y_bar, b.multiply(b.subtract(one, x), b.add(one, x)))


# -- error function


def _bell(b: OpBuilder, x: Value, y_bar: Value, scale: float) -> Value:
    return b.multiply(b.multiply(y_bar, b.full_like(x, scale)), b.exponential(b.negate(b.multiply(x, x))))


@unary(chlo.ErfOp)
def erf(b: OpBuilder, x: Value, y: Value, y_bar: Value) -> Value:
    return _bell(b, x, y_bar, 2 / sqrt(pi))


@unary(chlo.ErfcOp)
def erfc(b: OpBuilder, x: Value, y: Value, y_bar: Value) -> Value:
    return _bell(b, x, y_bar, -2 / sqrt(pi))


@unary(chlo.ErfInvOp)
def erf_inv(b: OpBuilder, x: Value, y: Value, y_bar: Value) -> Value:
    # erf y = x
    return b.multiply(b.multiply(y_bar, b.full_like(x, sqrt(pi) / 2)), b.exponential(b.multiply(y, y)))


# -- gamma and its relatives


@unary(chlo.LgammaOp)
def lgamma(b: OpBuilder, x: Value, y: Value, y_bar: Value) -> Value:
    return b.multiply(y_bar, b.like(chlo.DigammaOp, x))


@unary(chlo.DigammaOp)
def digamma(b: OpBuilder, x: Value, y: Value, y_bar: Value) -> Value:
    return b.multiply(y_bar, b.like(chlo.PolygammaOp, b.full_like(x, 1), x))


@adjoint(chlo.PolygammaOp)
def polygamma(b: OpBuilder, op: chlo.PolygammaOp, y_bars: Sequence[Value], needed: Sequence[bool]) -> Bars:
    # in x, the polygamma function of the next order
    if needed[0]:
        raise refuse(op, "has no derivative in its order")
    order = b.add(op.lhs, b.full_like(op.lhs, 1))
    return [None, b.multiply(y_bars[0], b.like(chlo.PolygammaOp, order, op.rhs))]


@adjoint(chlo.ZetaOp)
def zeta(b: OpBuilder, op: chlo.ZetaOp, y_bars: Sequence[Value], needed: Sequence[bool]) -> Bars:
    # sum of (q + k)^-s: in s, with the factor -log(q + k) to each term; in q, -s times the sum of (q + k)^-(s + 1)
    in_exponent = b.multiply(y_bars[0], zeta_in_exponent(b, op.lhs, op.rhs)) if needed[0] else None
    if not needed[1]:
        return [in_exponent, None]
    following = b.like(chlo.ZetaOp, b.add(op.lhs, b.full_like(op.lhs, 1)), op.rhs)
    return [in_exponent, b.negate(b.multiply(b.multiply(y_bars[0], op.lhs), following))]


@unary(chlo.BesselI1eOp)
def bessel_i1e(b: OpBuilder, x: Value, y: Value, y_bar: Value) -> Value:
    # I1' = I0 - I1 / x, scaled by exp(-|x|); the limit at 0 is 1/2
    at_zero = b.compare("EQ", x, b.full_like(x, 0))
    safe = b.select(at_zero, b.full_like(x, 1), x)
    slope = b.subtract(b.subtract(bessel_i0e(b, x), b.divide(y, safe)), b.multiply(y, b.sign(x)))
    return b.multiply(y_bar, b.select(at_zero, b.full_like(x, 0.5), slope))


@binary(chlo.NextAfterOp)
def next_after(b: OpBuilder, x1: Value, x2: Value, y: Value, y_bar: Value) -> Both:
    return lambda: y_bar, lambda: None
