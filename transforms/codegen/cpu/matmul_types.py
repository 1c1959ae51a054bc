"""Which element types matrix products take, by the names that :mod:`wengert.transforms.codegen.cpu.matmul` has for them."""

from __future__ import annotations

from functools import lru_cache

from xdsl.ir import Attribute

from wengert.ir.tensor_types import bf16, c64, c128, f16, f32, f64, i8, i16, i32, i64, ui8, ui16, ui32, ui64

NAMES: dict[Attribute, str] = {
    f32: "f32",
    f64: "f64",
    c64: "c64",
    c128: "c128",
    bf16: "bf16",
    f16: "f16",
    i8: "i8",
    i16: "i16",
    i32: "i32",
    i64: "i64",
    ui8: "ui8",
    ui16: "ui16",
    ui32: "ui32",
    ui64: "ui64",
}


@lru_cache(maxsize=256)
def supports(lhs: Attribute, rhs: Attribute, result: Attribute) -> bool:
    """Whether there is a product of operands of these types with a result of this one."""
    names = [NAMES.get(held) for held in (lhs, rhs, result)]
    if any(name is None for name in names):
        return False
    from wengert.transforms.codegen.cpu import matmul  # here, because programs without products do without it

    try:
        matmul.plan((2, 2), (2, 2), str(names[2]), lhs_contracting=(1,), rhs_contracting=(0,), target=matmul.SSE2, lhs_element=names[0], rhs_element=names[1])
    except matmul.UnsupportedMatmul:
        return False
    return True
