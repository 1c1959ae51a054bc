"""The element types that matrix products take, by short names, and conversions between them."""

from __future__ import annotations

from functools import lru_cache

from xdsl.ir import Attribute

from wengert.ir.tensor_types import bf16, c64, c128, f16, f32, f64, i8, i16, i32, i64, ui8, ui16, ui32, ui64

NAMES: dict[Attribute, str] = {
    f32: "f32", f64: "f64", c64: "c64", c128: "c128", bf16: "bf16", f16: "f16",
    i8: "i8", i16: "i16", i32: "i32", i64: "i64", ui8: "ui8", ui16: "ui16", ui32: "ui32", ui64: "ui64",
}  # fmt: skip
ELEMENT_BYTES = {
    "f32": 4, "f64": 8, "bf16": 2, "f16": 2, "c64": 8, "c128": 16,
    "i8": 1, "i16": 2, "i32": 4, "i64": 8, "ui8": 1, "ui16": 2, "ui32": 4, "ui64": 8,
}  # fmt: skip
FLOATS = ("bf16", "f16", "f32", "f64")
NARROW = ("bf16", "f16")
COMPLEX = ("c64", "c128")


class UnsupportedMatmul(ValueError):
    """The element types or layouts have no kernel here."""


def convertible(source: str, target: str) -> bool:
    """Whether operands of one element type can be read as the other."""
    if source == target:
        return True
    if source in FLOATS and target in FLOATS:
        return ELEMENT_BYTES[source] < ELEMENT_BYTES[target] and target not in NARROW
    integers = source.lstrip("u").startswith("i") and target.lstrip("u").startswith("i")
    return integers and ELEMENT_BYTES[source] <= ELEMENT_BYTES[target]


def check_elements(stored: tuple[str, str], result: str) -> None:
    """Raises :class:`UnsupportedMatmul` if an element type has no kernel, or the operands are not narrower than the result."""
    computed = computed_in(result)
    for source in (*stored, computed):
        if source not in ELEMENT_BYTES or not convertible(source, computed):
            raise UnsupportedMatmul(f"no matrix product of {stored[0]} and {stored[1]} with a result of {result}")


def pair_element(stored: tuple[str, str], element: str) -> str:
    """The elements of which panels hold pairs, where operands of these types are multiplied with sums of that type; "" if there is no such product.

    Integers of 8 bits are extended to 16, whose products fit 32 bits; what sums have too much is dropped, as always.
    """
    if element == "f32" and stored == ("bf16", "bf16"):
        return "bf16"
    return "i16" if element in ("i32", "ui32") and all(each in ("i8", "ui8", "i16") for each in stored) else ""


def computed_in(result: str) -> str:
    """The element type that sums have: bf16 and f16 are computed in f32 and rounded once."""
    return "f32" if result in NARROW else result


@lru_cache(maxsize=256)
def supports(lhs: Attribute, rhs: Attribute, result: Attribute) -> bool:
    """Whether there is a product of operands of these types with a result of this one."""
    names = [NAMES.get(kind, "") for kind in (lhs, rhs, result)]
    try:
        check_elements((names[0], names[1]), names[2])
    except UnsupportedMatmul:
        return False
    return True
