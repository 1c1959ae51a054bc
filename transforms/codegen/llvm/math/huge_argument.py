"""The reduction of huge arguments of sin, cos and tan modulo pi/2, and the rare branch that calls it.

M. H. Payne and R. N. Hanek, ACM SIGNUM Newsletter 18 (1983): for x = m 2^e with an integer m < 2^53 only 192 bits of 2/pi matter, those
that start at weight 2^(1-e); the higher ones contribute multiples of 4 quarter turns.  Their product with m, kept to 128 bits,
holds the quadrant in its two top bits and the fraction of a quarter turn below; no f64 comes closer to a multiple of pi/2 than 2^-61,
so that 64 significant bits of the fraction remain.
"""

from __future__ import annotations

from itertools import pairwise

from wengert.transforms.codegen.llvm.math.coefficients import TWO_OVER_PI_WORDS
from wengert.transforms.codegen.llvm.math.double_double import Pair, multiply, split
from wengert.transforms.codegen.llvm.math.emitter import Emitter
from wengert.transforms.codegen.llvm.math.vector import Code, Float, Integer, Mask

TABLE = "wg.math.two_over_pi"
HALF_PI_PAIR = (1.5707963267948966, 6.123233995736766e-17)


def table_definition() -> str:
    """The bits of 2/pi below 64 bits of zeros, most significant word first."""
    words = ", ".join(f"i64 {word}" for word in TWO_OVER_PI_WORDS)
    return f"@{TABLE} = internal constant [{len(TWO_OVER_PI_WORDS)} x i64] [{words}]\n"


def window(code: Code, exponent: str) -> list[str]:
    """Three words of 2/pi from weight 2^(1-e) on, for the biased exponent e + 1075 of the argument."""
    # Weight 2^w has bit position 63 - w in the table, so the start is 62 + e.
    position = code.op(f"sub i64 {exponent}, {1075 - 62}")
    first = code.op(f"lshr i64 {position}, 6")
    shift = code.op(f"and i64 {position}, 63")
    words: list[str] = []
    for offset in range(4):
        index = code.op(f"add i64 {first}, {offset}")
        address = code.op(f"getelementptr i64, ptr @{TABLE}, i64 {index}")
        words.append(code.op(f"load i64, ptr {address}"))
    return [code.op(f"call i64 @llvm.fshl.i64(i64 {high}, i64 {low}, i64 {shift})") for high, low in pairwise(words)]


def turn_fraction(code: Code, m: str, words: list[str]) -> str:
    """m times the window as an i128: two bits of quadrant, 126 bits of fraction."""
    wide = [code.op(f"zext i64 {word} to i128") for word in (m, *words)]
    products = [code.op(f"mul i128 {wide[0]}, {word}") for word in wide[1:]]
    top = code.op(f"shl i128 {products[0]}, 64")
    rest = code.op(f"lshr i128 {products[2]}, 64")
    upper = code.op(f"add i128 {top}, {products[1]}")
    return code.op(f"add i128 {upper}, {rest}")


def rounded_quadrant(code: Code, product: str) -> str:
    """The two integer bits of the product plus the first bit of the fraction."""
    parts: list[str] = []
    for bit in (126, 125):
        shifted = code.op(f"lshr i128 {product}, {bit}")
        parts.append(code.op(f"trunc i128 {shifted} to i64"))
    carry = code.op(f"and i64 {parts[1]}, 1")
    return code.op(f"add i64 {parts[0]}, {carry}")


def fraction_as_pair(code: Code, magnitude: str) -> Pair:
    """An i128 that counts units of 2^-128, as hi + lo: its top 53 significant bits and the next 53."""
    zeros = code.op(f"call i128 @llvm.ctlz.i128(i128 {magnitude}, i1 false)")
    normal = code.op(f"shl i128 {magnitude}, {zeros}")
    exponent = Integer(code, code.op(f"trunc i128 {zeros} to i64"))
    scale = (((exponent ^ -1) + 1024) << 52).as_float()  # 2^-zeros
    parts: list[Float] = []
    for low_bit, weight in ((75, -53), (22, -106)):
        shifted = code.op(f"lshr i128 {normal}, {low_bit}")
        bits = code.op(f"trunc i128 {shifted} to i64")
        digits = code.op(f"and i64 {bits}, {(1 << 53) - 1}")
        parts.append(Float(code, code.op(f"uitofp i64 {digits} to double")) * 2.0**weight * scale)
    return Pair(*parts)


def reduce_huge(code: Code, x: Float) -> tuple[Integer, Pair]:
    """(quadrant, remainder) of a scalar f64 with |x| >= 2^-9; the remainder is NaN for infinities and NaN."""
    code.out.functions[TABLE] = table_definition()
    bits = x.bits()
    exponent = (bits >> 52) & 0x7FF
    m = (bits & ((1 << 52) - 1)) | (1 << 52)
    product = turn_fraction(code, m.name, window(code, exponent.name))
    # Rounds to the nearest quarter turn: the fraction, read as a signed number, is in [-1/2, 1/2).
    rounded = Integer(code, rounded_quadrant(code, product))
    signed = code.op(f"shl i128 {product}, 2")
    negative = code.op(f"icmp slt i128 {signed}, 0")
    opposite_fraction = code.op(f"sub i128 0, {signed}")
    magnitude = code.op(f"select i1 {negative}, i128 {opposite_fraction}, i128 {signed}")
    r = multiply(fraction_as_pair(code, magnitude), split(HALF_PI_PAIR, code))
    below = Mask(code, negative) ^ (x < 0.0)
    sign = code.select(below, -1.0, 1.0)
    opposite = Integer(code, code.op(f"sub i64 0, {rounded.name}"))
    return code.select_bits(x < 0.0, opposite, rounded), Pair(r.hi * sign + (x - x), r.lo * sign)


