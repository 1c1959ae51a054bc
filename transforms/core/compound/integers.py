"""The upper half of an integer product."""

from __future__ import annotations

from xdsl.dialects.builtin import IntegerType, Signedness

from wengert.dialects import chlo
from wengert.dialects import stablehlo as hlo
from wengert.dialects.builder import OpBuilder, Value
from wengert.dialects.stablehlo.typing.checks import bit_width
from wengert.ir.tensor_types import element, i64, is_unsigned, ui64


def expand_mulhi(b: OpBuilder, op: chlo.MulhiOp) -> list[Value]:
    """The product in twice the bits, shifted; of 64 bits, by halves of 32."""
    element_type = element(op.result)
    width, unsigned = bit_width(element_type), is_unsigned(element_type)
    if width == 64:
        return [_unsigned(b, op.lhs, op.rhs) if unsigned else _signed(b, op.lhs, op.rhs)]
    wide = IntegerType(64, Signedness.UNSIGNED if unsigned else Signedness.SIGNLESS)
    product = b.multiply(b.convert(op.lhs, wide), b.convert(op.rhs, wide))
    shift = hlo.ShiftRightLogicalOp if unsigned else hlo.ShiftRightArithmeticOp
    return [b.convert(b.like(shift, product, b.full_like(product, width)), element_type)]


def _unsigned(b: OpBuilder, x: Value, y: Value) -> Value:
    """With x = 2^32 a + b and y = 2^32 c + d: a c, and what the sum of a d, b c and the upper half of b d carries."""
    shift, mask = b.full_like(x, 32), b.full_like(x, 0xFFFFFFFF)

    def upper(v: Value) -> Value:
        return b.like(hlo.ShiftRightLogicalOp, v, shift)

    def lower(v: Value) -> Value:
        return b.and_(v, mask)

    first = b.add(b.multiply(upper(x), lower(y)), upper(b.multiply(lower(x), lower(y))))
    second = b.add(b.multiply(lower(x), upper(y)), lower(first))
    return b.add(b.add(b.multiply(upper(x), upper(y)), upper(first)), upper(second))


def _signed(b: OpBuilder, x: Value, y: Value) -> Value:
    """As unsigned numbers x is larger by 2^64 where it is negative, and so is y: the upper half by y, and by x."""
    upper_half = b.convert(_unsigned(b, b.convert(x, ui64), b.convert(y, ui64)), i64)
    zero = b.full_like(x, 0)
    for negative, other in ((x, y), (y, x)):
        upper_half = b.subtract(upper_half, b.select(b.compare("LT", negative, zero), other, zero))
    return upper_half
