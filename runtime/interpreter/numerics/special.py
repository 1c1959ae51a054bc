"""Functions of f64 that NumPy lacks or computes differently: the CHLO special functions and their kin.

All are called with f64 only (see ``precision``). Sources: DLMF 5.15 (polygamma), 25.11 (Hurwitz zeta).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.special

from wengert.transforms.core.zeta_sums import COEFFICIENTS, LARGEST_EXPONENT, TERMS

sp: Any = scipy.special
_where: Any = np.where  # its stubs cannot type elements that are Any
_ERFC = np.frompyfunc(math.erfc, 1, 1)


def rsqrt(x: Any) -> Any:
    """1 / sqrt(x); infinite with the sign of x at zeros."""
    return 1.0 / np.sqrt(x)


def sign(x: Any) -> Any:
    """-1 or 1; zeros and NaN are their own sign."""
    return _where(x == 0, x, np.sign(x))


def round_half_away(x: Any) -> Any:
    """To the nearest integer, ties away from zero."""
    whole = np.trunc(x)
    return whole + np.copysign((np.abs(x - whole) >= 0.5).astype(x.dtype), x)


def maximum(x: Any, y: Any) -> Any:
    """The larger; NaN if either is NaN; 0 is larger than -0."""
    return _where((x == 0) & (y == 0), x + y, np.maximum(x, y))


def minimum(x: Any, y: Any) -> Any:
    """The smaller; NaN if either is NaN; -0 is smaller than 0."""
    return _where((x == 0) & (y == 0), -(-x - y), np.minimum(x, y))


def digamma(x: Any) -> Any:
    """The derivative of log gamma; NaN at its poles 0, -1, -2, ..."""
    return _where((x <= 0) & (x == np.floor(x)), np.nan, sp.psi(x))


def erfc(x: Any) -> Any:
    """The complementary error function by the C library: SciPy's loses digits where it is small."""
    return np.asarray(_ERFC(x)).astype(np.float64)


def erf_inv(x: Any) -> Any:
    """The inverse error function; a zero keeps its sign."""
    return _where(x == 0, x, sp.erfinv(x))


def bessel_i1e(x: Any) -> Any:
    """exp(-|x|) I1(x); an odd function, at zero too."""
    return np.copysign(sp.i1e(x), x)


def lgamma(x: Any) -> Any:
    """log |gamma(x)|; infinite at the poles of gamma and at both infinities. Beside zero it is -log |x|, where SciPy's overflows."""
    small = (x != 0) & (np.abs(x) < np.finfo(x.dtype).tiny)
    return _where(np.isinf(x), np.inf, _where(small, -np.log(np.abs(_where(small, x, 1.0))), sp.gammaln(x)))


def zeta(x: Any, q: Any) -> Any:
    """The Hurwitz zeta function, sum over k >= 0 of (q + k)^-x, for x >= 1.

    For q <= 0 some terms have a negative base, so x must be whole. At its poles q = 0, -1, -2, ... it is infinite if the
    two sides agree (x is even), else NaN.
    """
    pole, negative = (q <= 0) & (q == np.floor(q)), q <= 0
    undefined = (x < 1) | (negative & (x != np.floor(x)))
    inner = _where(pole, 0.5, q)
    even = np.fmod(x, 2) == 0
    # SciPy adds term by term up to zero: instead, the terms on both sides of zero are sums of their own
    base = _where(negative, inner - np.floor(inner), inner)
    regular = sp.zeta(x, base)
    tiny = (x > 1) & np.isfinite(x) & np.isfinite(base) & ~(regular > 1e-290)
    if np.any(tiny):  # SciPy's terms underflow before their sum does
        regular = _where(tiny, _powers_from(_where(tiny, x, 2.0), _where(tiny, base, 1.0)), regular)
    if np.any(negative):
        other = sp.zeta(x, _where(negative, np.ceil(inner) - inner, 1.0)) - sp.zeta(x, _where(negative, 1.0 - inner, 1.0))
        regular = _where(negative, regular + _where(even, other, -other), regular)
    regular = _where(np.isposinf(x) & (q > 1), 0.0, _where(undefined, np.nan, regular))
    return _where(x == 1, np.inf, _where(pole, _where(even, np.inf, np.nan), regular))


def _powers_from(s: Any, q: Any) -> Any:
    """zeta(s, q) for q > 0 as q^-s times the sum of (q / (q + k))^s, by the Euler-Maclaurin formula, see ``transforms/core/zeta_sums.py``."""
    bounded, a = np.minimum(s, LARGEST_EXPONENT), q + TERMS
    first = sum((q / (q + k)) ** s for k in range(TERMS))
    series = sum(b * sp.poch(bounded, 2 * j - 1) * a ** (1.0 - 2 * j) for j, b in enumerate(COEFFICIENTS, 1))
    rest = (q / a) ** s
    half = q ** (-0.5 * s)  # the sum comes between the halves of the power, since it may be large
    return half * (first + _where(rest == 0, 0.0, rest * (a / (s - 1.0) + 0.5 + series))) * half


def polygamma(n: Any, x: Any) -> Any:
    """The derivative of order n of digamma: (-1)^(n+1) n! zeta(n + 1, x); NaN unless n is 0, 1, 2, ..."""
    sign = _where(np.fmod(n, 2) == 0, -1.0, 1.0)
    sums = zeta(n + 1.0, x)
    size = sp.gamma(n + 1.0) * sums
    far = (n > 0) & (x > 0) & np.isfinite(n) & np.isfinite(x) & ((n > 170) | (sums < 1e-290))
    if np.any(far):  # a factor overflows or underflows, the product need not
        size = _where(far, _factorial_zeta(_where(far, n, 1.0), _where(far, x, 1.0)), size)
    size = _where(np.isposinf(x), 0.0, size)
    whole = (n == np.floor(n)) & (n >= 0) & np.isfinite(n)
    return _where(whole, _where(n == 0, digamma(x), sign * size), np.nan)


def _factorial_zeta(n: Any, x: Any) -> Any:
    """n! zeta(n + 1, x) for x > 0 by the Euler-Maclaurin formula, see ``transforms/core/zeta_sums.py``."""
    s, a = n + 1.0, x + TERMS

    def term(y: Any, weight: Any) -> Any:
        half = y ** (-0.5 * s)  # n! and the weight come between the halves of the power
        return _where(n > 170, np.exp(sp.gammaln(s) - s * np.log(y)) * weight, sp.gamma(s) * half * weight * half)

    series = sum(b * sp.poch(s, 2 * j - 1) * a ** (1.0 - 2 * j) for j, b in enumerate(COEFFICIENTS, 1))
    first = sum(term(x + k, 1.0) for k in range(TERMS))
    return _where(np.isposinf(first), first, first + term(a, a / n + 0.5 + series))