def replace_huge(code: Code, x: Float, huge: Mask, quadrant: Integer, remainder: Pair) -> tuple[Integer, Pair]:
    """The reduced argument, where some lane is huge with those lanes computed anew by an out-of-line function (once per module)."""
    symbol = f"wg.math.reduce_huge.{code.suffix}"
    if symbol not in code.out.functions:
        code.out.functions[symbol] = lane_loop(code, symbol)
    some = code.any(huge)
    here, slow, join = (code.out.fresh()[1:] for _ in range(3))
    values = ((code.integer_type, quadrant.name), (code.type, remainder.hi.name), (code.type, remainder.lo.name))
    result_type = ", ".join(kind for kind, _ in values)
    arguments = ", ".join(f"{kind} {name}" for kind, name in (*values, (code.type, x.name), (code.mask_type, huge.name)))
    code.out.line(f"br label %{here}")
    code.out.line(f"{here}:")
    code.out.line(f"br i1 {some}, label %{slow}, label %{join}")
    code.out.line(f"{slow}:")
    replaced = code.op(f"call {{{result_type}}} @{symbol}({arguments}) cold")
    parts = [code.op(f"extractvalue {{{result_type}}} {replaced}, {i}") for i in range(3)]
    code.out.line(f"br label %{join}")
    code.out.line(f"{join}:")
    merged = [code.op(f"phi {kind} [{old}, %{here}], [{new}, %{slow}]") for (kind, old), new in zip(values, parts, strict=True)]
    return Integer(code, merged[0]), Pair(Float(code, merged[1]), Float(code, merged[2]))


def reduce_lane(code: Code, x: Float) -> tuple[str, str, str]:
    """Quadrant and remainder of one lane; f32 goes through f64."""
    if code.double:
        quadrant, remainder = reduce_huge(code, x)
        return quadrant.name, remainder.hi.name, remainder.lo.name
    wide = code.widen(x)
    quadrant, remainder = reduce_huge(wide.code, wide)
    high = code.narrow(remainder.hi)
    low = code.narrow((remainder.hi - code.widen(high)) + remainder.lo)
    return code.op(f"trunc i64 {quadrant.name} to i32"), high.name, low.name


def lane_loop(code: Code, symbol: str) -> str:
    """A function (quadrant, hi, lo, x, mask) -> (quadrant, hi, lo) that replaces the lanes under the mask."""
    body = Emitter(functions=code.out.functions, prefix="%e")
    scalar = Code(code.element, 1, body)
    element, integer = code.format.llvm, f"i{code.format.bits}"
    reduced = reduce_lane(scalar, Float(scalar, "%value"))
    names = ("quadrant", "hi", "lo")
    kinds, scalars = (code.integer_type, code.type, code.type), (integer, element, element)
    result = f"{{{', '.join(kinds)}}}"
    parameters = ", ".join(f"{kind} %{name}" for kind, name in zip((*kinds, code.type, code.mask_type), (*names, "x", "mask"), strict=True))
    lines = [
        f"define internal {result} @{symbol}({parameters}) noinline cold nounwind {{",
        "entry:",
        *(f"%{name}.at = alloca {kind}\nstore {kind} %{name}, ptr %{name}.at" for kind, name in zip((*kinds, code.type), (*names, "x"), strict=True)),
        "br label %lane",
        "lane:",
        "%i = phi i64 [0, %entry], [%next, %latch]",
        "%bit = and i1 %mask, true" if code.lanes == 1 else f"%bit = extractelement {code.mask_type} %mask, i64 %i",
        "br i1 %bit, label %compute, label %latch",
        "compute:",
        f"%source = getelementptr {element}, ptr %x.at, i64 %i",
        f"%value = load {element}, ptr %source",
        *body.lines,
        *(
            f"%{name}.lane = getelementptr {kind}, ptr %{name}.at, i64 %i\nstore {kind} {value}, ptr %{name}.lane"
            for kind, name, value in zip(scalars, names, reduced, strict=True)
        ),
        "br label %latch",
        "latch:",
        "%next = add i64 %i, 1",
        f"%more = icmp ult i64 %next, {code.lanes}",
        "br i1 %more, label %lane, label %done",
        "done:",
        *(f"%{name}.new = load {kind}, ptr %{name}.at" for kind, name in zip(kinds, names, strict=True)),
        f"%r0 = insertvalue {result} poison, {kinds[0]} %quadrant.new, 0",
        f"%r1 = insertvalue {result} %r0, {kinds[1]} %hi.new, 1",
        f"%r2 = insertvalue {result} %r1, {kinds[2]} %lo.new, 2",
        f"ret {result} %r2",
        "}",
    ]
    return "\n".join(lines) + "\n"
