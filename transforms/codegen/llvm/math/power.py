"""sqrt, rsqrt, cbrt and pow.

cbrt: x = 2^(3q + s) m with s in {-1, 0, 1}; r = m^(-1/3) by a polynomial and two steps of third order, then m r^2 with one correction
from the exact residual.  pow: exp(y log x) with the logarithm as a pair that is accurate to about 2^-66 (artanh series, its first
terms in pairs); f32 takes the plain f64 logarithm.  Cases of C99 F.9.4.4.
"""

from __future__ import annotations

from wengert.transforms.codegen.llvm.math import coefficients
from wengert.transforms.codegen.llvm.math.double_double import Pair, add, divide, exact_product, multiply, quick_sum
from wengert.transforms.codegen.llvm.math.exponential import exp, exp_pair, nearest_integer
from wengert.transforms.codegen.llvm.math.expressions import Float, Mask, MathBuilder
from wengert.transforms.codegen.llvm.math.logarithm import INFINITY, NAN, decompose, log, normalise

LN2_PAIR = (0.6931471805599453, 2.3190468138462996e-17)
TWO_THIRDS_PAIR = (0.6666666666666666, 3.700743415417188e-17)


def sqrt(builder: MathBuilder, x: Float) -> Float:
    """Correctly rounded."""
    return builder.sqrt(x)


def rsqrt(builder: MathBuilder, x: Float) -> Float:
    """1 / sqrt(x): +-inf at +-0, NaN below 0."""
    return 1.0 / builder.sqrt(x)


SUBNORMAL_SHIFT = {"f32": 24.0, "f64": 54.0}  # multiples of 3 that make every subnormal number normal


def cbrt(builder: MathBuilder, x: Float) -> Float:
    """Odd; exact at zeros and infinities."""
    format = builder.format
    a = builder.abs(x)
    small = a < format.smallest_normal
    shift = SUBNORMAL_SHIFT[builder.element]
    k, m = decompose(builder, builder.select(small, a * 2.0**shift, a))
    # k = 3q + s with s in {-1, 0, 1}.
    biased, q = nearest_integer(builder, k, 1.0 / 3.0, format.bias)
    s = builder.fma(q, -3.0, k)
    m = m * builder.select(s > 0.5, 2.0, builder.select(s < -0.5, 0.5, 1.0))
    root = cbrt_fraction(builder, m)
    scale = (biased.bits() << format.mantissa).as_float() * builder.select(small, 2.0 ** (-shift / 3.0), 1.0)
    y = root * scale
    return builder.copysign(builder.select(a.equals(0.0) | a.differs(a) | a.equals(INFINITY), a, y), x)


def cbrt_fraction(builder: MathBuilder, m: Float) -> Float:
    """The cube root of m in [0.35, 2.83]."""
    r = builder.polynomial(coefficients.RCBRT, m)
    for _ in range(builder.pick(1, 2)):
        # e = 1 - m r^3; r (1 - e)^(-1/3) = r (1 + e/3 + 2 e^2/9 + ...)
        e = builder.fma(-(m * r), r * r, 1.0)
        r = builder.fma(r * e, builder.fma(e, 2.0 / 9.0, 1.0 / 3.0), r)
    y = m * r * r
    # One Newton step from the residual m - y^3, with y^2 and y^3 as pairs.
    square = exact_product(y, y)
    residual = builder.fma(-square.lo, y, builder.fma(-square.hi, y, m))
    return builder.fma(residual, r * r * (1.0 / 3.0), y)


def log_pair(builder: MathBuilder, x: Float) -> Pair:
    """The logarithm of a positive finite f64 to about 2^-66 of its value."""
    normal, offset = normalise(builder, x)
    k, m = decompose(builder, normal)
    f = m - 1.0
    # s = f / (2 + f), and log(1 + f) = 2 artanh(s) = 2s + s^3 (2/3 + z P(z)) with z = s^2.
    s = divide(Pair(f, builder.constant(0.0)), quick_sum(2.0, f))
    z = multiply(s, s)
    tail = quick_sum(TWO_THIRDS_PAIR[0], z.hi * builder.polynomial(coefficients.LOG_TAIL, z.hi))
    tail = Pair(tail.hi, tail.lo + TWO_THIRDS_PAIR[1])
    cubic = multiply(multiply(s, z), tail)
    fraction = add(Pair(s.hi * 2.0, s.lo * 2.0), cubic)
    exponent = k + offset
    whole = exact_product(exponent, LN2_PAIR[0])
    return add(Pair(whole.hi, builder.fma(exponent, LN2_PAIR[1], whole.lo)), fraction)


def pow(builder: MathBuilder, x: Float, y: Float) -> Float:
    """x^y."""
    if not builder.double:
        # The plain f64 logarithm is accurate enough: |y log x| is below 2^7 where the result is finite.
        base, exponent = builder.widen(x), builder.widen(y)
        wide = base.builder
        return builder.narrow(pow_edges(wide, base, exponent, exp(wide, exponent * log(wide, wide.abs(base)))))
    a = builder.abs(x)
    logarithm = log_pair(builder, a)
    # |y| beyond 2^65 overflows, underflows or has |x| = 1; clamping it keeps the product finite.
    bounded = builder.at_least(builder.at_most(y, 2.0**65), -(2.0**65))
    product = exact_product(bounded, logarithm.hi)
    power = exp_pair(builder, quick_sum(product.hi, builder.fma(bounded, logarithm.lo, product.lo)))
    return pow_edges(builder, x, y, power)


def pow_edges(builder: MathBuilder, x: Float, y: Float, power: Float) -> Float:
    """The value for |x| finite and not 0, turned into x^y for every pair of arguments."""
    a = builder.abs(x)
    integral = builder.floor(y).equals(y)  # infinite y counts as an even integer
    half = y * 0.5
    odd = integral & builder.floor(half).differs(half)
    # |x| = 0 or inf: 0 or inf by the sign of y.
    grows = (a > 1.0) ^ (y < 0.0)
    power = builder.select(a.equals(0.0) | a.equals(INFINITY), builder.select(grows, INFINITY, 0.0), power)
    # |y| = inf
    unbounded = builder.abs(y).equals(INFINITY)
    power = builder.select(unbounded, builder.select(a.equals(1.0), 1.0, builder.select(grows, INFINITY, 0.0)), power)
    power = builder.select(odd, builder.copysign(power, x), power)
    finite_negative = (x < 0.0) & (a < INFINITY)
    power = builder.select(without(finite_negative, integral), NAN, power)
    power = builder.select(x.is_nan() | y.is_nan(), x + y, power)
    return builder.select(x.equals(1.0) | y.equals(0.0), 1.0, power)


def without(mask: Mask, other: Mask) -> Mask:
    """mask and not other."""
    return mask & ~other
