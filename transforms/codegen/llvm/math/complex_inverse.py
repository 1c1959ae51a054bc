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
from wengert.transforms.codegen.llvm.math.hyperbolic import acosh as real_acosh
from wengert.transforms.codegen.llvm.math.inverse_trigonometric import atan2
from wengert.transforms.codegen.llvm.math.logarithm import INFINITY, NAN
from wengert.transforms.codegen.llvm.math.logarithm import log as real_log
from wengert.transforms.codegen.llvm.math.logarithm import log1p as real_log1p
from wengert.transforms.codegen.llvm.math.vector import Code, Float


def _moderate(code: Code, x: Float, y: Float) -> tuple[Float, Float]:
    """(sqrt(a^2 - x^2), the imaginary part) for x, y >= 0 whose squares are normal numbers."""
    above, below = x + 1.0, code.abs(x - 1.0)
    square = y * y
    r, s = code.sqrt(code.multiply_add(above, above, square)), code.sqrt(code.multiply_add(below, below, square))
    a = (r + s) * 0.5
    first, wide = square / (r + above), s + below
    narrow = square / wide
    inside = x < 1.0
    a_minus_x = (first + code.select(inside, wide, narrow)) * 0.5
    a_minus_1 = (first + code.select(inside, narrow, wide)) * 0.5
    return code.sqrt((a + x) * a_minus_x), real_log1p(code, a_minus_1 + code.sqrt(a_minus_1 * (a + 1.0)))


def _at_the_ends(code: Code, x: Float, y: Float, large: float) -> tuple[Float, Float]:
    """The same where z is huge, or near the real axis."""
    inside, distance = x < 1.0, code.abs(x - 1.0)
    real = y <= distance * 2.0 ** -(code.format.mantissa + 2)
    across = code.sqrt(distance) * code.sqrt(x + 1.0)
    slope = code.select(y.equals(0.0), 0.0, y / across)
    root = size = code.sqrt(y)
    root = code.select(real, code.select(inside, across, x * slope), root)
    size = code.select(real, code.select(inside, slope, real_acosh(code, code.select(inside, 1.0, x))), size)
    huge = ~((x <= large) & (y <= large))
    return code.select(huge, y, root), code.select(huge, log_modulus(code, Complex(x, y)) + math.log(2), size)


def _root_and_size(code: Code, z: Complex) -> tuple[Float, Float]:
    x, y = code.abs(z.re), code.abs(z.im)
    large, small = math.sqrt(code.format.largest) / 8.0, math.sqrt(code.format.smallest_normal) * 4.0
    usual = (x <= large) & (y <= large) & (y >= small)
    root, size = code.rarely(~usual, _moderate(code, x, y), lambda: _either(code, z, x, y, large, small))
    return root, size


def _either(code: Code, z: Complex, x: Float, y: Float, large: float, small: float) -> tuple[Float, Float]:
    usual = (x <= large) & (y <= large) & (y >= small)
    here, there = _moderate(code, x, y), _at_the_ends(code, x, y, large)
    root, size = (code.select(usual, a, b) for a, b in zip(here, there, strict=True))
    return root, code.select(is_unbounded(code, z), INFINITY, size)


def asin(code: Code, z: Complex) -> Complex:
    """The angle of (sqrt(a^2 - x^2), x), and log(a + sqrt(a^2 - 1)) with the sign of y."""
    root, size = _root_and_size(code, z)
    angle = code.copysign(atan2(code, code.abs(z.re), root), z.re)
    return Complex(code.select(z.re.equals(0.0), z.re, angle), code.copysign(size, z.im))


def acos(code: Code, z: Complex) -> Complex:
    """The angle of (x, sqrt(a^2 - x^2)), and log(a + sqrt(a^2 - 1)) with the opposite sign of y."""
    root, size = _root_and_size(code, z)
    angle = code.select(z.re.equals(0.0), math.pi / 2, atan2(code, root, z.re))
    return Complex(angle, code.copysign(size, -z.im))


def asinh(code: Code, z: Complex) -> Complex:
    """asinh(x + iy) is asin(y + ix) with its parts exchanged."""
    w = asin(code, Complex(z.im, z.re))
    return Complex(w.im, w.re)


def acosh(code: Code, z: Complex) -> Complex:
    """acos(z) turned to the right half of the plane."""
    w = acos(code, z)
    return Complex(code.abs(w.im), code.copysign(w.re, z.im))


def atanh(code: Code, z: Complex) -> Complex:
    """log1p(4 |x| / ((1 - |x|)^2 + y^2)) / 4 and the angle of ((1 - x)(1 + x) - y^2, 2 y) / 2; far out x / |z|^2 and pi / 2."""
    x, y = code.abs(z.re), code.abs(z.im)
    m, n = code.larger(x, y), code.smaller(x, y)
    huge = m > 2.0 ** (code.format.mantissa + 2)
    a, b = (code.select(huge, 1.0, part) for part in (x, y))
    below = 1.0 - a
    re = real_log1p(code, a * 4.0 / code.multiply_add(b, b, below * below)) * 0.25
    pole = below.equals(0.0) & (b < 2.0 ** -(code.format.mantissa // 2 + 6))
    re = code.select(pole, (math.log(2) - real_log(code, b)) * 0.5, re)
    im = atan2(code, b + b, code.multiply_add(-b, b, below * (a + 1.0))) * 0.5
    ratio = n / m
    far = (x / m * 0.5) / (m * 0.5 * code.multiply_add(ratio, ratio, 1.0))
    re, im = code.select(huge, far, re), code.select(huge, math.pi / 2, im)
    undefined, unbounded = x.is_nan() | y.is_nan(), is_unbounded(code, z)
    re = code.select(unbounded | x.equals(0.0), 0.0, code.select(undefined, NAN, re))
    im = code.select(undefined & ~y.equals(INFINITY), NAN, code.select(unbounded, math.pi / 2, im))
    return Complex(code.copysign(re, z.re), code.copysign(im, z.im))


def atan(code: Code, z: Complex) -> Complex:
    """atan(x + iy) is atanh(y + ix) with its parts exchanged."""
    w = atanh(code, Complex(z.im, z.re))
    return Complex(w.im, w.re)
