"""exp, exp2, expm1 and logistic.

exp(x) = 2^n exp(r) with n = rint(x / ln 2) and |r| <= ln(2)/2 (Cody and Waite's two-part reduction), exp(r) = 1 + r + r^2 q(r) by a
minimax polynomial.  2^n is applied as two factors 2^(n/2), so that results below the smallest normal number are rounded once and the
results above the largest become infinite by themselves.  Source of the scheme: J.-M. Muller, Elementary Functions, 3rd ed., ch. 11.
"""

from __future__ import annotations

import math

from msgspec import Struct

from wengert.transforms.codegen.llvm.math import coefficients
from wengert.transforms.codegen.llvm.math.double_double import Pair, quick_sum
from wengert.transforms.codegen.llvm.math.expressions import Float, MathBuilder

LOG2_E = 1.4426950408889634
# ln 2 in two parts: the first has so few bits that its products with n are exact.
LN2_PARTS = {"f32": (0.693145751953125, 1.428606765330187e-06), "f64": (0.6931471803691238, 1.9082149292705877e-10)}
# Beyond these bounds the result is 0 or infinite; moving x to them keeps n in the range of the exponent arithmetic.
RANGE = {"f32": (-105.0, 89.5), "f64": (-746.0, 710.5)}


class Scale(Struct, frozen=True):
    """2^n as a product of two floats."""

    half: Float
    rest: Float

    def apply(self, y: Float) -> Float:
        """y * 2^n with one rounding at the end."""
        return (y * self.half) * self.rest


def vanishing(builder: MathBuilder, x: Float, low: float, unit: float) -> Float:
    """x, or where it is less than ``low`` a number whose 2^n is two zeros, n being x / unit.

    A product that is too small for a subnormal number is zero as well, but takes many processors a hundred cycles, and e^-inf is what
    masked attention consists of.
    """
    return builder.select(x < low, -2.0 * builder.format.bias * unit, x)


def nearest_integer(builder: MathBuilder, x: Float, factor: float, shift: int = 0) -> tuple[Float, Float]:
    """(biased, n): n = rint(x * factor), and a float whose low mantissa bits hold n + shift as an integer.

    Adding 1.5 * 2^mantissa pushes the fraction out of the significand.
    """
    magic = 1.5 * 2.0**builder.format.mantissa + shift
    biased = builder.fma(x, factor, magic)
    return biased, biased - magic


def power_of_two(builder: MathBuilder, biased: Float) -> Scale:
    """2^n from a float that holds n + 2 * bias in its low bits; n from -2 * bias to 2 * bias."""
    mantissa = builder.format.mantissa
    bits = biased.bits()
    half = bits >> 1
    return Scale((half << mantissa).as_float(), ((bits - half) << mantissa).as_float())


def reduce(builder: MathBuilder, x: Float, lift: int = 0) -> tuple[Float, Scale]:
    """(r, 2^(n - lift)) with x = n ln 2 + r."""
    biased, n = nearest_integer(builder, x, LOG2_E, 2 * builder.format.bias - lift)
    high, low = LN2_PARTS[builder.element]
    r = builder.fma(n, -low, builder.fma(n, -high, x))
    return r, power_of_two(builder, biased)


def exp_fraction(builder: MathBuilder, r: Float) -> Float:
    """exp(r) for |r| <= ln(2)/2."""
    q = builder.polynomial(builder.pick(coefficients.EXP_F32, coefficients.EXP_F64), r)
    return builder.fma(q, r * r, r) + 1.0


def exp(builder: MathBuilder, x: Float) -> Float:
    """e^x: subnormal results are rounded, not flushed."""
    low, high = RANGE[builder.element]
    r, scale = reduce(builder, vanishing(builder, builder.at_most(x, high), low, math.log(2)))
    return scale.apply(exp_fraction(builder, r))


