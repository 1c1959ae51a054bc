"""Describes element types for passes on kernels and schedules: the kind of number, and its bytes in memory and in registers."""

from __future__ import annotations

from msgspec import Struct
from xdsl.ir import Attribute

from wengert.ir.tensor_types import EIGHT_BITS, bf16, c64, c128, dtype_of, f16, f32, f64, i1, i4, is_integer, is_unsigned, ui4


class ElementFormat(Struct, frozen=True):
    """One element type: ``kind`` is f(loat), i(nteger), u(nsigned), b(oolean) or c(omplex); ``size`` is in bytes.

    ``narrow`` names a float of 16 or 8 bits, which is computed in f32 and rounded to its own type after every operation, or an integer of 4 bits.
    """

    kind: str
    size: int
    narrow: str = ""

    @property
    def part_size(self) -> int:
        """The bytes of the real (or imaginary) part; the size of what is not complex."""
        return self.size // 2 if self.kind == "c" else self.size

    @property
    def register_size(self) -> int:
        """The bytes that an element, or a part of it, takes in a register: floats of 16 and 8 bits are there in f32."""
        return max(self.size, 4) if self.kind == "f" else self.part_size


_SPECIAL: dict[Attribute, ElementFormat] = {
    f64: ElementFormat("f", 8),
    f32: ElementFormat("f", 4),
    f16: ElementFormat("f", 2, "f16"),
    bf16: ElementFormat("f", 2, "bf16"),
    c64: ElementFormat("c", 8),
    c128: ElementFormat("c", 16),
    i1: ElementFormat("b", 1),
    i4: ElementFormat("i", 1, "i4"),
    ui4: ElementFormat("u", 1, "ui4"),
    **{type: ElementFormat("f", 1, type.name) for type in EIGHT_BITS},
}


def element_format(type: Attribute) -> ElementFormat:
    """The format of an element type (kept on the type: this is called for every operand of every op)."""
    known = type.__dict__.get("_element_format")
    if known is None:
        known = _format_of(type)
        object.__setattr__(type, "_element_format", known)
    return known


def _format_of(type: Attribute) -> ElementFormat:
    special = _SPECIAL.get(type)
    if special is not None:
        return special
    assert is_integer(type), f"no such element type: {type}"
    return ElementFormat("u" if is_unsigned(type) else "i", dtype_of(type).itemsize)
