"""Floats of eight bits, computed in f32: rounding to such a format, and its bytes.

Formats are IEEE's in small (e5m2, e4m3, e3m4, with infinities), ``fn`` (finite: all ones is NaN, nothing is infinite) or ``fnuz``
(in addition there is one zero, and its negative stands for NaN); P. Micikevicius et al., FP8 Formats for Deep Learning (2022).
What is too large becomes infinity, or NaN where there is none.
"""

from __future__ import annotations

from functools import cache
from math import copysign, inf, isinf, nan
from typing import Any, cast

import numpy as np
from msgspec import Struct

from wengert.transforms.codegen.llvm.vector_builder import VectorBuilder

_F32_MANTISSA, _F32_BIAS = 23, 127


class Format(Struct, frozen=True):
    """A format: mantissa bits, the exponent of the least normal number, the largest number, whether infinity and minus zero exist, and the byte of NaN."""

    mantissa: int
    least: int
    largest: float
    has_infinity: bool
    has_minus_zero: bool
    nan: int

    @property
    def cut(self) -> int:
        """How many bits fewer than f32 the mantissa has."""
        return _F32_MANTISSA - self.mantissa

    @property
    def infinity(self) -> int:
        """The byte of infinity: all ones without a mantissa."""
        return self.nan & ~((1 << self.mantissa) - 1) & 0x7F

    @property
    def bias(self) -> int:
        """What f32 adds to an exponent more than this format, in the place of the mantissa of this format."""
        return (_F32_BIAS + self.least - 1) << self.mantissa


@cache
def format_of(name: str) -> Format:
    """The format of a type by its name in MLIR, such as ``f8E4M3FN``."""
    import ml_dtypes  # here, because most programs do without

    dtype: Any = getattr(ml_dtypes, "float8_" + name.removeprefix("f8").lower())
    info = cast(Any, ml_dtypes).finfo(dtype)
    special: Any = np.array([inf, -0.0, nan], np.float32).astype(dtype)
    infinite, negative, _ = special.astype(np.float32).tolist()
    return Format(int(info.nmant), int(info.minexp), float(info.max), isinf(infinite), copysign(1, negative) < 0, int(special.view(np.uint8)[2]))


def in_format(builder: VectorBuilder, x: str, format: Format) -> str:
    """An f32 rounded to nearest even in the format, still as f32."""
    bits = _bits(builder, x)
    sign, size = _sign(builder, bits), _and(builder, bits, 0x7FFFFFFF)
    magnitude = _float(builder, size)
    tie = _and(builder, builder.binary("lshr", "i32", size, builder.constant("i32", format.cut)), 1)
    up = builder.binary("add", "i32", tie, builder.constant("i32", (1 << (format.cut - 1)) - 1))
    normal = _and(builder, builder.binary("add", "i32", size, up), -(1 << format.cut))
    shift = builder.float_constant("float", 1.5 * 2.0 ** (format.least + format.cut))
    small = _bits(builder, builder.binary("fsub", "float", builder.binary("fadd", "float", magnitude, shift), shift))
    rounded = builder.select(_below(builder, magnitude, 2.0**format.least), "i32", small, normal)
    beyond = inf if format.has_infinity else nan
    large = builder.compare("ogt", "float", _float(builder, rounded), builder.float_constant("float", format.largest))
    rounded = builder.select(large, "i32", builder.constant("i32", _f32_bits(beyond)), rounded)
    rounded = builder.select(builder.compare("uno", "float", x, x), "i32", builder.constant("i32", _f32_bits(nan)), rounded)
    signed = builder.binary("or", "i32", rounded, sign)
    if not format.has_minus_zero:
        signed = builder.select(builder.compare("eq", "i32", rounded, builder.constant("i32", 0)), "i32", rounded, signed)
    return _float(builder, signed)


def to_byte(builder: VectorBuilder, x: str, format: Format) -> str:
    """The byte of an f32 that is a number of the format."""
    bits = _bits(builder, x)
    size = _and(builder, bits, 0x7FFFFFFF)
    magnitude = _float(builder, size)
    normal = builder.binary("sub", "i32", builder.binary("lshr", "i32", size, builder.constant("i32", format.cut)), builder.constant("i32", format.bias))
    shift = 2.0 ** (format.least + format.cut)
    moved = _bits(builder, builder.binary("fadd", "float", magnitude, builder.float_constant("float", shift)))
    small = builder.binary("sub", "i32", moved, builder.constant("i32", _f32_bits(shift)))
    byte = builder.select(_below(builder, magnitude, 2.0**format.least), "i32", small, normal)
    if format.has_infinity:
        infinite = builder.compare("eq", "i32", size, builder.constant("i32", _f32_bits(inf)))
        byte = builder.select(infinite, "i32", builder.constant("i32", format.infinity), byte)
    byte = builder.binary("or", "i32", byte, builder.binary("lshr", "i32", _sign(builder, bits), builder.constant("i32", 24)))
    byte = builder.select(builder.compare("uno", "float", x, x), "i32", builder.constant("i32", format.nan), byte)
    return builder.cast("trunc", byte, "i32", "i8")


def from_byte(builder: VectorBuilder, byte: str, format: Format) -> str:
    """The number of a byte, as f32."""
    bits = builder.cast("zext", byte, "i8", "i32")
    size = _and(builder, bits, 0x7F)
    normal = builder.binary("add", "i32", size, builder.constant("i32", format.bias))
    normal = builder.binary("shl", "i32", normal, builder.constant("i32", format.cut))
    step = builder.float_constant("float", 2.0 ** (format.least - format.mantissa))
    small = _bits(builder, builder.binary("fmul", "float", builder.cast("uitofp", size, "i32", "float"), step))
    number = builder.select(builder.compare("ult", "i32", size, builder.constant("i32", 1 << format.mantissa)), "i32", small, normal)
    nan_bits = builder.constant("i32", _f32_bits(nan))
    if format.has_infinity:
        infinity = builder.constant("i32", format.infinity)
        number = builder.select(builder.compare("eq", "i32", size, infinity), "i32", builder.constant("i32", _f32_bits(inf)), number)
        number = builder.select(builder.compare("ugt", "i32", size, infinity), "i32", nan_bits, number)
    else:
        place = size if format.has_minus_zero else bits
        number = builder.select(builder.compare("eq", "i32", place, builder.constant("i32", format.nan)), "i32", nan_bits, number)
    return _float(builder, builder.binary("or", "i32", number, builder.binary("shl", "i32", _and(builder, bits, 0x80), builder.constant("i32", 24))))


def _bits(builder: VectorBuilder, x: str) -> str:
    return builder.cast("bitcast", x, "float", "i32")


def _float(builder: VectorBuilder, bits: str) -> str:
    return builder.cast("bitcast", bits, "i32", "float")


def _and(builder: VectorBuilder, bits: str, mask: int) -> str:
    return builder.binary("and", "i32", bits, builder.constant("i32", mask))


def _sign(builder: VectorBuilder, bits: str) -> str:
    return _and(builder, bits, -(1 << 31))


def _below(builder: VectorBuilder, x: str, bound: float) -> str:
    return builder.compare("olt", "float", x, builder.float_constant("float", bound))


def _f32_bits(value: float) -> int:
    return int(np.float32(value).view(np.uint32))
