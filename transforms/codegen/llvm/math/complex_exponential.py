"""exp, expm1, logistic, and the hyperbolic and circular functions of complex numbers.

e^x is a fraction times two powers of two, which a sine or cosine comes between: so a product is finite wherever it should be. The hyperbolic tangent
is Kahan's ("Branch Cuts for Complex Elementary Functions", 1987). Limits are those of C99, annex G; signs that it leaves open are those of the
arguments. Each part of a result is right by itself, but for expm1, whose real part is a difference that may cancel, and logistic near
its zeros.
"""

from __future__ import annotations

import math

from wengert.transforms.codegen.llvm.math import trigonometric
from wengert.transforms.codegen.llvm.math.complex_arithmetic import Complex
from wengert.transforms.codegen.llvm.math.exponential import RANGE, Scale, exp_fraction, expm1_pair, reduce
from wengert.transforms.codegen.llvm.math.exponential import exp as real_exp
from wengert.transforms.codegen.llvm.math.exponential import expm1 as real_expm1
from wengert.transforms.codegen.llvm.math.expressions import Float, MathBuilder
from wengert.transforms.codegen.llvm.math.hyperbolic import sinh as real_sinh
from wengert.transforms.codegen.llvm.math.logarithm import INFINITY

FAR = 40.0
"""From here on e^-x is nothing beside e^x."""


class Scaled(Scale, frozen=True):
    """e^x, with what may overflow or underflow apart."""

    raised: Float
    """The fraction times 2^lift, which makes a normal number of its product with any sine, however small."""

    def times(self, y: Float) -> Float:
        """y e^x for |y| <= 1: all digits of the product first, its magnitude and the rounding of a subnormal result at the end."""
        return ((y * self.raised) * self.half) * self.rest


