"""sin, cos and tan.

x = n pi/2 + r with n = rint(2x/pi), pi/2 in three floats (Cody and Waite; with fused multiply-add the first subtraction is exact and r
comes out as a pair), then the minimax polynomials of sin and cos on [-pi/4, pi/4] with the low part of r as a first-order correction
(the kernels of fdlibm, K. C. Ng 1993).  Arguments beyond `limit` are reduced by an out-of-line function (see `huge_argument.py`).
"""

from __future__ import annotations

from msgspec import Struct

from wengert.transforms.codegen.llvm.math import coefficients
from wengert.transforms.codegen.llvm.math.double_double import Pair, exact_product, exact_sum, quick_sum
from wengert.transforms.codegen.llvm.math.exponential import nearest_integer
from wengert.transforms.codegen.llvm.math.expressions import Float, Integer, MathBuilder
from wengert.transforms.codegen.llvm.math.huge_argument import replace_huge

TWO_OVER_PI = 0.6366197723675814
HALF_PI = {
    "f32": (1.5707963705062866, -4.371138828673793e-08, -1.7151245100058819e-15),
    "f64": (1.5707963267948966, 6.123233995736766e-17, -1.4973849048591833e-33),
}
LIMIT = {"f32": 2.0**15, "f64": 2.0**30}


class Reduced(Struct, frozen=True):
    """x = quadrant * pi/2 + remainder; only the two low bits of `quadrant` count."""

    quadrant: Integer
    remainder: Pair


def reduce(builder: MathBuilder, x: Float) -> Reduced:
    """The reduction of any x; the remainder of infinities and NaN is NaN."""
    biased, n = nearest_integer(builder, x, TWO_OVER_PI)
    first, second, third = HALF_PI[builder.element]
    # Both operands are multiples of 2^-mantissa and the difference is below 1: exact.
    difference = builder.fma(n, -first, x)
    product = exact_product(n, -second)
    total = exact_sum(difference, product.hi)
    remainder = quick_sum(total.hi, total.lo + builder.fma(n, -third, product.lo))
    # The comparison is false for NaN, which is in the remainder already.
    return Reduced(*replace_huge(builder, x, builder.abs(x) > LIMIT[builder.element], biased.bits(), remainder))


def sine(builder: MathBuilder, r: Pair, z: Float) -> Float:
    """sin(hi + lo) for |hi| <= pi/4, z = hi^2."""
    p = builder.polynomial(builder.pick(coefficients.SIN_F32, coefficients.SIN_F64), z)
    # r + (r z p + lo (1 - z/2))
    return r.hi + builder.fma(z * r.hi, p, builder.fma(z * -0.5, r.lo, r.lo))


def cosine(builder: MathBuilder, r: Pair, z: Float) -> Float:
    """cos(hi + lo) for |hi| <= pi/4, z = hi^2."""
    p = builder.polynomial(builder.pick(coefficients.COS_F32, coefficients.COS_F64), z)
    half = z * 0.5
    w = 1.0 - half
    return w + (((1.0 - w) - half) + builder.fma(z * z, p, -(r.hi * r.lo)))


def rotate(builder: MathBuilder, reduced: Reduced, quarters: int) -> Float:
    """sin(x + quarters pi/2)."""
    z = reduced.remainder.hi * reduced.remainder.hi
    quadrant = reduced.quadrant + quarters if quarters else reduced.quadrant
    even = (quadrant & 1).equals(0)
    y = builder.select(even, sine(builder, reduced.remainder, z), cosine(builder, reduced.remainder, z))
    sign = (quadrant & 2) << (builder.format.bits - 2)
    return (y.bits() ^ sign).as_float()


def sine_of(builder: MathBuilder, reduced: Reduced) -> Float:
    """sin of a reduced argument."""
    return rotate(builder, reduced, 0)


def cosine_of(builder: MathBuilder, reduced: Reduced) -> Float:
    """cos of a reduced argument."""
    return rotate(builder, reduced, 1)


def tangent_of(builder: MathBuilder, reduced: Reduced) -> Float:
    """sin/cos or, in odd quadrants, -cos/sin."""
    z = reduced.remainder.hi * reduced.remainder.hi
    s, c = sine(builder, reduced.remainder, z), cosine(builder, reduced.remainder, z)
    even = (reduced.quadrant & 1).equals(0)
    return builder.select(even, s, -c) / builder.select(even, c, s)


def sin(builder: MathBuilder, x: Float) -> Float:
    """sin(x), exact reduction for every x; -0 stays -0, NaN for infinities."""
    y = sine_of(builder, reduce(builder, x))
    return builder.select(builder.abs(x) < tiny(builder), x, y)


def cos(builder: MathBuilder, x: Float) -> Float:
    """cos(x)."""
    return cosine_of(builder, reduce(builder, x))


def tan(builder: MathBuilder, x: Float) -> Float:
    """tan(x)."""
    y = tangent_of(builder, reduce(builder, x))
    return builder.select(builder.abs(x) < tiny(builder), x, y)


def tiny(builder: MathBuilder) -> float:
    """Below this sin(x) and tan(x) are x to the last bit; it keeps -0 and subnormal numbers away from the sums."""
    return 2.0 ** -(builder.format.mantissa // 2 + 2)


def reduce_turns(builder: MathBuilder, x: Float) -> Reduced:
    """pi x = quadrant * pi/2 + remainder, for |x| < 2^(mantissa - 2)."""
    biased, n = nearest_integer(builder, x, 2.0)
    r = builder.fma(n, -0.5, x)
    product = exact_product(r, 2.0 * HALF_PI[builder.element][0])
    return Reduced(biased.bits(), quick_sum(product.hi, builder.fma(r, 2.0 * HALF_PI[builder.element][1], product.lo)))
