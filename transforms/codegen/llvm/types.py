"""Element types: how they lie in memory and in which LLVM type they are computed.

Booleans are bytes in memory and ``i1`` in registers. Floats of 16 and 8 bits are computed as ``float`` whose value is one of the
narrow type's (every operation rounds its result to it). Integers of 4 bits are the low halves of bytes in memory. Complex numbers are two values.
"""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
from msgspec import Struct
from xdsl.ir import Attribute

from wengert.dialects.kernel.element_formats import element_format
from wengert.ir.tensor_types import EIGHT_BITS, bf16, c64, c128, f16, f32, f64, i1


class Element(Struct, frozen=True):
    """One element type: ``kind`` is f(loat), i(nteger), u(nsigned), b(oolean) or c(omplex); ``size`` is in bytes.

    ``memory`` and ``register`` are LLVM types (of one part, for complex numbers); ``narrow`` names a float of 16 or 8 bits, or an integer of 4.
    """

    kind: str
    memory: str
    register: str
    size: int
    narrow: str = ""

    @property
    def part_size(self) -> int:
        """The size of the real (or imaginary) part; the size of what is not complex."""
        return self.size // 2 if self.kind == "c" else self.size

    @property
    def bits(self) -> int:
        """The width of an integer register."""
        return int(self.register[1:])

    @property
    def math(self) -> str:
        """f32 or f64: the format that a float is computed in."""
        return "f64" if self.register == "double" else "f32"


_REGISTERS: dict[Attribute, tuple[str, str]] = {
    f64: ("double", "double"),
    f32: ("float", "float"),
    f16: ("half", "float"),
    bf16: ("i16", "float"),
    c64: ("float", "float"),
    c128: ("double", "double"),
    i1: ("i8", "i1"),
    **dict.fromkeys(EIGHT_BITS, ("i8", "float")),
}
"""The LLVM types in memory and in registers; those of integers follow from their size."""
SUB_BYTE = ("i4", "ui4")
"""Narrow types that are not floats."""


def element_of(type: Attribute) -> Element:
    """The LLVM types of an element type (kept on the type: this is called for every operand of every op)."""
    known = type.__dict__.get("_llvm_element")
    if known is None:
        known = _element_of(type)
        object.__setattr__(type, "_llvm_element", known)
    return known


def _element_of(type: Attribute) -> Element:
    format = element_format(type)
    word = f"i{8 * format.size}"
    memory, register = _REGISTERS.get(type, (word, word))
    return Element(format.kind, memory, register, format.size, format.narrow)


_big_endian = struct.Struct(">d").pack
_LARGEST_F32 = (2 - 2.0**-23) * 2.0**127


def float_literal(value: float, register: str) -> str:
    """The LLVM spelling of a float of this register type, exact (NaN payloads of f32 included)."""
    if register == "float":
        if -_LARGEST_F32 <= value <= _LARGEST_F32:
            (value,) = struct.unpack("<f", struct.pack("<f", value))
        else:
            with np.errstate(all="ignore"):
                value = float(np.float32(value))
    return f"0x{_big_endian(value).hex().upper()}"


def literal(value: Any, element: Element) -> str:
    """The LLVM spelling of a NumPy scalar in its register type (of a real part or an imaginary part, for complex)."""
    if element.kind == "b":
        return "true" if value else "false"
    if element.kind in "iu":
        return str(int(value))
    return float_literal(float(value), element.register)


def vector(register: str, lanes: int) -> str:
    """The type of several lanes; one lane is a scalar."""
    return register if lanes == 1 else f"<{lanes} x {register}>"


def splat(register: str, constant: str, lanes: int) -> str:
    """A constant in every lane."""
    return constant if lanes == 1 else f"splat ({register} {constant})"


def first_lanes(count: int, lanes: int) -> str:
    """The constant mask of the first lanes."""
    return "<" + ", ".join([f"i1 {'true' if lane < count else 'false'}" for lane in range(lanes)]) + ">"


_SUFFIXES = {"double": "f64", "float": "f32", "half": "f16"}


def intrinsic_suffix(register: str, lanes: int) -> str:
    """How the name of an intrinsic function ends for vectors of this type."""
    scalar = _SUFFIXES.get(register, register)
    return scalar if lanes == 1 else f"v{lanes}{scalar}"
