"""Element conversions of copies."""

from __future__ import annotations

from wengert.transforms.codegen.cpu.matmul.elements import Arithmetic
from wengert.transforms.codegen.cpu.matmul.target import ELEMENT_BYTES
from wengert.transforms.codegen.llvm.builder import FunctionBuilder
from wengert.transforms.codegen.llvm.half import bf16_of_f32, f16_of_f32, f32_of_bf16, f32_of_f16

FLOATS = ("bf16", "f16", "f32", "f64")
NARROW = ("bf16", "f16")


def convertible(source: str, target: str) -> bool:
    """Whether operands of one element type can be read as the other."""
    if source == target:
        return True
    if source in FLOATS and target in FLOATS:
        return ELEMENT_BYTES[source] < ELEMENT_BYTES[target] and target not in NARROW
    integers = source.lstrip("u").startswith("i") and target.lstrip("u").startswith("i")
    return integers and ELEMENT_BYTES[source] <= ELEMENT_BYTES[target]


def convert(builder: FunctionBuilder, value: str, source: str, target: str) -> str:
    """The value, held as the LLVM type of its storage, in the storage of the target."""
    if source == target:
        return value
    if target == "bf16":
        return bf16_of_f32(builder, value)
    if target == "f16":
        return f16_of_f32(builder, value)
    if source in NARROW:
        value = f32_of_bf16(builder, value) if source == "bf16" else f32_of_f16(builder, value)
        source = "f32"
    if source == target:
        return value
    before, after = Arithmetic(source, 1).scalar, Arithmetic(target, 1).scalar
    if before == after:
        return value
    if source in FLOATS:
        return builder.cast("fpext", value, before, after)
    return builder.cast("zext" if source.startswith("u") else "sext", value, before, after)
