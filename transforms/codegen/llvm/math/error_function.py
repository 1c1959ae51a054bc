"""erf, erfc and the inverse of erf.

|x| < 1: erf(x) = x + x p(x^2).  From there erfc(a) = exp(-a^2) g(u) / (a + 4) with u = (a - 4)/(a + 4), where
g = (a + 4) exp(a^2) erfc(a) varies slowly (after M. M. Shepherd and J. G. Laframboise, Math. Comp. 36 (1981)); a^2 is a pair, because its
rounding error would be multiplied by a^2 in the exponential.
erf of f32 needs no more than a polynomial of erfc.
"""

from __future__ import annotations

from wengert.transforms.codegen.llvm.math import coefficients
from wengert.transforms.codegen.llvm.math.double_double import Pair, exact_product, exact_sum
from wengert.transforms.codegen.llvm.math.exponential import exp_pair
from wengert.transforms.codegen.llvm.math.expressions import Float, MathBuilder
from wengert.transforms.codegen.llvm.math.logarithm import INFINITY, log


def erf_near(builder: MathBuilder, x: Float) -> Float:
    """erf(x) for |x| <= 1."""
    p = builder.polynomial(builder.pick(coefficients.ERF_F32, coefficients.ERF_F64), x * x)
    return builder.fma(x, p, x)


def erfc_far_f32(builder: MathBuilder, a: Float) -> Float:
    """erfc(a) for 1 <= a to an absolute error of 2^-26, which is enough for erf; beyond 3.92 erf is 1."""
    return builder.polynomial(coefficients.ERFC_F32, builder.at_most(a, 3.92) - 2.46)


def erfc_far(builder: MathBuilder, a: Float) -> Float:
    """erfc(a) for 0.45 <= a, accurate relative to its value."""
    b = builder.at_most(a, builder.pick(10.3, 27.3))
    # 1/(b + 4) as a pair: its error would enter twice.
    shifted = exact_sum(b, builder.constant(4.0))
    inverse = 1.0 / shifted.hi
    inverse_low = inverse * builder.fma(-inverse, shifted.lo, builder.fma(-inverse, shifted.hi, 1.0))
    u = builder.fma(inverse_low, -8.0, builder.fma(inverse, -8.0, 1.0))
    g = builder.horner(builder.pick(coefficients.ERFC_SCALED_F32, coefficients.ERFC_SCALED_F64), u)
    square = exact_product(b, b)
    return exp_pair(builder, Pair(-square.hi, -square.lo)) * builder.fma(g, inverse, g * inverse_low)


def erf(builder: MathBuilder, x: Float) -> Float:
    """Odd, +-1 far out."""
    a = builder.abs(x)
    far = builder.copysign(1.0 - builder.pick(erfc_far_f32, erfc_far)(builder, a), x)
    return builder.select(a > 1.0, far, erf_near(builder, x))


def erfc(builder: MathBuilder, x: Float) -> Float:
    """1 - erf(x) without cancellation; subnormal results are rounded, not flushed."""
    a = builder.abs(x)
    tail = erfc_far(builder, a)
    far = builder.select(x < 0.0, 2.0 - tail, tail)
    return builder.select(a > 0.6, far, 1.0 - erf_near(builder, x))


def erf_inv(builder: MathBuilder, x: Float) -> Float:
    """x P(w) with w = -log(1 - x^2), pieces of P in w and in sqrt(w) (M. Giles, GPU Computing Gems 2, 2011); +-inf at +-1, NaN beyond."""
    a = builder.abs(x)
    w = -log(builder, (1.0 - a) * (1.0 + a))
    return builder.select(a.equals(1.0), builder.copysign(INFINITY, x), x * builder.pick(erf_inv_ratio_f32, erf_inv_ratio_f64)(builder, w))


def erf_inv_ratio_f64(builder: MathBuilder, w: Float) -> Float:
    """erfinv(x) / x for w = -log(1 - x^2)."""
    root = builder.sqrt(w)
    middle = builder.polynomial(coefficients.ERF_INV_MIDDLE_F64, root - 3.25)
    outer = builder.polynomial(coefficients.ERF_INV_OUTER_F64, root - 5.0)
    inner = builder.polynomial(coefficients.ERF_INV_INNER_F64, w - 3.125)
    return builder.select(w < 6.25, inner, builder.select(w < 16.0, middle, outer))


def erf_inv_ratio_f32(builder: MathBuilder, w: Float) -> Float:
    """The same; the polynomials cancel and are evaluated in f64."""
    wide_w, wide_root = builder.widen(w), builder.widen(builder.sqrt(w))
    wide = wide_w.builder
    outer = wide.polynomial(coefficients.ERF_INV_OUTER_F32, wide_root - 3.0)
    inner = wide.polynomial(coefficients.ERF_INV_INNER_F32, wide_w - 2.5)
    return builder.narrow(wide.select(wide_w < 5.0, inner, outer))