def exp_moderate(builder: MathBuilder, x: Float) -> Float:
    """e^x for |x| <= 64."""
    biased, n = nearest_integer(builder, x, LOG2_E, builder.format.bias)
    high, low = LN2_PARTS[builder.element]
    r = builder.fma(n, -low, builder.fma(n, -high, x))
    return exp_fraction(builder, r) * (biased.bits() << builder.format.mantissa).as_float()


def exp_half(builder: MathBuilder, x: Float) -> Float:
    """e^x / 2 for x >= 0, finite wherever sinh and cosh are."""
    r, scale = reduce(builder, builder.at_most(x, RANGE[builder.element][1] + 1.0))
    return (exp_fraction(builder, r) * (scale.half * 0.5)) * scale.rest


def exp_pair(builder: MathBuilder, x: Pair) -> Float:
    """exp(hi + lo)."""
    low, high = RANGE[builder.element]
    clamped = vanishing(builder, builder.at_most(x.hi, high), low, math.log(2))
    r, scale = reduce(builder, clamped)
    # Where hi was clamped, lo does not matter, and where hi is infinite, it is NaN.
    correction = builder.select(clamped.equals(x.hi), x.lo, 0.0)
    return scale.apply(exp_fraction(builder, r + correction))


def exp2(builder: MathBuilder, x: Float) -> Float:
    """2^x: the reduction is exact."""
    format = builder.format
    clamped = vanishing(builder, builder.at_most(x, format.bias + 2.0), -format.bias - format.mantissa - 2.0, 1.0)
    biased, n = nearest_integer(builder, clamped, 1.0, 2 * format.bias)
    fraction = clamped - n
    high = builder.pick(0.6931471824645996, 0.6931471805599453)
    low = builder.pick(-1.904654212348209e-09, 2.3190468138462996e-17)
    r = builder.fma(fraction, low, fraction * high)
    return power_of_two(builder, biased).apply(exp_fraction(builder, r))


def expm1_fraction(builder: MathBuilder, x: Float, shift: int) -> tuple[Float, Pair]:
    """(2^(n + shift), exp(r) - 1 as a pair), for x whose 2^(n + shift) is a normal number."""
    biased, n = nearest_integer(builder, x, LOG2_E, builder.format.bias + shift)
    high, low = LN2_PARTS[builder.element]
    first = builder.fma(n, -high, x)
    r = builder.fma(n, -low, first)
    r_low = builder.fma(n, -low, first - r)
    q = builder.polynomial(builder.pick(coefficients.EXPM1_F32, coefficients.EXPM1_F64), r)
    scale = (biased.bits() << builder.format.mantissa).as_float()
    return scale, quick_sum(r, builder.fma(q, r * r, r_low))


def expm1_pair(builder: MathBuilder, x: Float) -> Pair:
    """exp(x) - 1 as a pair, for |x| below 64."""
    scale, fraction = expm1_fraction(builder, x, 0)
    # 2^n (1 + f) - 1 = (2^n - 1) + 2^n f; the first is 0 or larger than the second.
    total = quick_sum(scale - 1.0, scale * fraction.hi)
    return Pair(total.hi, builder.fma(scale, fraction.lo, total.lo))


def expm1(builder: MathBuilder, x: Float) -> Float:
    """e^x - 1, accurate near 0; -0 stays -0."""
    format = builder.format
    clamped = builder.at_least(builder.at_most(x, builder.pick(89.0, 710.0)), -(format.mantissa + 4) * math.log(2))
    # The largest n would overflow in 2^n, so everything is computed at half size.
    half, fraction = expm1_fraction(builder, clamped, -1)
    y = builder.fma(half, fraction.hi, half - 0.5) * 2.0
    # Halving rounds subnormal numbers, and x is the result there.
    return builder.select(builder.abs(x) < 4.0 * format.smallest_normal, x, y)


def logistic(builder: MathBuilder, x: Float) -> Float:
    """1 / (1 + exp(-x)), as e / (1 + e) with e = exp(-|x|) for negative x, so that small results keep their accuracy."""
    decay = exp(builder, -builder.abs(x))
    return builder.select(x < 0.0, decay, 1.0) / (decay + 1.0)
