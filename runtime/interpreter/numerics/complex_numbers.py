"""Functions of complex numbers that NumPy lacks, or computes with more error than it must.

Sources: W. Kahan, "Branch Cuts for Complex Elementary Functions" (1987), for log(1 + z) and exp(z) - 1; R. L. Smith, Algorithm 116 (1962), with the scaling of
M. Baudin and R. L. Smith, "A Robust Complex Division in Scilab" (2012), and C99, annex G, for quotients; T. J. Dekker, Numer. Math. 18 (1971), for
products whose rounding errors are kept. What is not listed here is NumPy's, which is the C library's.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.special

sp: Any = scipy.special
_where: Any = np.where  # its stubs cannot type elements that are Any

FAR = 40.0
"""From here on e^-x is nothing beside e^x."""


def make_complex(re: Any, im: Any) -> Any:
    """re + i im, without the arithmetic that would spoil infinities and signed zeros."""
    dtype = np.complex64 if re.dtype == np.float32 else np.complex128
    result = np.empty(np.broadcast_shapes(np.shape(re), np.shape(im)), dtype)
    result.real, result.imag = re, im
    return result


def _moderated(z: Any) -> tuple[Any, Any]:
    """z with its larger part far from the ends of the range, and the exponent of the power of two that it was divided by."""
    large = np.maximum(np.abs(z.real), np.abs(z.imag))
    bound, step = (2.0**60, 88) if large.dtype == np.float32 else (2.0**500, 600)
    exponent = _where(large > bound, step, _where(large < 1.0 / bound, -step, 0))
    return make_complex(np.ldexp(z.real, -exponent), np.ldexp(z.imag, -exponent)), exponent


def sign(z: Any) -> Any:
    """z / abs(z), part by part; 0 at 0."""
    near, _ = _moderated(z)
    modulus = np.abs(near)
    return _where(z == 0, z.dtype.type(0), make_complex(near.real / modulus, near.imag / modulus))


def square(z: Any) -> Any:
    """(x - y)(x + y) + 2 x y i; 0 as real part where |x| = |y|, which the sum might overflow."""
    x, y = z.real, z.imag
    product = x * y
    return make_complex(_where((np.abs(x) == np.abs(y)) & np.isfinite(x), x.dtype.type(0), (x - y) * (x + y)), product + product)


def divide(x: Any, y: Any) -> Any:
    """x / y by the ratio of the smaller part of y to the larger one; what is not finite as in annex G."""
    dtype = x.dtype
    x, y = (np.asarray(z, np.complex128) for z in np.broadcast_arrays(x, y))
    (near_x, up), (near_y, down) = _moderated(x), _moderated(y)
    a, b, c, d = near_x.real, near_x.imag, near_y.real, near_y.imag
    steep = np.abs(d) > np.abs(c)
    large, small, p, q = _where(steep, d, c), _where(steep, c, d), _where(steep, b, a), _where(steep, a, b)
    ratio = small / large
    below = large + small * ratio
    re, im = (p + q * ratio) / below, (q - p * ratio) / below
    quotient = make_complex(np.ldexp(re, up - down), np.ldexp(_where(steep, -im, im), up - down))
    return _limits_of_quotient(quotient, x, y).astype(dtype)


def _limits_of_quotient(quotient: Any, x: Any, y: Any) -> Any:
    """Quotients that are not finite, by C99, annex G.5.1."""
    a, b, c, d = x.real, x.imag, y.real, y.imag
    undefined: Any = np.isnan(quotient.real) & np.isnan(quotient.imag)
    infinite = np.copysign(np.inf, c)
    nothing: Any = (c == 0) & (d == 0) & ~(np.isnan(a) & np.isnan(b))
    quotient = _where(nothing, make_complex(infinite * a, infinite * b), quotient)
    large, small = (np.isinf(z.real) | np.isinf(z.imag) for z in (x, y))
    a_, b_, c_, d_ = (np.copysign(np.isinf(part).astype(np.float64), part) for part in (a, b, c, d))
    upper = make_complex(np.inf * (a_ * c + b_ * d), np.inf * (b_ * c - a_ * d))
    lower = make_complex(0.0 * (a * c_ + b * d_), 0.0 * (b * c_ - a * d_))
    quotient = _where(undefined & ~nothing & large & np.isfinite(y), upper, quotient)
    return _where(undefined & ~nothing & small & np.isfinite(x), lower, quotient)


def exp(z: Any) -> Any:
    """e^z; e^-inf is a zero with the sign of y wherever it points, which C99 leaves open."""
    nothing = np.isneginf(np.asarray(z.real)) & ~np.isfinite(np.asarray(z.imag))
    return _where(nothing, make_complex(np.zeros_like(z.real), np.copysign(0.0, z.imag)), np.exp(z))


def log1p(z: Any) -> Any:
    """log |1 + z| + i arg(1 + z); where the modulus is near 1, by |1 + z|^2 - 1 = 2 x + x^2 + y^2 from exact squares."""
    x, y = z.real, z.imag
    total = 1.0 + x
    (p, p_low), (q, q_low) = _square_pair(x), _square_pair(y)
    excess = _sum(2.0 * x, np.maximum(p, q), np.minimum(p, q), p_low, q_low)
    near = (excess > -0.75) & (excess < 3.0) & (np.abs(x) < 4.0) & (np.abs(y) < 4.0)
    usual = np.log(make_complex(total, y))
    return make_complex(_where(near, 0.5 * np.log1p(_where(near, excess, 0.0)), usual.real), np.arctan2(y, total))


def _square_pair(x: Any) -> tuple[Any, Any]:
    """x^2 and what its rounding left out, for |x| below 2^500; zero beyond, where nobody asks."""
    x = _where(np.abs(x) < 2.0**500, x, 0.0)
    high = x * 134217729.0
    high = high - (high - x)
    low = x - high
    square = x * x
    return square, ((high * high - square) + 2.0 * high * low) + low * low


def _sum(first: Any, *rest: Any) -> Any:
    """A sum of numbers of which large ones may cancel: what each addition rounds off is added up beside it."""
    total, lost = first, 0.0
    for term in rest:
        new = total + term
        part = new - total
        lost = lost + ((total - (new - part)) + (term - part))
        total = new
    return total + lost


def expm1(z: Any) -> Any:
    """exp(z) - 1, accurate near 0: cos(y) = 1 - 2 sin(y/2)^2."""
    x, y = z.real, z.imag
    whole, half = exp(z), np.sin(0.5 * y)
    near = np.expm1(x) * np.cos(y) - 2.0 * half * half
    return make_complex(_where(np.abs(x) > FAR, whole.real - 1.0, near), whole.imag)


def logistic(z: Any) -> Any:
    """1 / (1 + exp(-z)), where |1 + exp(-z)|^2 = m^2 + 4 e c^2 with e = exp(-|x|), m = 1 - e and c = cos(y / 2)."""
    t = np.abs(z.real)
    far = np.isinf(t)
    y = _where(far, np.copysign(0.0, z.imag), z.imag)
    e, m, c = np.exp(-t), -np.expm1(-t), np.cos(0.5 * y)
    double = 2.0 * c * c
    below = m * m + 2.0 * e * double
    upper = _where(z.real >= 0, m + e * double, e * (double - m))
    return make_complex(upper / below, _where(y == 0, y, e * np.sin(y) / below))


def rsqrt(z: Any) -> Any:
    """1 / sqrt(z), where one over an infinity is zero (NumPy's division gives NaN).

    Numbers below 1 are multiplied by a power of 4, and the one above the fraction by its root, since a part of the root that is subnormal has lost digits.
    The ratio of the parts of a root may be subnormal where the smaller part of the quotient is not: it is divided last.
    """
    one, digits = z.real.dtype.type(1), np.finfo(z.real.dtype).nmant + 1
    shift = _where(np.maximum(np.abs(z.real), np.abs(z.imag)) < 1, digits, 0)
    root = np.sqrt(make_complex(np.ldexp(z.real, 2 * shift), np.ldexp(z.imag, 2 * shift)))
    steep = np.abs(root.imag) > np.abs(root.real)
    large, small = _where(steep, root.imag, root.real), _where(steep, root.real, root.imag)
    whole = np.ldexp(one, shift) / (large + small * (small / large))
    part = small * whole / large
    inverse = make_complex(_where(steep, part, whole), 0.0 - _where(steep, whole, part))
    inverse = _where(root == 0, make_complex(np.copysign(np.inf, root.real), np.full_like(root.imag, np.nan)), inverse)
    return _where(np.isinf(root.real) | np.isinf(root.imag), 0.0, inverse)


def cbrt(z: Any) -> Any:
    """The principal cube root: that of the modulus, at a third of the angle."""
    near, exponent = _moderated(z)
    third = np.floor_divide(exponent, 3)
    size = np.ldexp(np.cbrt(np.ldexp(np.abs(near), exponent - 3 * third)), third)
    angle = np.arctan2(z.imag, z.real) / 3.0
    return _where(z == 0, z, make_complex(size * np.cos(angle), _where(angle == 0, angle, size * np.sin(angle))))


def power(z: Any, w: Any) -> Any:
    """exp(w log z), computed in the longest precision that there is; 1 for w = 0 and z for w = 1; for z = 0 zero if w has a positive real part, else NaN."""
    logarithm = np.log(z.astype(np.clongdouble))
    product = np.empty(np.broadcast_shapes(np.shape(z), np.shape(w)), np.clongdouble)
    product.real = w.real * logarithm.real - w.imag * logarithm.imag
    product.imag = w.real * logarithm.imag + w.imag * logarithm.real
    result = exp(product).astype(np.complex128)
    zero = _where(w.real > 0, 0.0, np.nan)
    result = _where(z == 0, make_complex(zero, zero), result)
    return _where(w == 0, 1.0, _where(w == 1, z, result))


def atan2(y: Any, x: Any) -> Any:
    """-i log((x + i y) / s) with s = sqrt(x^2 + y^2), of x and y over the largest of their parts, so that no square leaves the range.

    Of small angles the quotient is near 1: it is 1 + (i y - y^2 / (s + x)) / s, whose logarithm has the digits of the angle.
    """
    largest = np.maximum.reduce(np.broadcast_arrays(*(np.abs(part) for z in (x, y) for part in (z.real, z.imag))))
    x, y = (make_complex(z.real / largest, z.imag / largest) for z in (x, y))
    square, quarter_turn = y * y, make_complex(-y.imag, y.real)
    root = np.sqrt(x * x + square)
    both, size = root + x, np.abs(root)
    is_small = (2.0 * np.abs(y) < size) & (np.abs(both) >= size)
    excess = (quarter_turn - square / _where(is_small, both, 1.0)) / root
    angle = _where(is_small, log1p(_where(is_small, excess, 0.0)), np.log((x + quarter_turn) / root))
    return make_complex(angle.imag, -angle.real)
