"""Derivatives of CHLO's special functions."""

from __future__ import annotations

from functools import cache
from math import pi, sqrt

import numpy as np
from xdsl.ir import Operation

from wengert.dialects import chlo
from wengert.dialects.builder import OpBuilder, Value
from wengert.ir.tensor_types import element, is_complex
from wengert.transforms.ad.case import Arg, Case
from wengert.transforms.ad.errors import refuse
from wengert.transforms.ad.rule import LinearMap, Partial, derivative, divide_by, elementwise, identity, scale, sum_of
from wengert.transforms.core.zeta_exponent import zeta_in_exponent

Partials = tuple[Partial | None, ...]


@elementwise(chlo.SquareOp)
def square(b: OpBuilder, x: Value, y: Value) -> Partial:
    # d x^2 = 2 x dx
    return scale(b.multiply(b.full_like(x, 2), x))


@elementwise(chlo.TanOp)
def tan(b: OpBuilder, x: Value, y: Value) -> Partial:
    # d tan(x) = (1 + y^2) dx
    return scale(b.add(b.full_like(y, 1), b.multiply(y, y)))


# -- inverse trigonometric and hyperbolic functions


@elementwise(chlo.AsinOp)
def asin(b: OpBuilder, x: Value, y: Value) -> Partial:
    # d asin(x) = dx / sqrt(1 - x^2)
    return scale(b.rsqrt(b.subtract(b.full_like(x, 1), b.multiply(x, x))))


@elementwise(chlo.AcosOp)
def acos(b: OpBuilder, x: Value, y: Value) -> Partial:
    # d acos(x) = -dx / sqrt(1 - x^2)
    return scale(b.negate(b.rsqrt(b.subtract(b.full_like(x, 1), b.multiply(x, x)))))


@elementwise(chlo.AtanOp)
def atan(b: OpBuilder, x: Value, y: Value) -> Partial:
    # d atan(x) = dx / (1 + x^2)
    return divide_by(b.add(b.full_like(x, 1), b.multiply(x, x)))


@elementwise(chlo.SinhOp)
def sinh(b: OpBuilder, x: Value, y: Value) -> Partial:
    # d sinh(x) = cosh(x) dx
    return scale(b.like(chlo.CoshOp, x))


@elementwise(chlo.CoshOp)
def cosh(b: OpBuilder, x: Value, y: Value) -> Partial:
    # d cosh(x) = sinh(x) dx
    return scale(b.like(chlo.SinhOp, x))


@elementwise(chlo.AsinhOp)
def asinh(b: OpBuilder, x: Value, y: Value) -> Partial:
    # d asinh(x) = dx / sqrt(x^2 + 1)
    return scale(b.rsqrt(b.add(b.multiply(x, x), b.full_like(x, 1))))


@elementwise(chlo.AcoshOp)
def acosh(b: OpBuilder, x: Value, y: Value) -> Partial:
    # d acosh(x) = dx / sqrt((x - 1) (x + 1)); for complex x by two square roots, whose branch cuts give that of acosh
    one = b.full_like(x, 1)
    if is_complex(element(x)):
        return scale(b.multiply(b.rsqrt(b.subtract(x, one)), b.rsqrt(b.add(x, one))))
    return scale(b.rsqrt(b.subtract(b.multiply(x, x), one)))


@elementwise(chlo.AtanhOp)
def atanh(b: OpBuilder, x: Value, y: Value) -> Partial:
    # d atanh(x) = dx / (1 - x^2), as a product of factors: 1 - x^2 would lose digits near 1
    one = b.full_like(x, 1)
    return divide_by(b.multiply(b.subtract(one, x), b.add(one, x)))


# -- error function


@elementwise(chlo.ErfOp)
def erf(b: OpBuilder, x: Value, y: Value) -> Partial:
    # d erf(x) = 2/sqrt(pi) exp(-x^2) dx
    return scale(b.multiply(b.full_like(x, 2 / sqrt(pi)), _gaussian(b, x)))


@elementwise(chlo.ErfcOp)
def erfc(b: OpBuilder, x: Value, y: Value) -> Partial:
    # d erfc(x) = -2/sqrt(pi) exp(-x^2) dx
    return scale(b.multiply(b.full_like(x, -2 / sqrt(pi)), _gaussian(b, x)))


@elementwise(chlo.ErfInvOp)
def erf_inv(b: OpBuilder, x: Value, y: Value) -> Partial:
    # d erf_inv(x) = sqrt(pi)/2 exp(y^2) dx
    return scale(b.multiply(b.full_like(x, sqrt(pi) / 2), b.exponential(b.multiply(y, y))))


def _gaussian(b: OpBuilder, x: Value) -> Value:
    return b.exponential(b.negate(b.multiply(x, x)))


# -- gamma and its relatives


@elementwise(chlo.LgammaOp)
def lgamma(b: OpBuilder, x: Value, y: Value) -> Partial:
    # d lgamma(x) = digamma(x) dx
    return scale(b.like(chlo.DigammaOp, x))


@elementwise(chlo.DigammaOp)
def digamma(b: OpBuilder, x: Value, y: Value) -> Partial:
    # d digamma(x) = polygamma(1, x) dx
    return scale(b.like(chlo.PolygammaOp, b.full_like(x, 1), x))


@derivative(chlo.PolygammaOp)
def polygamma(b: OpBuilder, op: chlo.PolygammaOp) -> LinearMap:
    # d polygamma(n, x) = polygamma(n + 1, x) dx; the order n is not a variable
    following = b.add(op.lhs, b.full_like(op.lhs, 1))

    def in_order(lb: OpBuilder, n_dot: Value) -> Value:
        raise refuse(op, "has no derivative in its order")

    return sum_of([in_order, scale(lambda: b.like(chlo.PolygammaOp, following, op.rhs))])


