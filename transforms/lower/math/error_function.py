"""erf and erfc.

|x| < 1: erf(x) = x + x p(x^2).  From there erfc(a) = exp(-a^2) g(u) / (1 + 2a) with u = (a - 4)/(a + 4), where
g = (1 + 2a) exp(a^2) erfc(a) varies slowly (M. M. Shepherd and J. G. Laframboise, Math. Comp. 36 (1981)); a^2 is a pair, because its
rounding error would be multiplied by a^2 in the exponential.
"""

from __future__ import annotations

from wengert.transforms.lower.math import coefficients
from wengert.transforms.lower.math.double_double import Pair, exact_product
from wengert.transforms.lower.math.exponential import exp_pair
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
