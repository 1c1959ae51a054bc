"""Writes what products do with panels of pairs: two neighbouring terms of a sum in a word, which one instruction multiplies and adds.

The first term of a pair is in the word's upper half, since the processor adds that one first. ``vdpbf16ps`` is two fused multiply-adds of f32, one after the
other, each rounded to the nearest even number, but it takes subnormal operands for zeros and gives zero for subnormal sums (Intel 64 and IA-32 Architectures
Software Developer's Manual, volume 2; the order is also that of AMD's processors). So it is what f32 gives, to the bit, wherever nothing subnormal can come
up. That is seen from the elements of two panels of which the least in magnitude, zeros apart, are 2^a and 2^b or more: their elements are multiples of
2^(a-7) and 2^(b-7), as seven bits of a significand are stored, so all products are multiples of 2^(a+b-14), and so is every sum of them before it is
rounded, and after. If that is at least 2^-126, the least normal number, then no sum but zero is subnormal. Tiles of other panels are summed by
multiply-adds of f32 from the same words. So results depend neither on which was taken nor on blocks, threads, or the processor.

``vpdpwssd`` adds products of 16-bit integers to a sum of 32 bits that wraps around, which is exact modulo 2^32.
"""

from __future__ import annotations

from wengert.transforms.codegen.cpu.matmul.conversion import convert_vector
from wengert.transforms.codegen.cpu.matmul.elements import Arithmetic
from wengert.transforms.codegen.cpu.matmul.panel_extremes import fold
from wengert.transforms.codegen.llvm.builder import FunctionBuilder
from wengert.transforms.codegen.llvm.module import SHARED

WORD = "i32"
"""The type of a pair."""
FRACTION, BIAS = 7, 127
"""The stored bits of a bf16's significand, and the bias of its exponent, which is f32's."""
SMALLEST = 2 * BIAS + 2 * FRACTION + 1 - BIAS
"""The least sum of both panels' smallest biased exponents with which no sum is subnormal: a + b - 14 >= 1 - 127."""
NEVER = -(1 << 10)
"""Stands for the exponent of a subnormal number, with which no other is enough."""


def exponent_name(lanes: int) -> str:
    """The symbol of ``i32 @name(ptr %panel, i64 %count)``, the biased exponent of the element of so many that is least in magnitude, zeros apart."""
    return f"wg.least_exponent.bf16x{2 * lanes}"


def exponent_function(lanes: int) -> str:
    """The function; it looks at ``lanes`` words at once."""
    builder = FunctionBuilder()

    def doubled_less_one(place: str, count: int) -> str:
        # Without signs, and with zero as the greatest.
        words = Arithmetic("i16", count)
        bits = builder.load(words.vector, place, words.bytes)
        return builder.binary("add", words.vector, builder.binary("add", words.vector, bits, bits), builder.splat("i16", "-1", count))

    least = builder.cast("zext", fold(builder, "bf16", 2 * lanes, "umin", -1, doubled_less_one), "i16", WORD)
    exponent = builder.binary("lshr", WORD, builder.binary("add", WORD, least, 1), FRACTION + 1)
    result = builder.select(builder.icmp("eq", WORD, exponent, 0), WORD, NEVER, exponent)
    return builder.definition(exponent_name(lanes), ("ptr noalias %panel", "i64 %count"), result=WORD, returns=result, attributes=f"{SHARED} nounwind")


def packed(builder: FunctionBuilder, stored: str, lanes: int, first: str, second: str | None) -> str:
    """The words of as many pairs from the elements of two terms; from one, if there is no second."""
    words = Arithmetic(WORD, lanes).vector
    upper = builder.binary("shl", words, _extended(builder, stored, lanes, first), builder.splat(WORD, "16", lanes))
    if second is None:
        return upper
    lower = _extended(builder, stored, lanes, second)
    if stored.startswith("i"):
        lower = builder.binary("and", words, lower, builder.splat(WORD, "65535", lanes))
    return builder.binary("or", words, upper, lower)


def _extended(builder: FunctionBuilder, stored: str, lanes: int, value: str) -> str:
    """Elements in words of their own."""
    return builder.cast("sext" if stored.startswith("i") else "zext", value, Arithmetic(stored, lanes).vector, Arithmetic(WORD, lanes).vector)


def read_neighbours(builder: FunctionBuilder, stored: str, place: str, lanes: int) -> str:
    """The words of as many pairs, whose terms lie one after the other in memory."""
    words, size = Arithmetic(WORD, lanes).vector, Arithmetic(stored, 1).bytes
    if size == 1:
        wide = convert_vector(builder, builder.load(f"<{2 * lanes} x i8>", place, 1), stored, "i16", 2 * lanes)
        value = builder.cast("bitcast", wide, f"<{2 * lanes} x i16>", words)
    else:
        value = builder.load(words, place, size)
    operands = ", ".join(f"{words} {x}" for x in (value, value, builder.splat(WORD, "16", lanes)))
    return builder.op(f"call {words} @llvm.fshl.{Arithmetic(WORD, lanes).suffix}({operands})")


def add_pairs(builder: FunctionBuilder, element: str, lanes: int, a: str, b: str, sums: str) -> str:
    """The sums with the products of both pairs added, by the processor's instruction."""
    instruction, half, total = ("avx512bf16.dpbf16ps", "bfloat", "f32") if element == "bf16" else ("avx512.vpdpwssd", "i16", WORD)
    halves, sum = f"<{2 * lanes} x {half}>", Arithmetic(total, lanes).vector
    x, y = (builder.cast("bitcast", each, Arithmetic(WORD, lanes).vector, halves) for each in (a, b))
    return builder.op(f"call {sum} @llvm.x86.{instruction}.{32 * lanes}({sum} {sums}, {halves} {x}, {halves} {y})")


def halves(builder: FunctionBuilder, lanes: int, words: str) -> tuple[str, str]:
    """Both terms of pairs of bf16 as f32, the first one first."""
    kind, floats = Arithmetic(WORD, lanes).vector, Arithmetic("f32", lanes).vector
    upper = builder.binary("and", kind, words, builder.splat(WORD, "-65536", lanes))
    lower = builder.binary("shl", kind, words, builder.splat(WORD, "16", lanes))
    return builder.cast("bitcast", upper, kind, floats), builder.cast("bitcast", lower, kind, floats)
