"""The reduction of huge arguments of sin, cos and tan modulo pi/2, and the rare branch that calls it.

M. H. Payne and R. N. Hanek, ACM SIGNUM Newsletter 18 (1983): for x = m 2^e with an integer m < 2^53 only 192 bits of 2/pi matter, those
that start at weight 2^(1-e); the higher ones contribute multiples of 4 quarter turns.  Their product with m, kept to 128 bits,
holds the quadrant in its two top bits and the fraction of a quarter turn below; no f64 comes closer to a multiple of pi/2 than 2^-61,
so that 64 significant bits of the fraction remain.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from wengert.transforms.codegen.llvm.builder import FunctionBuilder
from wengert.transforms.codegen.llvm.math.coefficients import TWO_OVER_PI_WORDS
from wengert.transforms.codegen.llvm.math.double_double import Pair, multiply, split
from wengert.transforms.codegen.llvm.math.expressions import Float, Integer, Mask, MathBuilder
from wengert.transforms.codegen.llvm.math.wide_integers import WideIntegers, wide_integers
from wengert.transforms.codegen.llvm.module import SHARED

TABLE = "wg.math.two_over_pi"
"""The bits of 2/pi below 64 bits of zeros, most significant word first."""
SYMBOL = "wg.math.reduce_huge.{}"
HALF_PI_PAIR = (1.5707963267948966, 6.123233995736766e-17)


def window(builder: FunctionBuilder, exponent: str) -> list[str]:
    """Three words of 2/pi from weight 2^(1-e) on, for the biased exponent e + 1075 of the argument."""
    # Weight 2^w has bit position 63 - w in the table, so the start is 62 + e.
    position = builder.binary("sub", "i64", exponent, str(1075 - 62))
    first = builder.binary("lshr", "i64", position, "6")
    shift = builder.binary("and", "i64", position, "63")
    table = builder.constant(TABLE, f"[{len(TWO_OVER_PI_WORDS)} x i64]", f"[{', '.join([f'i64 {word}' for word in TWO_OVER_PI_WORDS])}]")
    words: list[str] = []
    for offset in range(4):
        index = builder.binary("add", "i64", first, str(offset))
        words.append(builder.load("i64", builder.offset(table, "i64", index)))
    return [builder.intrinsic("fshl", "i64", high, low, shift) for high, low in pairwise(words)]


def turn_fraction(wide: WideIntegers[Any], m: str, words: list[str]) -> Any:
    """m times the window: two bits of quadrant, 126 bits of fraction."""
    products = [wide.product(m, word) for word in words]
    upper = wide.add(wide.shift_left(products[0], 64), products[1])
    rest = wide.product(wide.word(products[2], 64), "1")
    return wide.add(upper, rest)


def rounded_quadrant(wide: WideIntegers[Any], product: Any) -> str:
    """The two integer bits of the product plus the first bit of the fraction."""
    quarters, carry = wide.word(product, 126), wide.builder.binary("and", "i64", wide.word(product, 125), 1)
    return wide.builder.binary("add", "i64", quarters, carry)


def fraction_as_pair(math: MathBuilder, wide: WideIntegers[Any], magnitude: Any) -> Pair:
    """An integer of 128 bits that counts units of 2^-128, as hi + lo: its top 53 significant bits and the next 53."""
    builder = math.builder
    zeros = wide.leading_zeros(magnitude)
    normal = wide.shift_left(magnitude, zeros)
    scale = (((Integer(math, zeros) ^ -1) + 1024) << 52).as_float()  # 2^-zeros
    parts: list[Float] = []
    for low_bit, weight in ((75, -53), (22, -106)):
        digits = builder.binary("and", "i64", wide.word(normal, low_bit), (1 << 53) - 1)
        parts.append(Float(math, builder.cast("uitofp", digits, "i64", "double")) * 2.0**weight * scale)
    return Pair(*parts)


def reduce_huge(math: MathBuilder, x: Float) -> tuple[Integer, Pair]:
    """(quadrant, remainder) of a scalar f64 with |x| >= 2^-9; the remainder is NaN for infinities and NaN."""
    builder, bits = math.builder, x.bits()
    exponent = (bits >> 52) & 0x7FF
    m = (bits & ((1 << 52) - 1)) | (1 << 52)
    wide = wide_integers(builder)
    product = turn_fraction(wide, m.name, window(builder, exponent.name))
    # Rounds to the nearest quarter turn: the fraction, read as a signed number, is in [-1/2, 1/2).
    rounded = Integer(math, rounded_quadrant(wide, product))
    signed = wide.shift_left(product, 2)
    negative = wide.is_negative(signed)
    magnitude = wide.select(negative, wide.negate(signed), signed)
    r = multiply(fraction_as_pair(math, wide, magnitude), split(HALF_PI_PAIR, math))
    below = Mask(math, negative) ^ (x < 0.0)
    sign = math.select(below, -1.0, 1.0)
    opposite = Integer(math, builder.binary("sub", "i64", 0, rounded.name))
    return math.select_bits(x < 0.0, opposite, rounded), Pair(r.hi * sign + (x - x), r.lo * sign)


def replace_huge(math: MathBuilder, x: Float, huge: Mask, quadrant: Integer, remainder: Pair) -> tuple[Integer, Pair]:
    """The reduced argument, where some lane is huge with those lanes computed anew by an out-of-line function (once per module)."""
    builder = math.builder
    symbol = builder.module.once(SYMBOL.format(math.suffix), lambda: lane_loop(math))
    values = [(math.integer_type, quadrant.name), (math.type, remainder.hi.name), (math.type, remainder.lo.name)]
    result = f"{{{', '.join([kind for kind, _ in values])}}}"

    def anew() -> list[str]:
        arguments = ", ".join([f"{kind} {name}" for kind, name in (*values, (math.type, x.name), (math.mask_type, huge.name))])
        replaced = builder.op(f"call {result} @{symbol}({arguments}) cold")
        return [builder.op(f"extractvalue {result} {replaced}, {number}") for number in range(3)]

    merged = builder.rarely(math.any(huge), values, anew)
    return Integer(math, merged[0]), Pair(Float(math, merged[1]), Float(math, merged[2]))


def reduce_lane(math: MathBuilder, x: Float) -> tuple[str, str, str]:
    """Quadrant and remainder of one lane; f32 goes through f64."""
    if math.double:
        quadrant, remainder = reduce_huge(math, x)
        return quadrant.name, remainder.hi.name, remainder.lo.name
    wide = math.widen(x)
    quadrant, remainder = reduce_huge(wide.builder, wide)
    high = math.narrow(remainder.hi)
    low = math.narrow((remainder.hi - math.widen(high)) + remainder.lo)
    return math.builder.cast("trunc", quadrant.name, "i64", "i32"), high.name, low.name


def lane_loop(math: MathBuilder) -> str:
    """A function (quadrant, hi, lo, x, mask) -> (quadrant, hi, lo) that replaces the lanes under the mask."""
    builder = FunctionBuilder(math.builder.module)
    scalar = MathBuilder(math.element, 1, builder)
    element, lanes = math.format.llvm, math.lanes
    kinds, names = [math.integer_type, math.type, math.type, math.type], ["%quadrant", "%hi", "%lo", "%x"]
    slots = [builder.alloca(kind) for kind in kinds]
    for kind, name, slot in zip(kinds, names, slots, strict=True):
        builder.store(kind, name, slot)
    with builder.repeat(lanes) as lane, builder.when("%mask" if lanes == 1 else builder.extract("i1", lanes, "%mask", lane)):
        value = builder.load(element, builder.offset(slots[3], element, lane))
        for kind, slot, part in zip((f"i{math.format.bits}", element, element), slots, reduce_lane(scalar, Float(scalar, value)), strict=False):
            builder.store(kind, part, builder.offset(slot, kind, lane))
    result, returned = f"{{{', '.join(kinds[:3])}}}", "poison"
    for number, (kind, slot) in enumerate(zip(kinds[:3], slots, strict=False)):
        returned = builder.op(f"insertvalue {result} {returned}, {kind} {builder.load(kind, slot)}, {number}")
    parameters = [f"{kind} {name}" for kind, name in zip((*kinds, math.mask_type), (*names, "%mask"), strict=True)]
    return builder.definition(SYMBOL.format(math.suffix), parameters, result=result, returns=returned, attributes=f"{SHARED} cold nounwind")
