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
from wengert.transforms.codegen.llvm.math.exponential import RANGE, Scale, exp_fraction, expm1_pair, reduce, vanishing
from wengert.transforms.codegen.llvm.math.exponential import exp as real_exp
from wengert.transforms.codegen.llvm.math.exponential import expm1 as real_expm1
from wengert.transforms.codegen.llvm.math.hyperbolic import sinh as real_sinh
from wengert.transforms.codegen.llvm.math.logarithm import INFINITY
from wengert.transforms.codegen.llvm.math.vector import Code, Float

FAR = 40.0
"""From here on e^-x is nothing beside e^x."""


class Scaled(Scale, frozen=True):
    """e^x, with what may overflow or underflow apart."""

    fraction: Float

    def times(self, y: Float) -> Float:
        """y e^x for |y| <= 1: the greater powers first, the rounding at the end."""
        return ((y * self.half) * self.fraction) * self.rest


def scaled_exp(code: Code, x: Float) -> Scaled:
    """e^x for all x; beyond twice the range, where every product with a sine overflows, it stays what it is there (see `unbounded`)."""
    low, high = RANGE[code.element]
    r, scale = reduce(code, vanishing(code, code.at_most(x, 2.0 * high - 2.0), low, math.log(2)))
    return Scaled(scale.half, scale.rest, exp_fraction(code, r))


def circle(code: Code, y: Float) -> tuple[Float, Float]:
    """(cos y, sin y)"""
    angle = trigonometric.reduce(code, y)
    s = trigonometric.sine_of(code, angle)
    return trigonometric.cosine_of(code, angle), code.select(code.abs(y) < trigonometric.tiny(code), y, s)


def exp(code: Code, z: Complex) -> Complex:
    """e^x (cos y + i sin y)."""
    c, s = circle(code, z.im)
    size = scaled_exp(code, z.re)
    re, im = size.times(c), size.times(s)
    # e^inf is larger than every sine is small; e^-inf is nothing wherever it points
    rises, falls, wild = z.re.equals(INFINITY), z.re.equals(-INFINITY), c.is_nan()
    re = code.select(rises, code.select(wild, INFINITY, c * INFINITY), re)
    im = code.select(rises, s * INFINITY, im)
    nothing = falls & wild
    re = code.select(nothing, 0.0, re)
    im = code.select(nothing, code.copysign(0.0, z.im), im)
    return Complex(re, code.select(z.im.equals(0.0), z.im, im))


def expm1(code: Code, z: Complex) -> Complex:
    """expm1(x) cos y - 2 sin^2(y / 2) + i e^x sin y."""
    whole = exp(code, z)
    c, _ = circle(code, z.im)
    _, half = circle(code, z.im * 0.5)
    near = code.multiply_add(real_expm1(code, z.re), c, half * half * -2.0)
    return Complex(code.select(code.abs(z.re) > FAR, whole.re - 1.0, near), whole.im)


def logistic(code: Code, z: Complex) -> Complex:
    """1 / (1 + exp(-z)), where |1 + exp(-z)|^2 = m^2 + 4 e c^2 with e = exp(-|x|), m = 1 - e and c = cos(y / 2)."""
    t = code.abs(z.re)
    far = t.equals(INFINITY)
    y = code.select(far, code.copysign(0.0, z.im), z.im)
    e, m = real_exp(code, -t), -real_expm1(code, -t)
    half, _ = circle(code, y * 0.5)
    _, s = circle(code, y)
    double = half * half * 2.0
    below = code.multiply_add(m, m, e * double * 2.0)
    right = z.re >= 0.0
    upper = code.select(right, code.multiply_add(e, double, m), e * (double - m))
    im = code.select(y.equals(0.0), y, e * s / below)
    return Complex(upper / below, code.select(far, y, im))


