"""lgamma (log |Gamma|), digamma and trigamma; f32 goes through f64.

lgamma, x > 0: lgamma(1 + s) = s P(s) and lgamma(2 + t) = t Q(t) keep the relative accuracy around the zeros 1 and 2; the recurrence
moves other x into [3/2, 5/2]; from 8 on Stirling's series.  digamma, x > 0: (x - x0) D(x - 3/2) on [1, 2] around its zero x0, a polynomial
on [2, 3], the recurrence between, and the asymptotic series from 10 on.  trigamma, x > 0: the first terms of sum 1/(x + k)^2, then the
asymptotic series.  Negative arguments use the reflection formulas; their relative accuracy is lost near the zeros there, the
absolute is not.  Source of the formulas: NIST DLMF 5.5, 5.11, 5.15.
"""

from __future__ import annotations

from wengert.transforms.codegen.llvm.math import coefficients
from wengert.transforms.codegen.llvm.math.expressions import Float, MathBuilder
from wengert.transforms.codegen.llvm.math.logarithm import INFINITY, NAN, log
from wengert.transforms.codegen.llvm.math.trigonometric import reduce_turns, sine_of, tangent_of

LOG_PI = 1.1447298858494002
PI = 3.141592653589793
# (log(2 pi) - 1) / 2
STIRLING_CONSTANT = 0.4189385332046727
DIGAMMA_ZERO = (1.4616321449683622, 9.549995429965697e-17)
# B(2k) / (2k (2k - 1))
STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156, -3617 / 122400)
# B(2k) / (2k)
DIGAMMA_SERIES = (1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132, -691 / 32760, 1 / 12, -3617 / 8160)
# B(2k)
TRIGAMMA_SERIES = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510)


def lgamma(builder: MathBuilder, x: Float) -> Float:
    """log |Gamma(x)|; +inf at 0, at the negative integers and at +-inf."""
    if not builder.double:
        wide = builder.widen(x)
        return builder.narrow(lgamma(wide.builder, wide))
    a = builder.abs(x)
    positive = lgamma_positive(builder, a)
    # |Gamma(x)| = pi / (|x sin(pi x)| Gamma(|x|)) for x < 0
    sine = builder.abs(sine_of(builder, reduce_turns(builder, in_turn(builder, a))))
    reflected = builder.select(a < 2.0**-200, positive, LOG_PI - log(builder, a * sine) - positive)
    integer = builder.floor(x).equals(x)
    y = builder.select(x < 0.0, builder.select(integer, INFINITY, reflected), positive)
    return builder.select(a.equals(INFINITY), INFINITY, y)


def lgamma_positive(builder: MathBuilder, x: Float) -> Float:
    """log Gamma(x) for x >= 0."""
    large = x >= 8.0
    below_half, shifted = x < 0.5, x <= 1.25
    # Downwards: Gamma(x) = (x - 1) (x - 2) ... Gamma(2 + t); upwards: Gamma(2 + t) = x or x (x + 1) times Gamma(x).
    product = builder.constant(1.0)
    t = x - 2.0
    for _ in range(6):
        high = (t > 0.5) & ~large
        product = builder.select(high, product * (t + 1.0), product)
        t = builder.select(high, t - 1.0, t)
    t = builder.select(below_half, x, builder.select(shifted, x - 1.0, t))
    product = builder.select(below_half, x * (x + 1.0), builder.select(shifted, x, product))
    logarithm = log(builder, builder.select(large, x, product))
    small = t * builder.horner(coefficients.LGAMMA_AT_TWO, t)
    small = small + builder.select(shifted, -logarithm, logarithm)
    from_one = x - 1.0
    small = builder.select(builder.abs(from_one) <= 0.25, builder.fma(from_one, builder.horner(coefficients.LGAMMA_AT_ONE, from_one), 0.0), small)
    inverse = 1.0 / x
    series = inverse * builder.polynomial(STIRLING, inverse * inverse)
    # (x - 1/2) (log x - 1) + (log(2 pi) - 1)/2 + 1/(12 x) - ...
    stirling = builder.fma(x - 0.5, logarithm - 1.0, series + STIRLING_CONSTANT)
    return builder.select(large, stirling, small)


