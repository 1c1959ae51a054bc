"""Element conversions of copies: bf16 and f16 to and from f32 by integer arithmetic, which every processor has, and wider numbers."""

from __future__ import annotations

from wengert.transforms.codegen.cpu.matmul.elements import Arithmetic
from wengert.transforms.codegen.cpu.matmul.function_text import FunctionText
from wengert.transforms.codegen.cpu.matmul.target import ELEMENT_BYTES

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


def convert(text: FunctionText, value: str, source: str, target: str) -> str:
    """The value, held as the LLVM type of its storage, in the storage of the target."""
    if source == target:
        return value
    if target == "bf16":
        return bf16_of_f32(text, value)
    if target == "f16":
        return f16_of_f32(text, value)
    if source in NARROW:
        value = f32_of_bf16(text, value) if source == "bf16" else f32_of_f16(text, value)
        source = "f32"
    if source == target:
        return value
    before, after = Arithmetic(source, 1).scalar, Arithmetic(target, 1).scalar
    if before == after:
        return value
    if source in FLOATS:
        return text.op(f"fpext {before} {value} to {after}")
    return text.op(f"{'zext' if source.startswith('u') else 'sext'} {before} {value} to {after}")


def f32_of_bf16(text: FunctionText, value: str) -> str:
    """The upper half of the f32."""
    wide = text.op(f"zext i16 {value} to i32")
    shifted = text.op(f"shl i32 {wide}, 16")
    return text.op(f"bitcast i32 {shifted} to float")


def bf16_of_f32(text: FunctionText, value: str) -> str:
    """Rounds the lower half away, ties to even; NaN stays NaN."""
    bits = text.op(f"bitcast float {value} to i32")
    upper = text.op(f"lshr i32 {bits}, 16")
    odd = text.op(f"and i32 {upper}, 1")
    bias = text.op(f"add i32 {odd}, 32767")
    rounded = text.op(f"lshr i32 {text.op(f'add i32 {bits}, {bias}')}, 16")
    quiet = text.op(f"or i32 {upper}, 64")
    nan = text.op(f"fcmp uno float {value}, {value}")
    return text.op(f"trunc i32 {text.op(f'select i1 {nan}, i32 {quiet}, i32 {rounded}')} to i16")


def f32_of_f16(text: FunctionText, value: str) -> str:
    """Significand and exponent shifted into place and rebiased by an exact multiplication, which also normalises subnormal numbers."""
    wide = text.op(f"zext i16 {value} to i32")
    magnitude = text.op(f"and i32 {wide}, 32767")
    shifted = text.op(f"shl i32 {magnitude}, 13")
    finite = text.op(f"fmul float {text.op(f'bitcast i32 {shifted} to float')}, 0x46F0000000000000")  # 2^112
    special = text.op(f"icmp uge i32 {magnitude}, {0x7C00}")
    special_bits = text.op(f"or i32 {shifted}, {0x7F800000}")
    bits = text.op(f"select i1 {special}, i32 {special_bits}, i32 {text.op(f'bitcast float {finite} to i32')}")
    sign = text.op(f"shl i32 {text.op(f'and i32 {wide}, 32768')}, 16")
    return text.op(f"bitcast i32 {text.op(f'or i32 {bits}, {sign}')} to float")


def f16_of_f32(text: FunctionText, value: str) -> str:
    """Ties to even.  Normal numbers round by adding just under half a unit; subnormal ones in an addition to 1/2, whose unit is 2^-24."""
    bits = text.op(f"bitcast float {value} to i32")
    magnitude = text.op(f"and i32 {bits}, {0x7FFFFFFF}")
    odd = text.op(f"and i32 {text.op(f'lshr i32 {magnitude}, 13')}, 1")
    rebias = text.op(f"add i32 {magnitude}, {(((15 - 127) << 23) + 0xFFF) & 0xFFFFFFFF}")
    normal = text.op(f"lshr i32 {text.op(f'add i32 {rebias}, {odd}')}, 13")
    shifted = text.op(f"fadd float {text.op(f'bitcast i32 {magnitude} to float')}, 5.0e-1")
    small = text.op(f"sub i32 {text.op(f'bitcast float {shifted} to i32')}, {0x3F000000}")
    is_small = text.op(f"icmp ult i32 {magnitude}, {0x38800000}")
    finite = text.op(f"select i1 {is_small}, i32 {small}, i32 {normal}")
    is_nan = text.op(f"icmp ugt i32 {magnitude}, {0x7F800000}")
    large = text.op(f"select i1 {is_nan}, i32 {0x7E00}, i32 {0x7C00}")
    overflows = text.op(f"icmp uge i32 {magnitude}, {0x477FF000}")
    result = text.op(f"select i1 {overflows}, i32 {large}, i32 {finite}")
    sign = text.op(f"and i32 {text.op(f'lshr i32 {bits}, 16')}, 32768")
    return text.op(f"trunc i32 {text.op(f'or i32 {result}, {sign}')} to i16")
