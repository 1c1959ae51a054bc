"""Floats of eight bits, computed in f32: rounding to such a format, and its bytes.

Formats are IEEE's in small (e5m2, e4m3, e3m4, with infinities), ``fn`` (finite: all ones is NaN, nothing is infinite) or ``fnuz``
(in addition there is one zero, and its negative stands for NaN); P. Micikevicius et al., FP8 Formats for Deep Learning (2022).
What is too large becomes infinity, or NaN where there is none.
"""

from __future__ import annotations

from functools import cache
from math import copysign, inf, isinf, nan
from typing import Any, cast

import ml_dtypes
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
    dtype: Any = getattr(ml_dtypes, "float8_" + name.removeprefix("f8").lower())
    info = cast(Any, ml_dtypes).finfo(dtype)
    special: Any = np.array([inf, -0.0, nan], np.float32).astype(dtype)
    infinite, negative, _ = special.astype(np.float32).tolist()
    return Format(int(info.nmant), int(info.minexp), float(info.max), isinf(infinite), copysign(1, negative) < 0, int(special.view(np.uint8)[2]))


def in_format(code: VectorBuilder, x: str, held: Format) -> str:
    """An f32 rounded to nearest even in the format, still as f32."""
    bits = _bits(code, x)
    sign, size = _sign(code, bits), _and(code, bits, 0x7FFFFFFF)
    magnitude = _float(code, size)
    tie = _and(code, code.binary("lshr", "i32", size, code.constant("i32", held.cut)), 1)
    up = code.binary("add", "i32", tie, code.constant("i32", (1 << (held.cut - 1)) - 1))
    normal = _and(code, code.binary("add", "i32", size, up), -(1 << held.cut))
    shift = code.float_constant("float", 1.5 * 2.0 ** (held.least + held.cut))
    small = _bits(code, code.binary("fsub", "float", code.binary("fadd", "float", magnitude, shift), shift))
    found = code.select(_below(code, magnitude, 2.0**held.least), "i32", small, normal)
    beyond = inf if held.has_infinity else nan
    large = code.compare("ogt", "float", _float(code, found), code.float_constant("float", held.largest))
    found = code.select(large, "i32", code.constant("i32", _f32_bits(beyond)), found)
    found = code.select(code.compare("uno", "float", x, x), "i32", code.constant("i32", _f32_bits(nan)), found)
    signed = code.binary("or", "i32", found, sign)
    if not held.has_minus_zero:
        signed = code.select(code.compare("eq", "i32", found, code.constant("i32", 0)), "i32", found, signed)
    return _float(code, signed)


def to_byte(code: VectorBuilder, x: str, held: Format) -> str:
    """The byte of an f32 that is a number of the format."""
    bits = _bits(code, x)
    size = _and(code, bits, 0x7FFFFFFF)
    magnitude = _float(code, size)
    normal = code.binary("sub", "i32", code.binary("lshr", "i32", size, code.constant("i32", held.cut)), code.constant("i32", held.bias))
    shift = 2.0 ** (held.least + held.cut)
    moved = _bits(code, code.binary("fadd", "float", magnitude, code.float_constant("float", shift)))
    small = code.binary("sub", "i32", moved, code.constant("i32", _f32_bits(shift)))
    found = code.select(_below(code, magnitude, 2.0**held.least), "i32", small, normal)
    if held.has_infinity:
        infinite = code.compare("eq", "i32", size, code.constant("i32", _f32_bits(inf)))
        found = code.select(infinite, "i32", code.constant("i32", held.infinity), found)
    found = code.binary("or", "i32", found, code.binary("lshr", "i32", _sign(code, bits), code.constant("i32", 24)))
    found = code.select(code.compare("uno", "float", x, x), "i32", code.constant("i32", held.nan), found)
    return code.cast("trunc", found, "i32", "i8")


def from_byte(code: VectorBuilder, byte: str, held: Format) -> str:
    """The number of a byte, as f32."""
    bits = code.cast("zext", byte, "i8", "i32")
    size = _and(code, bits, 0x7F)
    normal = code.binary("add", "i32", size, code.constant("i32", held.bias))
    normal = code.binary("shl", "i32", normal, code.constant("i32", held.cut))
    step = code.float_constant("float", 2.0 ** (held.least - held.mantissa))
    small = _bits(code, code.binary("fmul", "float", code.cast("uitofp", size, "i32", "float"), step))
    found = code.select(code.compare("ult", "i32", size, code.constant("i32", 1 << held.mantissa)), "i32", small, normal)
    nan_bits = code.constant("i32", _f32_bits(nan))
    if held.has_infinity:
        infinity = code.constant("i32", held.infinity)
        found = code.select(code.compare("eq", "i32", size, infinity), "i32", code.constant("i32", _f32_bits(inf)), found)
        found = code.select(code.compare("ugt", "i32", size, infinity), "i32", nan_bits, found)
    else:
        place = size if held.has_minus_zero else bits
        found = code.select(code.compare("eq", "i32", place, code.constant("i32", held.nan)), "i32", nan_bits, found)
    return _float(code, code.binary("or", "i32", found, code.binary("shl", "i32", _and(code, bits, 0x80), code.constant("i32", 24))))


def _bits(code: VectorBuilder, x: str) -> str:
    return code.cast("bitcast", x, "float", "i32")


def _float(code: VectorBuilder, bits: str) -> str:
    return code.cast("bitcast", bits, "i32", "float")


def _and(code: VectorBuilder, bits: str, mask: int) -> str:
    return code.binary("and", "i32", bits, code.constant("i32", mask))


def _sign(code: VectorBuilder, bits: str) -> str:
    return _and(code, bits, -(1 << 31))


def _below(code: VectorBuilder, x: str, bound: float) -> str:
    return code.compare("olt", "float", x, code.float_constant("float", bound))


def _f32_bits(value: float) -> int:
    return int(np.float32(value).view(np.uint32))
