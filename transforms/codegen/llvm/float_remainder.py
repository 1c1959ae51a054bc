"""The remainder of floats for targets without an instruction for it: exact, by division of integers bit by bit.

With x = m 2^e and y = n 2^f, the remainder of truncated division is (m 2^(e - f) mod n) 2^f with the sign of x, as ``fmod`` has it in C. The loop takes
e - f steps, each of which doubles and subtracts. Floats of 32 bits are divided as those of 64 bits, whose remainder is one of 32 bits again.
"""

from __future__ import annotations

from wengert.transforms.codegen.llvm.builder import FunctionBuilder
from wengert.transforms.codegen.llvm.module import SHARED
from wengert.transforms.codegen.llvm.types import float_literal
from wengert.transforms.codegen.llvm.vector_builder import VectorBuilder

SYMBOL = "wg.remainder"
_BITS, _FRACTION = 52, (1 << 52) - 1


def remainder(scalars: VectorBuilder, x: str, y: str, register: str) -> str:
    """x - trunc(x / y) y, exactly, of one lane; NaN where x is infinite or y is zero."""
    assert scalars.lanes == 1, "targets with vectors have an instruction"
    builder = scalars.builder
    symbol = builder.module.once(SYMBOL, lambda: _function(builder))
    wide = [operand if register == "double" else builder.cast("fpext", operand, register, "double") for operand in (x, y)]
    result = builder.call(symbol, "double", [("double", operand) for operand in wide])
    return result if register == "double" else builder.cast("fptrunc", result, "double", register)


def _function(around: FunctionBuilder) -> str:
    """The definition of the function of two f64."""
    b = FunctionBuilder(around.module)
    bits = [b.binary("and", "i64", b.cast("bitcast", name, "double", "i64"), (1 << 63) - 1) for name in ("%x", "%y")]
    (m, e), (n, f) = (_parts(b, word) for word in bits)
    distance = b.binary("sub", "i64", e, f)
    with b.while_loop([("i64", m), ("i64", distance)]) as loop:
        rest, steps = loop.values
        loop.test(b.icmp("sgt", "i64", steps, 0))
        doubled = b.binary("shl", "i64", _reduced(b, rest, n), 1)
        loop.carry(doubled, b.binary("sub", "i64", steps, 1))
    rest = _reduced(b, rest, n)
    value = _scaled(b, rest, f)
    smaller = b.icmp("ult", "i64", bits[0], bits[1])
    magnitude = b.select(smaller, "i64", bits[0], value)
    sign = b.binary("and", "i64", b.cast("bitcast", "%x", "double", "i64"), str(-(1 << 63)))
    result = b.cast("bitcast", b.binary("or", "i64", magnitude, sign), "i64", "double")
    infinity = float_literal(float("inf"), "double")
    undefined = [b.fcmp("uno", "double", "%x", "%y"), b.icmp("eq", "i64", bits[1], 0)]
    undefined.append(b.fcmp("oeq", "double", b.cast("bitcast", bits[0], "i64", "double"), infinity))
    for condition in undefined:
        result = b.select(condition, "double", float_literal(float("nan"), "double"), result)
    unchanged = b.fcmp("oeq", "double", b.cast("bitcast", bits[1], "i64", "double"), infinity)
    both = b.binary("and", "i1", unchanged, b.binary("xor", "i1", undefined[2], "true"))
    numbers = b.binary("and", "i1", both, b.binary("xor", "i1", undefined[0], "true"))
    result = b.select(numbers, "double", "%x", result)
    return b.definition(SYMBOL, ["double %x", "double %y"], result="double", returns=result, attributes=f"{SHARED} nounwind")


def _parts(b: FunctionBuilder, word: str) -> tuple[str, str]:
    """A number without a sign as an integer of 53 bits, the highest of which is set (but for zero), and the exponent of its lowest bit."""
    exponent, fraction = b.binary("lshr", "i64", word, _BITS), b.binary("and", "i64", word, _FRACTION)
    normal = b.icmp("ne", "i64", exponent, 0)
    zeros = b.binary("sub", "i64", b.op(f"call i64 @llvm.ctlz.i64(i64 {fraction}, i1 false)"), 63 - _BITS)
    shift = b.select(normal, "i64", 0, b.binary("and", "i64", zeros, 63))
    whole = b.select(normal, "i64", b.binary("or", "i64", fraction, 1 << _BITS), b.binary("shl", "i64", fraction, shift))
    return whole, b.select(normal, "i64", exponent, b.binary("sub", "i64", 1, shift))


def _reduced(b: FunctionBuilder, rest: str, n: str) -> str:
    """The rest, less n if it is not smaller."""
    return b.select(b.icmp("uge", "i64", rest, n), "i64", b.binary("sub", "i64", rest, n), rest)


def _scaled(b: FunctionBuilder, rest: str, exponent: str) -> str:
    """The bits of a rest, whose lowest bit has this exponent."""
    zeros = b.binary("sub", "i64", b.op(f"call i64 @llvm.ctlz.i64(i64 {rest}, i1 false)"), 63 - _BITS)
    most = b.intrinsic("smax", "i64", b.binary("sub", "i64", exponent, 1), 0)
    shift = b.intrinsic("umin", "i64", zeros, most)
    mantissa, biased = b.binary("shl", "i64", rest, b.binary("and", "i64", shift, 63)), b.binary("sub", "i64", exponent, shift)
    highest = b.icmp("uge", "i64", mantissa, 1 << _BITS)
    normal = b.binary("or", "i64", b.binary("and", "i64", mantissa, _FRACTION), b.binary("shl", "i64", biased, _BITS))
    down = b.binary("and", "i64", b.intrinsic("smax", "i64", b.binary("sub", "i64", 1, exponent), 0), 63)
    subnormal = b.binary("lshr", "i64", mantissa, down)
    bits = b.select(b.binary("and", "i1", highest, b.icmp("sgt", "i64", biased, 0)), "i64", normal, subnormal)
    return b.select(b.icmp("eq", "i64", rest, 0), "i64", 0, bits)
