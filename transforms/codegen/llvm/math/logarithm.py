"""log and log1p.

x = 2^k (1 + f) with 1 + f in [sqrt(1/2), sqrt(2)).  f64: with s = f / (2 + f), log(1 + f) = f - (f^2/2 - s (f^2/2 + R(s^2))), the
arrangement of fdlibm's e_log.c (K. C. Ng, Sun Microsystems 1993) with coefficients of our own; f32: f - f^2/2 + f^3 p(f).
"""

from __future__ import annotations

from wengert.transforms.codegen.llvm.math import coefficients
from wengert.transforms.codegen.llvm.math.exponential import LN2_PARTS
from wengert.transforms.codegen.llvm.math.expressions import Float, MathBuilder

INFINITY = float("inf")
NAN = float("nan")
SQRT_HALF_BITS = {"f32": 0x3F3504F3, "f64": 0x3FE6A09E667F3BCD}
ONE_BITS = {"f32": 0x3F800000, "f64": 0x3FF0000000000000}


def decompose(builder: MathBuilder, x: Float) -> tuple[Float, Float]:
    """(k, m) with x = 2^k m and m in [sqrt(1/2), sqrt(2)), for positive normal x."""
    format = builder.format
    one = ONE_BITS[builder.element]
    shifted = x.bits() + (one - SQRT_HALF_BITS[builder.element])
    exponent = shifted >> format.mantissa
    # An integer below 2^mantissa becomes a float by putting it into the significand of 2^mantissa.
    magic = 2.0**format.mantissa
    magic_bits = (format.bias + format.mantissa) << format.mantissa
    k = (exponent | magic_bits).as_float() - (magic + format.bias)
    m = (x.bits() - (exponent << format.mantissa) + one).as_float()
    return k, m


def normalise(builder: MathBuilder, x: Float) -> tuple[Float, Float]:
    """(y, offset) with x = y 2^offset and y normal, for positive finite x."""
    step = float(builder.format.mantissa + 2)
    small = x < builder.format.smallest_normal
    return builder.select(small, x * 2.0**step, x), builder.select(small, -step, 0.0)


def log_sum(builder: MathBuilder, k: Float, f: Float) -> Float:
    """k ln 2 + log(1 + f) for 1 + f in [sqrt(1/2), sqrt(2)]."""
    high, low = LN2_PARTS[builder.element]
    half_square = f * 0.5 * f
    if builder.double:
        s = f / (f + 2.0)
        z = s * s
        tail = builder.polynomial(coefficients.LOG_F64, z) * z
        correction = builder.fma(s, half_square + tail, k * low)
        return builder.fma(k, high, f - (half_square - correction))
    cubic = f * f * f * builder.polynomial(coefficients.LOG_F32, f)
    return builder.fma(k, high, f - (half_square - builder.fma(k, low, cubic)))


def at_edges(builder: MathBuilder, x: Float, y: Float) -> Float:
    """The logarithm y of x, with log(0) = -inf, log(inf) = inf, and NaN below 0 and for NaN."""
    y = builder.select(x.equals(INFINITY), x, y)
    y = builder.select(x.equals(0.0), -INFINITY, y)
    return builder.select(x < 0.0, NAN, builder.select(x.is_nan(), x, y))


def log(builder: MathBuilder, x: Float) -> Float:
    """The natural logarithm, subnormal arguments included."""
    y, offset = normalise(builder, x)
    k, m = decompose(builder, y)
    return at_edges(builder, x, log_sum(builder, k + offset, m - 1.0))


def log_of_sum(builder: MathBuilder, high: Float, low: Float, extra: Float | float = 0.0) -> Float:
    """log((high + low) 2^extra) for positive normal high and |low| at most an ulp of it or so; no edge cases."""
    k, m = decompose(builder, high)
    # 2^(1 - k) by exponent arithmetic; it becomes 0, not garbage, for the largest k = bias + 1.
    scale = (m.bits() - high.bits() + (ONE_BITS[builder.element] + (1 << builder.format.mantissa))).as_float()
    return log_sum(builder, k + extra, (m - 1.0) + low * 0.5 * scale)


def log1p(builder: MathBuilder, x: Float) -> Float:
    """log(1 + x) with the rounding error of 1 + x carried along; -0 stays -0."""
    total = x + 1.0
    larger = builder.select(x > 1.0, x, 1.0)
    smaller = builder.select(x > 1.0, 1.0, x)
    error = smaller - (total - larger)
    y = log_of_sum(builder, total, error)
    return builder.copysign(at_edges(builder, total, y), x)
