"""Integer arithmetic where NumPy and StableHLO differ: every operation is total and wraps around.

Division and shifts follow what XLA does where the specification leaves it open: ``x / 0 = -1`` (all ones), ``x % 0 = x``,
``INT_MIN / -1 = INT_MIN``; shifts by the width or more, or by a negative amount, give 0 (copies of the sign for the
arithmetic shift).
"""

from __future__ import annotations

from typing import Any

import numpy as np

_BYTES = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}
_where: Any = np.where  # its stubs cannot type elements that are Any


def _width(x: Any) -> int:
    return 8 * x.dtype.itemsize


def bits(x: Any) -> Any:
    """The same bits as unsigned integers of the same width."""
    return x.view(_BYTES[x.dtype.itemsize])


def divide(x: Any, y: Any) -> Any:
    """Quotient rounded towards zero."""
    zero = y == 0
    divisor = _where(zero, y.dtype.type(1), y)
    quotient, rest = np.floor_divide(x, divisor), np.remainder(x, divisor)
    quotient = quotient + ((rest != 0) & ((x < 0) != (divisor < 0))).astype(x.dtype)
    return _where(zero, np.invert(x.dtype.type(0)), quotient)


def remainder(x: Any, y: Any) -> Any:
    """Rest of the quotient rounded towards zero; it has the sign of x."""
    zero = y == 0
    return _where(zero, x, np.fmod(x, _where(zero, y.dtype.type(1), y)))


def power(x: Any, y: Any) -> Any:
    """x multiplied y times with wraparound; for negative y the quotient 1 / x**-y, and 0 for x = 0."""
    result = np.broadcast_to(x.dtype.type(1), np.broadcast_shapes(np.shape(x), np.shape(y)))
    base, rest = x, bits(y)
    for _ in range(_width(x)):
        result = _where(rest & 1, result * base, result)
        base, rest = base * base, rest >> 1
    if x.dtype.kind == "u":
        return result
    unit = _where(x == 1, x, _where(x == -1, _where(y & 1, x, -x), x.dtype.type(0)))
    return _where(y < 0, unit, result)


def sign(x: Any) -> Any:
    """-1, 0 or 1."""
    return np.sign(x)


def shift_left(x: Any, y: Any) -> Any:
    """Bits moved up, zeros moved in."""
    return _shifted(np.left_shift, x, y, x.dtype.type(0))


def shift_right_logical(x: Any, y: Any) -> Any:
    """Bits moved down, zeros moved in."""
    return _shifted(np.right_shift, bits(x), y, bits(x.dtype.type(0))).view(x.dtype)


def shift_right_arithmetic(x: Any, y: Any) -> Any:
    """Bits moved down, copies of the top bit moved in."""
    signed = x.view(np.dtype(f"i{x.dtype.itemsize}"))
    return _shifted(np.right_shift, signed, y, _where(signed < 0, signed.dtype.type(-1), signed.dtype.type(0))).view(x.dtype)


def _shifted(shift: Any, x: Any, y: Any, beyond: Any) -> Any:
    amount = bits(y)
    inside = amount < _width(x)
    return _where(inside, shift(x, _where(inside, amount, 0).astype(x.dtype)), beyond).astype(x.dtype)


def popcnt(x: Any) -> Any:
    """Number of bits that are set."""
    return np.bitwise_count(bits(x)).astype(x.dtype)


def count_leading_zeros(x: Any) -> Any:
    """Number of zero bits above the highest bit set: the width less the bits below and including it."""
    filled, step = bits(x), 1
    while step < _width(x):
        filled, step = filled | (filled >> filled.dtype.type(step)), 2 * step
    return (_width(x) - np.bitwise_count(filled)).astype(x.dtype)


def of_width(function: Any, width: int) -> Any:
    """The function on integers of fewer than 8 bits, which lie in bytes: it does not see the bits above, which copy the sign or are zero."""
    form = _FORMS.get(function)
    if form is None:
        return function

    def narrow(x: Any, *more: Any) -> Any:
        return np.asarray(form(bits(x) & np.uint8((1 << width) - 1), width, *more)).astype(x.dtype)

    return narrow


def _clz_of_width(low: Any, width: int) -> Any:
    return count_leading_zeros(low) - np.uint8(8 - width)


def _sra_of_width(low: Any, width: int, y: Any) -> Any:
    top = np.uint8(1 << (width - 1))
    return shift_right_arithmetic(np.asarray((low ^ top) - top, np.uint8), y)


def _popcnt_of_width(low: Any, width: int) -> Any:
    return popcnt(low)


def _srl_of_width(low: Any, width: int, y: Any) -> Any:
    return shift_right_logical(low, y)


_FORMS: dict[Any, Any] = {
    popcnt: _popcnt_of_width,
    count_leading_zeros: _clz_of_width,
    shift_right_logical: _srl_of_width,
    shift_right_arithmetic: _sra_of_width,
}
