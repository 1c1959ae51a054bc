"""atan, atan2, asin and acos.

atan2: t = min(|y|, |x|) / max(|y|, |x|), folded once more about pi/8 by atan(t) = pi/4 + atan((t - 1)/(t + 1)), so that the polynomial
sees |t| <= tan(pi/8) and one division is made in all.  asin: x + x^3 p(x^2) up to 1/2, pi/2 - 2 asin(sqrt((1 - |x|)/2)) beyond.
"""

from __future__ import annotations

from wengert.transforms.codegen.llvm.math import coefficients
from wengert.transforms.codegen.llvm.math.double_double import Pair, quick_sum
from wengert.transforms.codegen.llvm.math.expressions import Float, MathBuilder
from wengert.transforms.codegen.llvm.math.logarithm import INFINITY

TAN_PI_8 = 0.41421356237309503
PI_PAIR = {"f32": (3.1415927410125732, -8.742277657347586e-08), "f64": (3.141592653589793, 1.2246467991473532e-16)}


def pi_times(builder: MathBuilder, factor: float) -> tuple[float, float]:
    """The two parts of factor * pi for a factor that is a power of two (or 0)."""
    high, low = PI_PAIR[builder.element]
    return high * factor, low * factor


def atan_ratio(builder: MathBuilder, smaller: Float, larger: Float) -> Pair:
    """atan(smaller / larger) for 0 <= smaller <= larger as a sum of two terms; the quotient must not be 0/0."""
    fold = smaller > larger * TAN_PI_8
    numerator = builder.select(fold, smaller - larger, smaller)
    denominator = builder.select(fold, smaller + larger, larger)
    t = numerator / denominator
    z = t * t
    p = builder.polynomial(builder.pick(coefficients.ATAN_F32, coefficients.ATAN_F64), z)
    high, low = pi_times(builder, 0.25)
    sum = quick_sum(builder.select(fold, high, 0.0), t)
    return Pair(sum.hi, sum.lo + builder.fma(t * z, p, builder.select(fold, low, 0.0)))


def atan(builder: MathBuilder, x: Float) -> Float:
    """Odd, +-pi/2 at infinities."""
    a = builder.abs(x)
    steep = a > 1.0
    angle = atan_ratio(builder, builder.select(steep, 1.0, a), builder.select(steep, a, 1.0))
    high, low = pi_times(builder, 0.5)
    y = builder.select(steep, high - (angle.hi - (low - angle.lo)), angle.hi + angle.lo)
    return builder.copysign(y, x)


def atan2(builder: MathBuilder, y: Float, x: Float) -> Float:
    """The angle of (x, y), with C99's values at zeros and infinities."""
    format = builder.format
    a, b = builder.abs(y), builder.abs(x)
    steep = a > b
    smaller, larger = builder.select(steep, b, a), builder.select(steep, a, b)
    # inf/inf counts as 1/1 and 0/0 as 0/1; sums of two huge numbers must not overflow.
    infinite = smaller.equals(INFINITY)
    smaller = builder.select(infinite, 1.0, smaller)
    larger = builder.select(infinite, 1.0, builder.select(larger.equals(0.0), 1.0, larger))
    shrink = builder.select((larger > format.largest * 0.25) & (larger < INFINITY), 0.25, 1.0)
    angle = atan_ratio(builder, smaller * shrink, larger * shrink)
    half, half_low = pi_times(builder, 0.5)
    whole, whole_low = pi_times(builder, 1.0)
    # The angle in the first quadrant is angle or pi/2 - angle; behind the y axis it is pi minus that.
    behind = (x.bits() >> (format.bits - 1)).equals(1)
    base = builder.select(steep, half, builder.select(behind, whole, 0.0))
    base_low = builder.select(steep, half_low, builder.select(behind, whole_low, 0.0))
    flip = steep ^ behind
    sign = builder.select(flip, -1.0, 1.0)
    sum = quick_sum(base, angle.hi * sign)
    result = sum.hi + (sum.lo + builder.fma(angle.lo, sign, base_low))
    # A nan in either operand reaches the result through the quotient, except where selects dropped it.
    result = builder.select(a.is_nan() | b.is_nan(), a + b, result)
    return builder.copysign(result, y)


def asin_core(builder: MathBuilder, a: Float) -> tuple[Float, Pair]:
    """(tail, root): asin(a) = a + a tail up to 1/2; beyond, asin(root) = root + root tail for root = sqrt((1 - a)/2)."""
    near = a <= 0.5
    z = builder.select(near, a * a, (1.0 - a) * 0.5)
    tail = z * builder.polynomial(builder.pick(coefficients.ASIN_F32, coefficients.ASIN_F64), z)
    root = builder.sqrt(z)
    # sqrt(z) = root + (z - root^2) / (2 root)
    low = builder.fma(-root, root, z) / (root + root)
    return tail, Pair(root, builder.select(z.equals(0.0), 0.0, low))


def asin(builder: MathBuilder, x: Float) -> Float:
    """Odd; NaN beyond +-1."""
    a = builder.abs(x)
    tail, root = asin_core(builder, a)
    high, low = pi_times(builder, 0.5)
    near = builder.fma(a, tail, a)
    # pi/2 - 2 (s + s tail), s = hi + lo
    total = quick_sum(high, root.hi * -2.0)
    correction = builder.fma(root.hi, tail, root.lo)
    far = total.hi + (total.lo + builder.fma(correction, -2.0, low))
    return builder.copysign(builder.select(a > 0.5, far, near), x)


def acos(builder: MathBuilder, x: Float) -> Float:
    """2 asin(sqrt((1 - x)/2)) above 1/2, pi minus the same of -x below -1/2, pi/2 - asin(x) between; NaN beyond +-1."""
    a = builder.abs(x)
    tail, root = asin_core(builder, a)
    half, half_low = pi_times(builder, 0.5)
    whole, whole_low = pi_times(builder, 1.0)
    middle_sum = quick_sum(half, -x)
    middle = middle_sum.hi + (middle_sum.lo + builder.fma(-x, tail, half_low))
    correction = builder.fma(root.hi, tail, root.lo)
    right = (root.hi + correction) * 2.0
    left_sum = quick_sum(whole, root.hi * -2.0)
    left = left_sum.hi + (left_sum.lo + builder.fma(correction, -2.0, whole_low))
    far = builder.select(x < 0.0, left, right)
    return builder.select(a > 0.5, far, middle)
