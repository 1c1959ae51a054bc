"""Converts elements that are copied."""

from __future__ import annotations

from wengert.dialects.kernel.product_elements import FLOATS, NARROW
from wengert.transforms.codegen.cpu.matmul.elements import Arithmetic
from wengert.transforms.codegen.llvm.builder import FunctionBuilder
from wengert.transforms.codegen.llvm.half import bf16_of_f32, f16_of_f32, f32_of_bf16, f32_of_f16


def convert_vector(builder: FunctionBuilder, value: str, source: str, target: str, lanes: int) -> str:
    """Converts the lanes of a vector to a wider element type; exact."""
    if source == target or lanes == 1:
        return convert(builder, value, source, target)
    before, after = Arithmetic(source, lanes).vector, Arithmetic(target, lanes).vector
    if source in NARROW:
        single = f"<{lanes} x float>"
        if source == "bf16":
            wide = builder.cast("zext", value, before, f"<{lanes} x i32>")
            sixteen = builder.splat("i32", "16", lanes)
            value = builder.cast("bitcast", builder.binary("shl", f"<{lanes} x i32>", wide, sixteen), f"<{lanes} x i32>", single)
        else:
            value = builder.cast("fpext", builder.cast("bitcast", value, before, f"<{lanes} x half>"), f"<{lanes} x half>", single)
        return value if target == "f32" else builder.cast("fpext", value, single, after)
    if before == after:
        return value
    return builder.cast("fpext" if source in FLOATS else "zext" if source.startswith("u") else "sext", value, before, after)


def convert(builder: FunctionBuilder, value: str, source: str, target: str) -> str:
    """Converts a value between the LLVM types in which two element types are stored."""
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
