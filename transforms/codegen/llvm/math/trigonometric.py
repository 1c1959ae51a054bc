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
from wengert.transforms.codegen.llvm.math.huge_argument import replace_huge
from wengert.transforms.codegen.llvm.math.vector import Code, Float, Integer

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


def reduce(code: Code, x: Float) -> Reduced:
    """The reduction of any x; the remainder of infinities and NaN is NaN."""
    biased, n = nearest_integer(code, x, TWO_OVER_PI)
    first, second, third = HALF_PI[code.element]
    # Both operands are multiples of 2^-mantissa and the difference is below 1: exact.
    difference = code.fma(n, -first, x)
    product = exact_product(n, -second)
    total = exact_sum(difference, product.hi)
    remainder = quick_sum(total.hi, total.lo + code.fma(n, -third, product.lo))
    # The comparison is false for NaN, which is in the remainder already.
    return Reduced(*replace_huge(code, x, code.abs(x) > LIMIT[code.element], biased.bits(), remainder))


def sine(code: Code, r: Pair, z: Float) -> Float:
    """sin(hi + lo) for |hi| <= pi/4, z = hi^2."""
    p = code.polynomial(code.pick(coefficients.SIN_F32, coefficients.SIN_F64), z)
    # r + (r z p + lo (1 - z/2))
    return r.hi + code.fma(z * r.hi, p, code.fma(z * -0.5, r.lo, r.lo))


def cosine(code: Code, r: Pair, z: Float) -> Float:
    """cos(hi + lo) for |hi| <= pi/4, z = hi^2."""
    p = code.polynomial(code.pick(coefficients.COS_F32, coefficients.COS_F64), z)
    half = z * 0.5
    w = 1.0 - half
    return w + (((1.0 - w) - half) + code.fma(z * z, p, -(r.hi * r.lo)))


def rotate(code: Code, reduced: Reduced, quarters: int) -> Float:
    """sin(x + quarters pi/2)."""
    z = reduced.remainder.hi * reduced.remainder.hi
    quadrant = reduced.quadrant + quarters if quarters else reduced.quadrant
    even = (quadrant & 1).equals(0)
    y = code.select(even, sine(code, reduced.remainder, z), cosine(code, reduced.remainder, z))
    sign = (quadrant & 2) << (code.format.bits - 2)
    return (y.bits() ^ sign).as_float()


def sine_of(code: Code, reduced: Reduced) -> Float:
    """sin of a reduced argument."""
    return rotate(code, reduced, 0)


def cosine_of(code: Code, reduced: Reduced) -> Float:
    """cos of a reduced argument."""
    return rotate(code, reduced, 1)


def tangent_of(code: Code, reduced: Reduced) -> Float:
    """sin/cos or, in odd quadrants, -cos/sin."""
    z = reduced.remainder.hi * reduced.remainder.hi
    s, c = sine(code, reduced.remainder, z), cosine(code, reduced.remainder, z)
    even = (reduced.quadrant & 1).equals(0)
    return code.select(even, s, -c) / code.select(even, c, s)


def sin(code: Code, x: Float) -> Float:
    """sin(x), exact reduction for every x; -0 stays -0, NaN for infinities."""
    y = sine_of(code, reduce(code, x))
    return code.select(code.abs(x) < tiny(code), x, y)


def cos(code: Code, x: Float) -> Float:
    """cos(x)."""
    return cosine_of(code, reduce(code, x))


def tan(code: Code, x: Float) -> Float:
    """tan(x)."""
    y = tangent_of(code, reduce(code, x))
    return code.select(code.abs(x) < tiny(code), x, y)


def tiny(code: Code) -> float:
    """Below this sin(x) and tan(x) are x to the last bit; it keeps -0 and subnormal numbers away from the sums."""
    return 2.0 ** -(code.format.mantissa // 2 + 2)


def reduce_turns(code: Code, x: Float) -> Reduced:
    """pi x = quadrant * pi/2 + remainder, for |x| < 2^(mantissa - 2)."""
    biased, n = nearest_integer(code, x, 2.0)
    r = code.fma(n, -0.5, x)
    product = exact_product(r, 2.0 * HALF_PI[code.element][0])
    return Reduced(biased.bits(), quick_sum(product.hi, code.fma(r, 2.0 * HALF_PI[code.element][1], product.lo)))
