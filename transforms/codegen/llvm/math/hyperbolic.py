"""tanh, sinh, cosh and their inverses.

tanh in f64 is a - a z P(z)/D(z), z = a^2, up to 0.6: a convergent of Lambert's continued fraction tanh a = a/(1 + z/(3 + z/(5 + ...))), whose
coefficients are integers; 1 - 2/(exp(2a) + 1) from there; both with one division.

In f32 a quarter fewer instructions are as exact. With a = |x| = n ln(2)/2 + h, the addition theorem gives
tanh(a) = ((s - 1) + (s + 1) T) / ((s + 1) + (s - 1) T) for s = 2^n and T = tanh(h), an odd polynomial.  Written as
1 - 2 (1 - T) / ((s + 1) + (s - 1) T), what is rounded counts little from 1/2 on; below it n = 0, and T is the result.  The same code does both,
without a choice.

sinh and cosh use exp(a)/2, which overflows where they do.  The inverses go through log1p.
"""

from __future__ import annotations

import math

from wengert.transforms.codegen.llvm.math import coefficients
from wengert.transforms.codegen.llvm.math.exponential import LOG2_E, exp_half, exp_moderate, expm1_pair
from wengert.transforms.codegen.llvm.math.expressions import Float, Mask, MathBuilder
from wengert.transforms.codegen.llvm.math.logarithm import INFINITY, NAN, log1p, log_of_sum

# P and D of the 8th convergent (error 2^-58 up to 0.6).
LAMBERT = ((675675.0, 45045.0, 594.0, 1.0), (2027025.0, 945945.0, 51975.0, 630.0, 1.0))

# n = 0 up to 13/8 steps of ln(2)/2, where tanh is 0.51: the greatest h.
STEPS = 1.625


def tanh(builder: MathBuilder, x: Float) -> Float:
    """Odd, exact for tiny arguments, +-1 from about 9 (f32) or 19 (f64)."""
    a = builder.at_most(builder.abs(x), builder.pick(10.0, 20.0))
    return tanh_by_fractions(builder, x, a) if builder.element == "f64" else tanh_by_half_octaves(builder, x, a)


def tanh_by_fractions(builder: MathBuilder, x: Float, a: Float) -> Float:
    """1.4 ulp in f64, where the other way takes 1.5."""
    near = a < 0.6
    z = a * a
    upper, lower = (builder.horner(fraction, z) for fraction in LAMBERT)
    numerator = builder.select(near, z * upper, 2.0)
    denominator = builder.select(near, lower, exp_moderate(builder, a + a) + 1.0)
    start = builder.select(near, a, 1.0)
    return builder.copysign(builder.fma(-start, numerator / denominator, start), x)


def tanh_by_half_octaves(builder: MathBuilder, x: Float, a: Float) -> Float:
    """1.5 ulp in f32."""
    n, half = half_octaves(builder, a)
    h = builder.fma(n, -0.5 * math.log(2), a)
    z = h * h
    t = builder.fma(builder.polynomial(coefficients.TANH_F32, z), h * z, h)
    denominator = builder.fma(half - 0.5, t, half + 0.5)
    start = builder.at_most(n, 1.0)
    return ((start + (t - start) / denominator).bits() | x.bits() & -(1 << (builder.format.bits - 1))).as_float()


def half_octaves(builder: MathBuilder, a: Float) -> tuple[Float, Float]:
    """(n, 2^n / 2): n is a / (ln(2)/2) less 5/8, rounded down, at least 0, for a >= 0."""
    # Two bits behind the point decide: rounding to nearest adds 1/8, and clearing them rounds down.
    shift = builder.format.mantissa - 2
    magic = 1.5 * 2.0**shift + (builder.format.bias - 1)
    biased = builder.at_least(builder.fma(a, 2.0 * LOG2_E, magic - (STEPS - 1.0 + 0.125)), magic).bits() & -4
    return biased.as_float() - magic, (biased << shift).as_float()


def sinh(builder: MathBuilder, x: Float) -> Float:
    """(t + t / (t + 1)) / 2 with t = expm1(|x|) below 20, exp(|x|) / 2 - exp(-|x|) / 2 from there."""
    a = builder.abs(x)
    t = expm1_pair(builder, builder.at_most(a, 20.0)).hi
    near = (t + t / (t + 1.0)) * 0.5
    y = builder.select(a > 20.0, exp_half(builder, a), near)
    return builder.copysign(y, x)


def cosh(builder: MathBuilder, x: Float) -> Float:
    """e + 1 / (4 e) with e = exp(|x|) / 2."""
    half = exp_half(builder, builder.abs(x))
    return half + 0.25 / half


def asinh(builder: MathBuilder, x: Float) -> Float:
    """log1p(a + a^2 / (1 + sqrt(1 + a^2))) for a = |x|, log(2a) where a^2 would swamp 1."""
    a = builder.abs(x)
    large = a > 2.0 ** (builder.format.mantissa // 2 + 2)
    b = builder.select(large, 1.0, a)
    square = b * b
    inner = b + square / (builder.sqrt(square + 1.0) + 1.0)
    y = log_shifted(builder, a, large, inner)
    y = builder.select(a < 2.0 ** -(builder.format.mantissa // 2 + 2), a, y)
    return builder.copysign(builder.select(a.equals(INFINITY), a, y), x)


def acosh(builder: MathBuilder, x: Float) -> Float:
    """log1p(t + sqrt(2t + t^2)) for t = x - 1, log(2x) where 1 is swamped; NaN below 1."""
    large = x > 2.0 ** (builder.format.mantissa // 2 + 2)
    t = builder.select(large, 1.0, x - 1.0)
    inner = t + builder.sqrt(builder.fma(t, t, t + t))
    y = log_shifted(builder, x, large, inner)
    y = builder.select(x < 1.0, NAN, builder.select(x.is_nan(), x, y))
    return builder.select(x.equals(INFINITY), x, y)


def log_shifted(builder: MathBuilder, a: Float, large: Mask, inner: Float) -> Float:
    """log(2a) where `large`, log(1 + inner) elsewhere, with one logarithm."""
    total = inner + 1.0
    bigger = builder.select(inner > 1.0, inner, 1.0)
    smaller = builder.select(inner > 1.0, 1.0, inner)
    error = smaller - (total - bigger)
    return log_of_sum(builder, builder.select(large, a, total), builder.select(large, 0.0, error), builder.select(large, 1.0, 0.0))


def atanh(builder: MathBuilder, x: Float) -> Float:
    """log1p(2a / (1 - a)) / 2 for a = |x|, as 2a + 2a a / (1 - a); +-inf at +-1, NaN beyond."""
    a = builder.abs(x)
    y = log1p(builder, builder.fma(a, (a + a) / (1.0 - a), a + a)) * 0.5
    y = builder.select(a.equals(1.0), INFINITY, y)
    y = builder.select(a > 1.0, NAN, y)
    return builder.copysign(builder.select(a < 4.0 * builder.format.smallest_normal, a, y), x)
