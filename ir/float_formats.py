"""Floating-point formats: the numbers of every element type as bit patterns and back, exactly.

A format is a sign, an exponent and a fraction. Those of eight bits and fewer differ in what their largest patterns mean::

    IEEE    infinities and NaNs have the largest exponent        f64, f32, f16, bf16, tf32, f80, f128, f8E5M2, f8E4M3, f8E3M4
    ONE     only the pattern of all ones is a NaN, no infinity   f8E4M3FN
    NONE    no NaN, no infinity                                  f4E2M1FN, f6E2M3FN, f6E3M2FN
    ZERO    the pattern of minus zero is the only NaN            f8E5M2FNUZ, f8E4M3FNUZ, f8E4M3B11FNUZ
    SCALE   powers of two without a sign; all ones is a NaN      f8E8M0FNU

Python's float stands for a number of any of them (NaNs keep their payloads), so one of f80 or f128 that no float equals has none.
"""

from __future__ import annotations

import math
import struct
from enum import Enum, auto
from fractions import Fraction

from msgspec import Struct
from xdsl.dialects import builtin
from xdsl.ir import Attribute


class Special(Enum):
    """The bit patterns of a format that are not numbers."""

    IEEE = auto()
    ONE = auto()
    NONE = auto()
    ZERO = auto()
    SCALE = auto()


class Format(Struct, frozen=True):
    """The bits of exponent and fraction, and the exponent's bias (by default half of its range)."""

    exponent: int
    fraction: int
    special: Special = Special.IEEE
    offset: int = 0
    leading_bit: bool = False
    """Whether the leading one of the fraction is stored, as f80 does."""

    @property
    def width(self) -> int:
        """The number of bits of a pattern."""
        return self.exponent + self.fraction + self.leading_bit + (self.special is not Special.SCALE)

    @property
    def bias(self) -> int:
        """The exponent's bias: the stored exponent less the true one."""
        return self.offset or (1 << self.exponent - 1) - 1

    @property
    def magnitudes(self) -> int:
        """The largest pattern without a sign."""
        return (1 << self.exponent + self.fraction) - 1

    @property
    def infinity(self) -> int:
        """The pattern of an infinity in a format of IEEE's kind: beyond it are the NaNs."""
        return (1 << self.exponent) - 1 << self.fraction


_FORMATS: dict[type[Attribute], Format] = {
    builtin.Float64Type: Format(11, 52),
    builtin.Float32Type: Format(8, 23),
    builtin.Float16Type: Format(5, 10),
    builtin.BFloat16Type: Format(8, 7),
    builtin.FloatTF32Type: Format(8, 10),
    builtin.Float80Type: Format(15, 63, leading_bit=True),
    builtin.Float128Type: Format(15, 112),
    builtin.Float8E5M2Type: Format(5, 2),
    builtin.Float8E4M3Type: Format(4, 3),
    builtin.Float8E3M4Type: Format(3, 4),
    builtin.Float8E4M3FNType: Format(4, 3, Special.ONE),
    builtin.Float8E5M2FNUZType: Format(5, 2, Special.ZERO, 16),
    builtin.Float8E4M3FNUZType: Format(4, 3, Special.ZERO, 8),
    builtin.Float8E4M3B11FNUZType: Format(4, 3, Special.ZERO, 11),
    builtin.Float8E8M0FNUType: Format(8, 0, Special.SCALE),
    builtin.Float6E2M3FNType: Format(2, 3, Special.NONE),
    builtin.Float6E3M2FNType: Format(3, 2, Special.NONE),
    builtin.Float4E2M1FNType: Format(2, 1, Special.NONE),
}


def format_of(type: Attribute) -> Format | None:
    """The format of an element type, or None if it is not of floating point."""
    return _FORMATS.get(type.__class__)


