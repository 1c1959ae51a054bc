"""erf, erfc and the inverse of erf.

|x| < 1: erf(x) = x + x p(x^2).  From there erfc(a) = exp(-a^2) g(u) / (1 + 2a) with u = (a - 4)/(a + 4), where
g = (1 + 2a) exp(a^2) erfc(a) varies slowly (M. M. Shepherd and J. G. Laframboise, Math. Comp. 36 (1981)); a^2 is a pair, because its
rounding error would be multiplied by a^2 in the exponential.
"""

from __future__ import annotations

from wengert.transforms.lower.math import coefficients
from wengert.transforms.lower.math.double_double import Pair, exact_product
from wengert.transforms.lower.math.exponential import exp_pair
from wengert.transforms.lower.math.logarithm import INFINITY, log
from wengert.transforms.lower.math.vector import Code, Float


def erf_near(code: Code, x: Float) -> Float:
    """erf(x) for |x| <= 1."""
    p = code.polynomial(code.pick(coefficients.ERF_F32, coefficients.ERF_F64), x * x)
    return code.fma(x, p, x)


def erfc_far(code: Code, a: Float) -> Float:
    """erfc(a) for 0.45 <= a, 0 where it underflows."""
    b = code.at_most(a, code.pick(10.1, 27.3))
    u = (b - 4.0) / (b + 4.0)
    g = code.polynomial(code.pick(coefficients.ERFC_F32, coefficients.ERFC_F64), u)
    square = exact_product(b, b)
    return exp_pair(code, Pair(-square.hi, -square.lo)) * (g / code.fma(b, 2.0, 1.0))


def erf(code: Code, x: Float) -> Float:
    """Odd, +-1 far out."""
    a = code.abs(x)
    far = code.copysign(1.0 - erfc_far(code, a), x)
    return code.select(a > 1.0, far, erf_near(code, x))


def erfc(code: Code, x: Float) -> Float:
    """1 - erf(x) without cancellation; subnormal results are rounded, not flushed."""
    a = code.abs(x)
    tail = erfc_far(code, a)
    far = code.select(x < 0.0, 2.0 - tail, tail)
    return code.select(a > 0.5, far, 1.0 - erf_near(code, x))


def erf_inv(code: Code, x: Float) -> Float:
    """x P(w) with w = -log(1 - x^2), pieces of P in w and in sqrt(w) (M. Giles, GPU Computing Gems 2, 2011); +-inf at +-1, NaN beyond."""
    a = code.abs(x)
    w = -log(code, (1.0 - a) * (1.0 + a))
    root = code.sqrt(w)
    if code.double:
        middle = code.polynomial(coefficients.ERF_INV_MIDDLE_F64, root - 3.25)
        outer = code.polynomial(coefficients.ERF_INV_OUTER_F64, root - 5.0)
        p = code.select(w < 16.0, middle, outer)
        p = code.select(w < 6.25, code.polynomial(coefficients.ERF_INV_INNER_F64, w - 3.125), p)
    else:
        outer = code.polynomial(coefficients.ERF_INV_OUTER_F32, root - 3.0)
        p = code.select(w < 5.0, code.polynomial(coefficients.ERF_INV_INNER_F32, w - 2.5), outer)
    return code.select(a.equals(1.0), code.copysign(INFINITY, x), x * p)
