"""The derivative of the Hurwitz zeta function in its exponent, as a sum of powers and logarithms.

For s > 1 and q > 0 it is minus the sum of log(q + k) (q + k)^-s over k >= 0, and the Euler-Maclaurin formula of ``zeta_sums`` differentiated in s
says what the terms from a = q + N on add up to (DLMF 25.11.28 and 2.10.1)::

    a^-s (-a (L + 1/(s - 1)) / (s - 1)  -  L/2  +  sum over j of b_j a^(1 - 2j) (p_j' - L p_j)),   L = log a,  p_j = s (s + 1) ... (s + 2j - 2)

What it is made of has derivatives of its own, so that those of higher order follow. Everything is computed in f64.
"""

from __future__ import annotations

from wengert.dialects.builder import OpBuilder, Value
from wengert.ir.tensor_types import element, f64, shape, tensor
from wengert.transforms.core.zeta_sums import COEFFICIENTS, LARGEST_EXPONENT, TERMS


def zeta_in_exponent(b: OpBuilder, exponent: Value, shift: Value) -> Value:
    """d zeta(s, q) / ds; -inf at s = 1, NaN for s < 1 and for q <= 0, where zeta is defined for whole s only."""
    s, q = b.convert(exponent, f64), b.convert(shift, f64)
    one, zero, nan, infinity = (b.full_like(s, value) for value in (1, 0, float("nan"), float("inf")))
    usable = b.and_(b.compare("GT", s, one), b.compare("GT", q, zero))
    inner_s, inner_q = b.select(usable, s, b.full_like(s, 2)), b.select(usable, q, one)
    first = _first_terms(b, inner_s, inner_q)
    total = b.add(first, _rest(b, inner_s, b.add(inner_q, b.full_like(q, TERMS))))
    # where the terms overflow, the series may diverge
    total = b.select(b.compare("EQ", b.abs(first), infinity), first, total)
    total = b.select(usable, total, nan)
    at_one = b.and_(b.compare("EQ", s, one), b.compare("GT", q, zero))
    return b.convert(b.select(at_one, b.negate(infinity), total), element(exponent))


def _first_terms(b: OpBuilder, s: Value, q: Value) -> Value:
    """Minus the sum of log(q + k) (q + k)^-s for k < N; a power that is zero outweighs every logarithm."""
    extents = [TERMS, *shape(q)]
    s_, q_ = (b.broadcast_in_dim(x, range(1, len(extents)), extents) for x in (s, q))
    base = b.add(q_, b.iota(0, tensor(extents, f64)))
    power = b.power(base, b.negate(s_))
    zero = b.full_like(power, 0)
    terms = b.select(b.compare("EQ", power, zero), zero, b.multiply(b.negate(b.log(base)), power))
    return b.reduce_sum(terms, [0])


def _rest(b: OpBuilder, s: Value, a: Value) -> Value:
    """The sum of the terms from a on."""
    one, infinity = b.full_like(s, 1), b.full_like(s, float("inf"))
    power, logarithm = b.power(a, b.negate(s)), b.log(a)
    above = b.subtract(s, one)
    integral = b.multiply(b.divide(a, above), b.add(logarithm, b.divide(one, above)))
    series = _series(b, s, a, logarithm)
    total = b.add(b.subtract(b.multiply(b.full_like(s, -0.5), logarithm), integral), series)
    vanishes = b.or_(b.compare("EQ", power, b.full_like(s, 0)), b.compare("EQ", a, infinity))
    return b.select(vanishes, b.full_like(s, 0), b.multiply(power, total))


def _series(b: OpBuilder, s: Value, a: Value, logarithm: Value) -> Value:
    """The sum over j, by Horner's rule for values and derivatives of p_j / a^(2j - 1) side by side."""
    bounded = b.minimum(s, b.full_like(s, LARGEST_EXPONENT))
    inverse = b.divide(b.full_like(a, 1), a)
    square = b.multiply(inverse, inverse)
    value, slope = b.full_like(s, COEFFICIENTS[-1]), b.full_like(s, 0)
    for j in range(len(COEFFICIENTS) - 1, 0, -1):
        first, second = (b.add(bounded, b.full_like(s, k)) for k in (2 * j - 1, 2 * j))
        factor, rise = b.multiply(b.multiply(first, second), square), b.multiply(b.add(first, second), square)
        slope = b.add(b.multiply(rise, value), b.multiply(factor, slope))
        value = b.add(b.full_like(s, COEFFICIENTS[j - 1]), b.multiply(factor, value))
    slope = b.multiply(inverse, b.add(value, b.multiply(bounded, slope)))
    value = b.multiply(inverse, b.multiply(bounded, value))
    return b.subtract(slope, b.multiply(logarithm, value))