def bits_of(value: float, format: Format) -> int:
    """The pattern of the number of a format that is nearest to a float: of two, the even one."""
    sign = int(math.copysign(1.0, value) < 0)
    if format.special is Special.SCALE:
        return _scale(value)
    magnitude = _nan(value, format) if math.isnan(value) else _magnitude(abs(value), format)
    if format.special is Special.ZERO:
        if magnitude > format.magnitudes:
            return 1 << format.width - 1
        sign &= magnitude != 0
    if format.leading_bit:
        exponent, fraction = magnitude >> format.fraction, magnitude & (1 << format.fraction) - 1
        magnitude = (2 * exponent + (exponent != 0) << format.fraction) + fraction
    return sign << format.width - 1 | magnitude


def _nan(value: float, format: Format) -> int:
    if format.special is Special.ZERO:
        return format.magnitudes + 1
    if format.special is not Special.IEEE:
        return format.magnitudes
    payload = int.from_bytes(struct.pack("<d", value), "little") & (1 << 52) - 1
    kept = payload >> 52 - format.fraction if format.fraction <= 52 else payload << format.fraction - 52
    return format.infinity | (kept or 1 << format.fraction - 1)


def _magnitude(value: float, format: Format) -> int:
    """The pattern of a number that is not negative; one beyond all numbers where the format has neither infinity nor NaN for it."""
    if math.isinf(value):
        pattern = format.magnitudes + 1
    elif not value:
        return 0
    else:
        exponent = max(math.frexp(value)[1] - 1, 1 - format.bias)
        digits = round(Fraction(value) / Fraction(2) ** (exponent - format.fraction))
        pattern = (exponent + format.bias - 1 << format.fraction) + digits
    if format.special is Special.IEEE:
        return min(pattern, format.infinity)
    return pattern if format.special is Special.ZERO else min(pattern, format.magnitudes)


def _scale(value: float) -> int:
    """A power of two by its exponent; what lies between two goes to the upper one from the middle on, as MLIR does."""
    if math.isnan(value) or math.isinf(value) or value < 0:
        return 255
    if not value:
        return 0
    fraction, exponent = math.frexp(abs(value))
    return min(max(exponent - 1 + (fraction >= 0.75) + 127, 0), 255)


def value_of(bits: int, format: Format) -> float | None:
    """The number of a pattern, or None if no float equals it."""
    if format.special is Special.SCALE:
        return math.nan if bits == 255 else math.ldexp(1.0, bits - 127)
    sign, magnitude = bits >> format.width - 1, bits & (1 << format.width - 1) - 1
    if format.leading_bit:
        exponent, fraction = magnitude >> format.fraction + 1, magnitude & (1 << format.fraction) - 1
        if (magnitude >> format.fraction & 1) != (exponent != 0):
            return None
        magnitude = (exponent << format.fraction) + fraction
    special = format.special
    if special is Special.IEEE and magnitude >= format.infinity:
        return _special(sign, magnitude & (1 << format.fraction) - 1, format.fraction)
    if (special is Special.ONE and magnitude == format.magnitudes) or (special is Special.ZERO and sign and not magnitude):
        return math.copysign(math.nan, -1.0 if sign else 1.0)
    exponent, fraction = max(magnitude >> format.fraction, 1), magnitude & (1 << format.fraction) - 1
    digits = fraction + (1 << format.fraction if magnitude >> format.fraction else 0)
    exact = Fraction(digits) * Fraction(2) ** (exponent - format.bias - format.fraction)
    try:
        number = float(exact)
    except OverflowError:
        return None
    return (-number if sign else number) if Fraction(number) == exact else None


def _special(sign: int, fraction: int, width: int) -> float | None:
    """An infinity or a NaN as a float with the same payload."""
    payload = fraction << 52 - width if width <= 52 else fraction >> width - 52
    if width > 52 and payload << width - 52 != fraction:
        return None
    return struct.unpack("<d", (sign << 63 | 0x7FF << 52 | payload).to_bytes(8, "little"))[0]