def _hyperbolic(code: Code, z: Complex) -> tuple[Float, Float, Float, Float]:
    """(cosh x cos y, sinh |x| sin y, sinh |x| cos y, cosh x sin y), the last without the sign of x."""
    c, s = circle(code, z.im)
    a = code.abs(z.re)
    far = a > FAR
    t = expm1_pair(code, code.at_most(a, FAR)).hi
    inverse = 1.0 / (t + 1.0)
    sinh, cosh = (t + t * inverse) * 0.5, ((t + 1.0) + inverse) * 0.5
    size = scaled_exp(code, a)
    half = Scaled(size.half * 0.5, size.rest, size.fraction)
    endless = a.equals(INFINITY)
    along, across = (code.select(endless, trig * INFINITY, half.times(trig)) for trig in (c, s))
    return code.select(far, along, cosh * c), code.select(far, across, sinh * s), code.select(far, along, sinh * c), code.select(far, across, cosh * s)


def sinh(code: Code, z: Complex) -> Complex:
    """sinh x cos y + i cosh x sin y; infinite and NaN for an infinite x beside an y that is not finite."""
    x, y = z.re, z.im
    _, _, re, im = _hyperbolic(code, z)
    sign = code.copysign(code.constant(1.0), x)
    straight, wild = y.equals(0.0), (y - y).is_nan()
    re = code.select(wild, code.select(code.abs(x).equals(INFINITY), INFINITY, re), re * sign)
    re = code.select(straight, real_sinh(code, x), code.select(wild & x.equals(0.0), x, re))
    return Complex(re, code.select(straight, y, im))


def cosh(code: Code, z: Complex) -> Complex:
    """cosh x cos y + i sinh x sin y; infinite and NaN for an infinite x beside an y that is not finite."""
    x, y = z.re, z.im
    re, im, _, _ = _hyperbolic(code, z)
    sign = code.copysign(code.constant(1.0), x)
    wild = (y - y).is_nan()
    re = code.select(wild & code.abs(x).equals(INFINITY), INFINITY, re)
    im = code.select(y.equals(0.0), y, im) * code.select(x.is_nan(), 1.0, sign)
    return Complex(re, code.select(wild & x.equals(0.0), 0.0, im))


def sine(code: Code, z: Complex) -> Complex:
    """sin z = -i sinh(iz), which is i sinh(-iz)."""
    w = sinh(code, Complex(z.im, -z.re))
    return Complex(-w.im, w.re)


def cosine(code: Code, z: Complex) -> Complex:
    """cos z = cosh iz."""
    return cosh(code, Complex(-z.im, z.re))


def tanh(code: Code, z: Complex) -> Complex:
    """With t = tan y, s = sinh x and B = 1 + t^2: (B s sqrt(1 + s^2) + i t) / (1 + B s^2); far out +-1 + 4i sin y cos y exp(-2 |x|)."""
    x, y = z.re, z.im
    t, s = trigonometric.tan(code, y), real_sinh(code, x)
    steep, square = code.multiply_add(t, t, 1.0), s * s
    below = code.multiply_add(steep, square, 1.0)
    far = code.abs(x) > 0.35 * (code.format.mantissa + 1) + 1.0
    tail = t / steep * 4.0 * real_exp(code, code.abs(x) * -2.0)
    re, im = code.copysign(code.constant(1.0), x), code.select(far, tail, t / below)
    unbounded = code.abs(x).equals(INFINITY)
    wild = t.is_nan() & (code.abs(x) < INFINITY)
    re = code.select(wild, re + (t - t), re)
    re = code.select(far, re, steep * s * code.sqrt(square + 1.0) / below)
    im = code.select(unbounded, code.copysign(0.0, code.select(im.is_nan(), y, im)), im)
    return Complex(code.select(x.equals(0.0), x, re), code.select(y.equals(0.0), y, im))


def tan(code: Code, z: Complex) -> Complex:
    """tan z = -i tanh iz."""
    w = tanh(code, Complex(-z.im, z.re))
    return Complex(w.im, -w.re)