def in_turn(builder: MathBuilder, x: Float) -> Float:
    """x modulo 2 in [0, 2), exact for x >= 0."""
    return builder.fma(builder.floor(x * 0.5), -2.0, x)


def digamma(builder: MathBuilder, x: Float) -> Float:
    """The derivative of lgamma; NaN at its poles 0, -1, -2, ... (as CHLO has it) and at -inf."""
    if not builder.double:
        wide = builder.widen(x)
        return builder.narrow(digamma(wide.builder, wide))
    negative = x < 0.0
    positive = digamma_positive(builder, builder.select(negative, 1.0 - x, x))
    # digamma(x) = digamma(1 - x) - pi / tan(pi x)
    tangent = tangent_of(builder, reduce_turns(builder, in_turn(builder, -x)))
    y = builder.select(negative, positive + PI / tangent, positive)
    pole = (x <= 0.0) & builder.floor(x).equals(x)
    return builder.select(pole, NAN, y)


def digamma_positive(builder: MathBuilder, x: Float) -> Float:
    """digamma(x) for x > 0."""
    large = x >= 10.0
    # sum of 1/(x - i) as one fraction, until 2 < y <= 3
    numerator, denominator = builder.constant(0.0), builder.constant(1.0)
    y = x
    for _ in range(7):
        high = (y > 3.0) & ~large
        below = y - 1.0
        numerator = builder.select(high, builder.fma(numerator, below, denominator), numerator)
        denominator = builder.select(high, denominator * below, denominator)
        y = builder.select(high, below, y)
    low = x <= 2.0
    shifted = x < 1.0
    near = builder.select(shifted, x, x - 1.0)  # y - 1 in [0, 1], exact
    offset = (near - (DIGAMMA_ZERO[0] - 1.0)) - DIGAMMA_ZERO[1]
    base_low = offset * builder.horner(coefficients.DIGAMMA_AT_ZERO, near - 0.5)
    base_high = builder.horner(coefficients.DIGAMMA_TWO_TO_THREE, y - 2.5)
    numerator = builder.select(low, builder.select(shifted, -1.0, 0.0), numerator)
    denominator = builder.select(shifted, x, denominator)
    small = builder.select(low, base_low, base_high) + numerator / denominator
    inverse = 1.0 / x
    square = inverse * inverse
    series = builder.fma(square, builder.polynomial(DIGAMMA_SERIES, square), inverse * 0.5)
    return builder.select(large, log(builder, x) - series, small)


def trigamma(builder: MathBuilder, x: Float) -> Float:
    """The derivative of digamma; +inf at its poles 0, -1, -2, ..."""
    if not builder.double:
        wide = builder.widen(x)
        return builder.narrow(trigamma(wide.builder, wide))
    negative = x < 0.0
    positive = trigamma_positive(builder, builder.select(negative, 1.0 - x, x))
    # trigamma(x) = pi^2 / sin^2(pi x) - trigamma(1 - x)
    sine = sine_of(builder, reduce_turns(builder, in_turn(builder, -x)))
    y = builder.select(negative, PI**2 / (sine * sine) - positive, positive)
    pole = (x <= 0.0) & builder.floor(x).equals(x)
    return builder.select(pole, INFINITY, y)


def trigamma_positive(builder: MathBuilder, x: Float) -> Float:
    """trigamma(x) for x > 0."""
    terms, y = list[Float](), x
    for _ in range(10):
        small = y < 10.0
        terms.append(builder.select(small, 1.0 / (y * y), 0.0))
        y = builder.select(small, y + 1.0, y)
    inverse = 1.0 / y
    square = inverse * inverse
    # 1/y + 1/(2 y^2) + B(2)/y^3 + B(4)/y^5 + ...
    series = builder.fma(square * inverse, builder.polynomial(TRIGAMMA_SERIES, square), square * 0.5)
    total = series + inverse
    for term in reversed(terms):  # from the least to the largest
        total = total + term
    return total
