"""CHLO's kernel of the complex arc sine and cosine.

With x = |re z|, y = |im z|, and the distances r of (x, y) from -1 and s from 1, a = (r + s) / 2 is the half axis of the ellipse through z with foci 1 and -1:

    re w = sqrt(a^2 - x^2)       im w = log(a + sqrt(a^2 - 1))

Close to the foci and the real line the differences a - 1 and a - x lose all of their digits, and are put together from y^2 = (r - x - 1)(r + x + 1) instead
(T. E. Hull, T. F. Fairgrieve, P. T. P. Tang, "Implementing the complex arcsine and arccosine functions using exception handling", TOMS 23, 1997). Where
squares would overflow, z is as good as infinite: re w is y, and im w is log(2 |z|).
"""

from __future__ import annotations

from math import log

from wengert.dialects import chlo
from wengert.dialects.builder import OpBuilder, Value
from wengert.ir.tensor_types import dtype_of, element


def expand_asin_acos_kernel(b: OpBuilder, op: chlo.AsinAcosKernelOp) -> list[Value]:
    """Both parts, of parts that are made to fit."""
    x, y = b.abs(b.real(op.operand)), b.abs(b.imag(op.operand))
    one = b.full_like(x, 1)
    large = b.full_like(x, 2.0**27 if dtype_of(element(x)).itemsize == 8 else 2.0**12)
    is_large = b.compare("GT", b.maximum(x, y), large)
    re, im = _moderate(b, *(b.select(is_large, one, part) for part in (x, y)))
    far = b.add(b.full_like(x, log(2)), _log_of_size(b, x, y))
    return [b.complex(b.select(is_large, y, re), b.select(is_large, far, im))]


def _log_of_size(b: OpBuilder, x: Value, y: Value) -> Value:
    """log |(x, y)| with the larger part taken out, so that nothing overflows."""
    larger, smaller = b.maximum(x, y), b.minimum(x, y)
    infinite = b.compare("EQ", larger, b.full_like(x, float("inf")))
    divisor = b.select(b.or_(infinite, b.compare("EQ", larger, b.full_like(x, 0))), b.full_like(x, 1), larger)
    ratio = b.select(infinite, b.full_like(x, 0), b.divide(smaller, divisor))
    return b.add(b.log(larger), b.multiply(b.full_like(x, 0.5), b.log_plus_one(b.multiply(ratio, ratio))))


def _moderate(b: OpBuilder, x: Value, y: Value) -> tuple[Value, Value]:
    zero, half, one = (b.full_like(x, value) for value in (0, 0.5, 1))
    right, left = b.add(x, one), b.subtract(x, one)
    r, s = b.abs(b.complex(right, y)), b.abs(b.complex(left, y))
    inside = b.compare("LE", x, one)
    outward = b.abs(left)
    near = b.add(s, outward)
    # y^2 / (s + |x - 1|), which is what the larger one of s and |x - 1| is larger by; 0 where both are 0
    gap = b.multiply(y, b.divide(y, b.select(b.compare("EQ", near, zero), one, near)))
    far = b.multiply(y, b.divide(y, b.add(r, right)))
    less_one = b.multiply(half, b.add(far, b.select(inside, gap, near)))  # a - 1
    less_x = b.multiply(half, b.add(far, b.select(inside, near, gap)))  # a - x
    a = b.multiply(half, b.add(r, s))
    # where y is small beside the other distances, y^2 may vanish: y is taken out of both roots
    flat = b.compare("LT", y, b.multiply(half, near))
    shared = b.multiply(half, b.add(b.divide(one, b.add(r, right)), b.divide(one, b.select(flat, near, one))))
    beside = b.multiply(y, b.sqrt(b.multiply(shared, b.add(a, one))))
    im = b.log_plus_one(b.add(less_one, b.select(b.and_(inside, flat), beside, b.sqrt(b.multiply(less_one, b.add(a, one))))))
    outer = b.multiply(y, b.sqrt(b.multiply(shared, b.add(a, x))))
    return b.select(b.or_(inside, b.not_(flat)), b.sqrt(b.multiply(less_x, b.add(a, x))), outer), im
