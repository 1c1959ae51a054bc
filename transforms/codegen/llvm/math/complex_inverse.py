"""Inverse circular and hyperbolic functions of complex numbers.

asin and acos: T. E. Hull, T. F. Fairgrieve and P. T. P. Tang, "Implementing the Complex Arcsine and Arccosine Functions Using Exception Handling", ACM TOMS
23 (1997). With r and s, the distances of z from -1 and 1, and a = (r + s) / 2, both parts follow from a - |x| and a - 1, each a sum of
positive terms. Where a square would overflow or underflow, in a block that is mostly jumped over, limits stand in their place. Both angles are those of
atan2, from |x| and sqrt(a^2 - x^2). atanh: Kahan, "Branch Cuts for Complex Elementary Functions" (1987). The others are these of a turned argument.
"""

from __future__ import annotations

import math

from wengert.transforms.codegen.llvm.math.complex_arithmetic import Complex, is_unbounded
from wengert.transforms.codegen.llvm.math.complex_logarithm import log_modulus
from wengert.transforms.codegen.llvm.math.expressions import Float, Mask, MathBuilder
from wengert.transforms.codegen.llvm.math.hyperbolic import acosh as real_acosh
from wengert.transforms.codegen.llvm.math.inverse_trigonometric import atan2
from wengert.transforms.codegen.llvm.math.logarithm import INFINITY, NAN
from wengert.transforms.codegen.llvm.math.logarithm import log as real_log
from wengert.transforms.codegen.llvm.math.logarithm import log1p as real_log1p


def _moderate(builder: MathBuilder, x: Float, y: Float) -> tuple[Float, Float]:
    """(sqrt(a^2 - x^2), the imaginary part) for x, y >= 0 whose squares are normal numbers."""
    above, below = x + 1.0, builder.abs(x - 1.0)
    square = y * y
    r, s = builder.sqrt(builder.multiply_add(above, above, square)), builder.sqrt(builder.multiply_add(below, below, square))
    a = (r + s) * 0.5
    first, wide = square / (r + above), s + below
    narrow = square / wide
    inside = x < 1.0
    a_minus_x = (first + builder.select(inside, wide, narrow)) * 0.5
    a_minus_1 = (first + builder.select(inside, narrow, wide)) * 0.5
    return builder.sqrt((a + x) * a_minus_x), real_log1p(builder, a_minus_1 + builder.sqrt(a_minus_1 * (a + 1.0)))


def _at_the_ends(builder: MathBuilder, x: Float, y: Float, large: float) -> tuple[Float, Float]:
    """The same where z is huge, or near the real axis."""
    inside, distance = x < 1.0, builder.abs(x - 1.0)
    real = y <= distance * 2.0 ** -(builder.format.mantissa + 2)
    across = builder.sqrt(distance) * builder.sqrt(x + 1.0)
    slope = builder.select(y.equals(0.0), 0.0, y / across)
    root = size = builder.sqrt(y)
    root = builder.select(real, builder.select(inside, across, x * slope), root)
    size = builder.select(real, builder.select(inside, slope, real_acosh(builder, builder.select(inside, 1.0, x))), size)
    huge = ~((x <= large) & (y <= large))
    return builder.select(huge, y, root), builder.select(huge, log_modulus(builder, Complex(x, y)) + math.log(2), size)


def _is_moderate(builder: MathBuilder, x: Float, y: Float, large: float) -> Mask:
    """Whether no square overflows, and y^2 / (x + 1) does not underflow."""
    return (x <= large) & (y <= large) & (y * y >= (x + 1.0) * (16.0 * builder.format.smallest_normal))


def _root_and_size(builder: MathBuilder, z: Complex) -> tuple[Float, Float]:
    x, y = builder.abs(z.re), builder.abs(z.im)
    large = math.sqrt(builder.format.largest) / 8.0
    moderate = _is_moderate(builder, x, y, large)
    root, size = builder.rarely(~moderate, _moderate(builder, x, y), lambda: _either(builder, z, x, y, large))
    return root, size


def _either(builder: MathBuilder, z: Complex, x: Float, y: Float, large: float) -> tuple[Float, Float]:
    moderate = _is_moderate(builder, x, y, large)
    here, there = _moderate(builder, x, y), _at_the_ends(builder, x, y, large)
    root, size = (builder.select(moderate, a, b) for a, b in zip(here, there, strict=True))
    return root, builder.select(is_unbounded(builder, z), INFINITY, size)


def asin(builder: MathBuilder, z: Complex) -> Complex:
    """The angle of (sqrt(a^2 - x^2), x), and log(a + sqrt(a^2 - 1)) with the sign of y."""
    root, size = _root_and_size(builder, z)
    angle = builder.copysign(atan2(builder, builder.abs(z.re), root), z.re)
    return Complex(builder.select(z.re.equals(0.0), z.re, angle), builder.copysign(size, z.im))


def acos(builder: MathBuilder, z: Complex) -> Complex:
    """The angle of (x, sqrt(a^2 - x^2)), and log(a + sqrt(a^2 - 1)) with the opposite sign of y."""
    root, size = _root_and_size(builder, z)
    angle = builder.select(z.re.equals(0.0), math.pi / 2, atan2(builder, root, z.re))
    return Complex(angle, builder.copysign(size, -z.im))


def asinh(builder: MathBuilder, z: Complex) -> Complex:
    """asinh(x + iy) is asin(y + ix) with its parts exchanged."""
    w = asin(builder, Complex(z.im, z.re))
    return Complex(w.im, w.re)


def acosh(builder: MathBuilder, z: Complex) -> Complex:
    """acos(z) turned to the right half of the plane."""
    w = acos(builder, z)
    return Complex(builder.abs(w.im), builder.copysign(w.re, z.im))


def atanh(builder: MathBuilder, z: Complex) -> Complex:
    """log1p(4 |x| / ((1 - |x|)^2 + y^2)) / 4 and the angle of ((1 - x)(1 + x) - y^2, 2 y) / 2; far out x / |z|^2 and pi / 2."""
    x, y = builder.abs(z.re), builder.abs(z.im)
    m, n = builder.larger(x, y), builder.smaller(x, y)
    huge = m > 2.0 ** (builder.format.mantissa + 2)
    a, b = (builder.select(huge, 1.0, part) for part in (x, y))
    below = 1.0 - a
    re = real_log1p(builder, a * 4.0 / builder.multiply_add(b, b, below * below)) * 0.25
    pole = below.equals(0.0) & (b < 2.0 ** -(builder.format.mantissa // 2 + 6))
    re = builder.select(pole, (math.log(2) - real_log(builder, b)) * 0.5, re)
    im = atan2(builder, b + b, builder.multiply_add(-b, b, below * (a + 1.0))) * 0.5
    ratio = n / m
    far = (x / m * 0.5) / (m * 0.5 * builder.multiply_add(ratio, ratio, 1.0))
    re, im = builder.select(huge, far, re), builder.select(huge, math.pi / 2, im)
    undefined, unbounded = x.is_nan() | y.is_nan(), is_unbounded(builder, z)
    re = builder.select(unbounded | x.equals(0.0), 0.0, builder.select(undefined, NAN, re))
    im = builder.select(undefined & ~y.equals(INFINITY), NAN, builder.select(unbounded, math.pi / 2, im))
    return Complex(builder.copysign(re, z.re), builder.copysign(im, z.im))


def atan(builder: MathBuilder, z: Complex) -> Complex:
    """atan(x + iy) is atanh(y + ix) with its parts exchanged."""
    w = atanh(builder, Complex(z.im, z.re))
    return Complex(w.im, w.re)