def scaled_exp(builder: MathBuilder, x: Float) -> Scaled:
    """e^x for all x. From ``highest`` on it stays what it is there: even half of its product with the least subnormal number overflows."""
    bias, lift = builder.format.bias, 2 * (builder.format.mantissa // 2 + 1)
    low, highest = RANGE[builder.element][0], (2 * bias + lift) * math.log(2) + 0.1  # rounded to this n, the largest there is
    x = builder.select(x < low, -(2 * bias - lift) * math.log(2), builder.at_most(x, highest))  # of 2^n two zeros are left, see `vanishing`
    r, scale = reduce(builder, x, lift)
    return Scaled(scale.half, scale.rest, exp_fraction(builder, r) * 2.0**lift)


def circle(builder: MathBuilder, y: Float) -> tuple[Float, Float]:
    """(cos y, sin y)"""
    angle = trigonometric.reduce(builder, y)
    s = trigonometric.sine_of(builder, angle)
    return trigonometric.cosine_of(builder, angle), builder.select(builder.abs(y) < trigonometric.tiny(builder), y, s)


def exp(builder: MathBuilder, z: Complex) -> Complex:
    """e^x (cos y + i sin y)."""
    c, s = circle(builder, z.im)
    size = scaled_exp(builder, z.re)
    re, im = size.times(c), size.times(s)
    # e^inf is larger than every sine is small; e^-inf is nothing wherever it points
    rises, falls, wild = z.re.equals(INFINITY), z.re.equals(-INFINITY), c.is_nan()
    re = builder.select(rises, builder.select(wild, INFINITY, c * INFINITY), re)
    im = builder.select(rises, s * INFINITY, im)
    nothing = falls & wild
    re = builder.select(nothing, 0.0, re)
    im = builder.select(nothing, builder.copysign(0.0, z.im), im)
    return Complex(re, builder.select(z.im.equals(0.0), z.im, im))


def expm1(builder: MathBuilder, z: Complex) -> Complex:
    """expm1(x) cos y - 2 sin^2(y / 2) + i e^x sin y."""
    whole = exp(builder, z)
    c, _ = circle(builder, z.im)
    _, half = circle(builder, z.im * 0.5)
    near = builder.multiply_add(real_expm1(builder, z.re), c, half * half * -2.0)
    return Complex(builder.select(builder.abs(z.re) > FAR, whole.re - 1.0, near), whole.im)


def logistic(builder: MathBuilder, z: Complex) -> Complex:
    """1 / (1 + exp(-z)), where |1 + exp(-z)|^2 = m^2 + 4 e c^2 with e = exp(-|x|), m = 1 - e and c = cos(y / 2)."""
    t = builder.abs(z.re)
    far = t.equals(INFINITY)
    y = builder.select(far, builder.copysign(0.0, z.im), z.im)
    e, m = real_exp(builder, -t), -real_expm1(builder, -t)
    half, _ = circle(builder, y * 0.5)
    _, s = circle(builder, y)
    double = half * half * 2.0
    below = builder.multiply_add(m, m, e * double * 2.0)
    right = z.re >= 0.0
    upper = builder.select(right, builder.multiply_add(e, double, m), e * (double - m))
    im = builder.select(y.equals(0.0), y, e * s / below)
    return Complex(upper / below, builder.select(far, y, im))


def _hyperbolic(builder: MathBuilder, z: Complex) -> tuple[Float, Float, Float, Float]:
    """(cosh x cos y, sinh |x| sin y, sinh |x| cos y, cosh x sin y), the last without the sign of x."""
    c, s = circle(builder, z.im)
    a = builder.abs(z.re)
    far = a > FAR
    t = expm1_pair(builder, builder.at_most(a, FAR)).hi
    inverse = 1.0 / (t + 1.0)
    sinh, cosh = (t + t * inverse) * 0.5, ((t + 1.0) + inverse) * 0.5
    size = scaled_exp(builder, a)
    half = Scaled(size.half * 0.5, size.rest, size.raised)
    endless = a.equals(INFINITY)
    along, across = (builder.select(endless, trig * INFINITY, half.times(trig)) for trig in (c, s))
    return (
        builder.select(far, along, cosh * c),
        builder.select(far, across, sinh * s),
        builder.select(far, along, sinh * c),
        builder.select(far, across, cosh * s),
    )


def sinh(builder: MathBuilder, z: Complex) -> Complex:
    """sinh x cos y + i cosh x sin y; infinite and NaN for an infinite x beside an y that is not finite."""
    x, y = z.re, z.im
    _, _, re, im = _hyperbolic(builder, z)
    sign = builder.copysign(builder.constant(1.0), x)
    straight, wild = y.equals(0.0), (y - y).is_nan()
    re = builder.select(wild, builder.select(builder.abs(x).equals(INFINITY), INFINITY, re), re * sign)
    re = builder.select(straight, real_sinh(builder, x), builder.select(wild & x.equals(0.0), x, re))
    return Complex(re, builder.select(straight, y, im))


def cosh(builder: MathBuilder, z: Complex) -> Complex:
    """cosh x cos y + i sinh x sin y; infinite and NaN for an infinite x beside an y that is not finite."""
    x, y = z.re, z.im
    re, im, _, _ = _hyperbolic(builder, z)
    sign = builder.copysign(builder.constant(1.0), x)
    wild = (y - y).is_nan()
    re = builder.select(wild & builder.abs(x).equals(INFINITY), INFINITY, re)
    im = builder.select(y.equals(0.0), y, im) * builder.select(x.is_nan(), 1.0, sign)
    return Complex(re, builder.select(wild & x.equals(0.0), 0.0, im))


def sine(builder: MathBuilder, z: Complex) -> Complex:
    """sin z = -i sinh(iz), which is i sinh(-iz)."""
    w = sinh(builder, Complex(z.im, -z.re))
    return Complex(-w.im, w.re)


def cosine(builder: MathBuilder, z: Complex) -> Complex:
    """cos z = cosh iz."""
    return cosh(builder, Complex(-z.im, z.re))


def tanh(builder: MathBuilder, z: Complex) -> Complex:
    """With t = tan y, s = sinh x and B = 1 + t^2: (B s sqrt(1 + s^2) + i t) / (1 + B s^2); far out +-1 + 4i sin y cos y exp(-2 |x|)."""
    x, y = z.re, z.im
    t, s = trigonometric.tan(builder, y), real_sinh(builder, x)
    steep, square = builder.multiply_add(t, t, 1.0), s * s
    below = builder.multiply_add(steep, square, 1.0)
    far = builder.abs(x) > 0.35 * (builder.format.mantissa + 1) + 1.0
    tail = t / steep * 4.0 * real_exp(builder, builder.abs(x) * -2.0)
    re, im = builder.copysign(builder.constant(1.0), x), builder.select(far, tail, t / below)
    unbounded = builder.abs(x).equals(INFINITY)
    wild = t.is_nan() & (builder.abs(x) < INFINITY)
    re = builder.select(wild, re + (t - t), re)
    re = builder.select(far, re, steep * s * builder.sqrt(square + 1.0) / below)
    im = builder.select(unbounded, builder.copysign(0.0, builder.select(im.is_nan(), y, im)), im)
    return Complex(builder.select(x.equals(0.0), x, re), builder.select(y.equals(0.0), y, im))


def tan(builder: MathBuilder, z: Complex) -> Complex:
    """tan z = -i tanh iz."""
    w = tanh(builder, Complex(-z.im, z.re))
    return Complex(w.im, -w.re)
