"""Floats of 16 bits and f32, converted by integer arithmetic, which every processor has."""

from __future__ import annotations

from wengert.transforms.codegen.llvm.builder import FunctionBuilder


def f32_of_bf16(builder: FunctionBuilder, bits: str) -> str:
    """The upper half of the f32."""
    return builder.cast("bitcast", builder.binary("shl", "i32", builder.cast("zext", bits, "i16", "i32"), "16"), "i32", "float")


def bf16_of_f32(builder: FunctionBuilder, value: str) -> str:
    """Rounds the lower half away, ties to even; NaN stays NaN."""
    bits = builder.cast("bitcast", value, "float", "i32")
    upper = builder.binary("lshr", "i32", bits, "16")
    odd = builder.binary("and", "i32", upper, "1")
    bias = builder.binary("add", "i32", odd, "32767")
    rounded = builder.binary("lshr", "i32", builder.binary("add", "i32", bits, bias), "16")
    quiet = builder.binary("or", "i32", upper, "64")
    nan = builder.fcmp("uno", "float", value, value)
    return builder.cast("trunc", builder.select(nan, "i32", quiet, rounded), "i32", "i16")


def f32_of_f16(builder: FunctionBuilder, half: str) -> str:
    """Significand and exponent shifted into place and rebiased by an exact multiplication, which also normalises subnormal numbers."""
    wide = builder.cast("zext", half, "i16", "i32")
    magnitude = builder.binary("and", "i32", wide, "32767")
    shifted = builder.binary("shl", "i32", magnitude, "13")
    finite = builder.binary("fmul", "float", builder.cast("bitcast", shifted, "i32", "float"), "0x46F0000000000000")  # 2^112
    special = builder.icmp("uge", "i32", magnitude, 0x7C00)
    special_bits = builder.binary("or", "i32", shifted, str(0x7F800000))
    bits = builder.select(special, "i32", special_bits, builder.cast("bitcast", finite, "float", "i32"))
    sign = builder.binary("shl", "i32", builder.binary("and", "i32", wide, "32768"), "16")
    return builder.cast("bitcast", builder.binary("or", "i32", bits, sign), "i32", "float")


def f16_of_f32(builder: FunctionBuilder, value: str) -> str:
    """Ties to even.  Normal numbers round by adding just under half a unit; subnormal ones in an addition to 1/2, whose unit is 2^-24."""
    bits = builder.cast("bitcast", value, "float", "i32")
    magnitude = builder.binary("and", "i32", bits, str(0x7FFFFFFF))
    odd = builder.binary("and", "i32", builder.binary("lshr", "i32", magnitude, "13"), "1")
    rebias = builder.binary("add", "i32", magnitude, str((((15 - 127) << 23) + 0xFFF) & 0xFFFFFFFF))
    normal = builder.binary("lshr", "i32", builder.binary("add", "i32", rebias, odd), "13")
    shifted = builder.binary("fadd", "float", builder.cast("bitcast", magnitude, "i32", "float"), "5.0e-1")
    small = builder.binary("sub", "i32", builder.cast("bitcast", shifted, "float", "i32"), str(0x3F000000))
    is_small = builder.icmp("ult", "i32", magnitude, 0x38800000)
    finite = builder.select(is_small, "i32", small, normal)
    is_nan = builder.icmp("ugt", "i32", magnitude, 0x7F800000)
    large = builder.select(is_nan, "i32", 0x7E00, 0x7C00)
    overflows = builder.icmp("uge", "i32", magnitude, 0x477FF000)
    result = builder.select(overflows, "i32", large, finite)
    sign = builder.binary("and", "i32", builder.binary("lshr", "i32", bits, "16"), "32768")
    return builder.cast("trunc", builder.binary("or", "i32", result, sign), "i32", "i16")


def f16_of_f64(builder: FunctionBuilder, value: str, *, native: bool) -> str:
    """Rounded once: whether bits were dropped is the last bit of the f32 between.

    This is the rounding to odd of S. Boldo and G. Melquiond, IEEE Transactions on Computers 57 (2008).
    """
    bits = builder.cast("bitcast", value, "double", "i64")
    dropped = builder.binary("and", "i64", bits, str((1 << 29) - 1))
    sticky = builder.select(builder.icmp("ne", "i64", dropped, 0), "i64", str(1 << 29), "0")
    kept = builder.binary("or", "i64", builder.binary("and", "i64", bits, str(-(1 << 29))), sticky)
    single = builder.cast("fptrunc", builder.cast("bitcast", kept, "i64", "double"), "double", "float")
    return builder.cast("fptrunc", single, "float", "half") if native else builder.cast("bitcast", f16_of_f32(builder, single), "i16", "half")


def half_conversions(text: str, *, native: bool) -> str:
    """The functions that LLVM may call for conversions of f16, to be in the same module.

    They belong to a compiler's own run-time library, and need not be in the process. Without F16C the back end turns conversions into calls of
    ``__extendhfsf2`` and ``__truncsfhf2``. On all processors that lack f16 arithmetic it may take the sign of a number where it was an f64, and rounds that
    with ``__truncdfhf2``.

    Args:
        text: a program.
        native: whether the processor converts f16 to f32 and back.
    """
    if "half" not in text:
        return ""
    functions: list[str] = []
    if not native:
        extends, truncates = FunctionBuilder(), FunctionBuilder()
        single = f32_of_f16(extends, extends.cast("bitcast", "%x", "half", "i16"))
        half = truncates.cast("bitcast", f16_of_f32(truncates, "%x"), "i16", "half")
        functions += [
            extends.definition("__extendhfsf2", ["half %x"], result="float", returns=single, head="", attributes="nounwind"),
            truncates.definition("__truncsfhf2", ["float %x"], result="half", returns=half, head="", attributes="nounwind"),
        ]
    if "double" in text:
        narrows = FunctionBuilder()
        half = f16_of_f64(narrows, "%x", native=native)
        functions.append(narrows.definition("__truncdfhf2", ["double %x"], result="half", returns=half, head="", attributes="nounwind"))
    return "".join(functions)