@derivative(chlo.ZetaOp)
def zeta(b: OpBuilder, op: chlo.ZetaOp) -> LinearMap:
    # d zeta(s, q) = zeta'(s, q) ds - s zeta(s + 1, q) dq, where zeta' is the sum of -log(q + k) (q + k)^-s
    s, q = op.lhs, op.rhs
    following = b.add(s, b.full_like(s, 1))
    return sum_of([scale(lambda: zeta_in_exponent(b, s, q)), scale(lambda: b.negate(b.multiply(s, b.like(chlo.ZetaOp, following, q))))])


@elementwise(chlo.BesselI1eOp)
def bessel_i1e(b: OpBuilder, x: Value, y: Value) -> Partial:
    # d i1e(x) = (i0e(x) - y (sign(x) + 1/x)) dx, and dx/2 at 0
    at_zero = b.compare("EQ", x, b.full_like(x, 0))
    safe = b.select(at_zero, b.full_like(x, 1), x)
    slope = b.subtract(bessel_i0e(b, x), b.multiply(y, b.add(b.sign(safe), b.divide(b.full_like(x, 1), safe))))
    return scale(b.select(at_zero, b.full_like(x, 0.5), slope))


def bessel_i0e(b: OpBuilder, x: Value) -> Value:
    """exp(-|x|) I0(x), for which CHLO has no op: one Chebyshev series up to 8 and one in 1/|x| beyond."""
    near, far = _i0e_series()
    size, eight = b.abs(x), b.full_like(x, 8)
    small = b.compare("LE", size, eight)
    large = b.select(small, eight, size)
    in_near = b.subtract(b.multiply(size, b.full_like(x, 0.25)), b.full_like(x, 1))
    in_far = b.subtract(b.divide(b.full_like(x, 16), large), b.full_like(x, 1))
    return b.select(small, _clenshaw(b, near, in_near), b.multiply(_clenshaw(b, far, in_far), b.rsqrt(large)))


@cache
def _i0e_series() -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Chebyshev coefficients of i0e on [0, 8], and of sqrt(x) i0e(x) in 8/x on [8, inf], interpolated to f64's precision."""
    from numpy.polynomial import chebyshev  # here, because most programs never need them
    from scipy.special import i0e

    near = chebyshev.chebinterpolate(lambda t: i0e(4 * (t + 1)), 30)
    far = chebyshev.chebinterpolate(lambda t: np.sqrt(16 / (t + 1)) * i0e(16 / (t + 1)), 25)
    return tuple(map(float, near)), tuple(map(float, far))


def _clenshaw(b: OpBuilder, coefficients: tuple[float, ...], t: Value) -> Value:
    """A Chebyshev series at t by Clenshaw's recurrence."""
    twice = b.multiply(b.full_like(t, 2), t)
    ahead, beyond = b.full_like(t, coefficients[-1]), b.full_like(t, 0)
    for c in reversed(coefficients[1:-1]):
        ahead, beyond = b.add(b.subtract(b.multiply(twice, ahead), beyond), b.full_like(t, c)), ahead
    return b.add(b.subtract(b.multiply(t, ahead), beyond), b.full_like(t, coefficients[0]))


@elementwise(chlo.NextAfterOp)
def next_after(b: OpBuilder, x: Value, direction: Value, y: Value) -> Partials:
    # a step of one unit in the last place: d = dx, and the direction does not matter
    return identity, None


def _unary(op: type[Operation], low: float, high: float, complex: bool = False) -> Case:
    return Case(f"{op.name}{' of complex' if complex else ''}", lambda b, x: b.like(op, x), (Arg((3,), low, high, complex),))


CASES = [
    _unary(chlo.SquareOp, -2, 2),
    _unary(chlo.SquareOp, -2, 2, True),
    _unary(chlo.ConjOp, -2, 2, True),
    _unary(chlo.TanOp, -1.2, 1.2),
    _unary(chlo.AsinOp, -0.9, 0.9),
    _unary(chlo.AcosOp, -0.9, 0.9),
    _unary(chlo.AtanOp, -3, 3),
    _unary(chlo.SinhOp, -2, 2),
    _unary(chlo.CoshOp, -2, 2),
    _unary(chlo.AsinhOp, -3, 3),
    _unary(chlo.AcoshOp, 1.2, 4),
    _unary(chlo.AtanhOp, -0.9, 0.9),
    _unary(chlo.ErfOp, -2, 2),
    _unary(chlo.ErfcOp, -2, 2),
    _unary(chlo.ErfInvOp, -0.8, 0.8),
    _unary(chlo.LgammaOp, 0.3, 4),
    _unary(chlo.DigammaOp, 0.3, 4),
    _unary(chlo.BesselI1eOp, -12, 12),
    Case("next after", lambda b, x, y: b.like(chlo.NextAfterOp, x, y), (Arg((3,)), Arg((3,), 2, 3))),
    Case("polygamma", lambda b, x: b.like(chlo.PolygammaOp, b.full_like(x, 2), x), (Arg((3,), 0.5, 4),)),
    Case("zeta", lambda b, q: b.like(chlo.ZetaOp, b.full_like(q, 2.5), q), (Arg((3,), 0.5, 4),)),
    Case("zeta in both", lambda b, s, q: b.like(chlo.ZetaOp, s, q), (Arg((3,), 1.5, 6), Arg((3,), 0.5, 4))),
]
