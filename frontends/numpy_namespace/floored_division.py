"""Division rounded towards negative infinity, with NumPy's values at zeros and infinities of both signs."""

from __future__ import annotations

import numpy as np

from wengert.dialects.builder import OpBuilder, Value
from wengert.numpy.dispatch import Array, ArrayLike
from wengert.numpy.elementwise_calls import binary, kind_of, sign_bit


def floor_divide(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """The quotient rounded towards negative infinity. By zero it is 0 for integers, and the quotient for floats, as in NumPy."""
    return binary(np.floor_divide, _floor_divide, x1, x2)


def _floor_divide(b: OpBuilder, x: Value, y: Value) -> Value:
    zero, one = b.full_like(x, 0), b.full_like(x, 1)
    nothing = b.compare("EQ", y, zero)
    if kind_of(x) in "biu":
        return b.select(nothing, zero, _integer_floor_divide(b, x, b.select(nothing, one, y)))
    plain = b.divide(x, y)
    rest = b.remainder(x, y)
    quotient = b.divide(b.subtract(x, rest), y)
    quotient = b.round_nearest_even(b.select(_lies_beyond(b, rest, y), b.subtract(quotient, one), quotient))
    # What is 0 has the sign of the plain quotient; the select keeps derivatives at 0 in any case, as rounding does.
    signed_zero = b.select(sign_bit(b, plain), b.full_like(x, -0.0), zero)
    return b.select(nothing, b.round_nearest_even(plain), b.select(b.compare("EQ", quotient, zero), signed_zero, quotient))


def _integer_floor_divide(b: OpBuilder, x: Value, y: Value) -> Value:
    quotient = b.divide(x, y)
    if kind_of(x) in "bu":
        return quotient
    return b.select(_lies_beyond(b, b.remainder(x, y), y), b.subtract(quotient, b.full_like(x, 1)), quotient)


def _lies_beyond(b: OpBuilder, rest: Value, y: Value) -> Value:
    """Whether a remainder of truncated division has the other sign than the divisor, so that floored division goes one further."""
    zero = b.full_like(rest, 0)
    return b.and_(b.compare("NE", rest, zero), b.compare("NE", b.compare("LT", rest, zero), b.compare("LT", y, zero)))


def remainder(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """The remainder of floor division, which has the sign of ``x2``, also where it is 0. By zero it is 0 for integers, and NaN for floats, as in NumPy."""
    return binary(np.remainder, _remainder, x1, x2)


mod = remainder


def _remainder(b: OpBuilder, x: Value, y: Value) -> Value:
    zero = b.full_like(x, 0)
    if kind_of(x) in "biu":
        nothing = b.compare("EQ", y, zero)
        return b.select(nothing, zero, _remainder_by(b, x, b.select(nothing, b.full_like(y, 1), y)))
    rest = _remainder_by(b, x, y)
    # Both -0 + 0 and 0 + 0 are 0. A select between constants would lose the derivative at multiples of y, which is 1.
    upward, downward = b.add(rest, zero), b.negate(b.add(b.negate(rest), zero))
    return b.select(b.compare("LT", y, zero), downward, upward)


def _remainder_by(b: OpBuilder, x: Value, y: Value) -> Value:
    rest = b.remainder(x, y)
    return rest if kind_of(x) in "bu" else b.select(_lies_beyond(b, rest, y), b.add(rest, y), rest)
