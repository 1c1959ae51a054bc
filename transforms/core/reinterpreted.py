"""Ops that there are instructions for on some types only, written out on the others: bits of elements of another width, and functions of complex numbers.

    %y = stablehlo.bitcast_convert %x : (tensor<3xf64>) -> tensor<3x2xi32>

becomes shifts of the bits as one integer by 0 and 32, of which the low halves are kept; the other way round parts are shifted into their places and put
together. Complex numbers are compared by their real parts, and where these are equal by their imaginary ones. The angle of complex x and y is

    -i log((x + i y) / sqrt(x^2 + y^2))

of x and y over the largest of their parts, so that no square leaves the range.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from xdsl.dialects.builtin import IntegerType, Signedness
from xdsl.ir import Attribute

from wengert.dialects import stablehlo as hlo
from wengert.dialects.builder import OpBuilder, Value
from wengert.dialects.core import Kind
from wengert.ir.tensor_types import c128, element, is_boolean, is_complex, rank, shape, tensor

# -- bits of elements of another width


def changes_width(op: hlo.BitcastConvertOp) -> bool:
    """Whether elements become more or fewer, of whole bytes."""
    widths = [_width(element(op.operand)), _width(element(op.result))]
    return widths[0] != widths[1] and all(width >= 8 for width in widths)


def _width(element_type: Attribute) -> int:
    """How many bits an element has; 0 of complex numbers and booleans, whose bits are not looked at here."""
    return 0 if is_complex(element_type) or is_boolean(element_type) else int(getattr(element_type, "bitwidth", 0))


def expand_bitcast(b: OpBuilder, op: hlo.BitcastConvertOp) -> Sequence[Value]:
    """The lowest part of an element is the first."""
    narrow, wide = sorted((_width(element(op.operand)), _width(element(op.result))))
    bits, part = (IntegerType(width, Signedness.UNSIGNED) for width in (wide, narrow))
    count = wide // narrow
    if _width(element(op.operand)) == wide:
        extents = [*shape(op.operand), count]
        whole = b.broadcast_in_dim(_as(b, op.operand, bits), range(rank(op.operand)), extents)
        places = b.multiply(b.iota(len(extents) - 1, tensor(extents, bits)), b.full(narrow, tensor(extents, bits)))
        return [_as(b, b.convert(b.like(hlo.ShiftRightLogicalOp, whole, places), part), element(op.result))]
    parts = b.convert(_as(b, op.operand, part), bits)
    last = rank(parts) - 1
    places = b.multiply(b.iota(last, tensor(shape(parts), bits)), b.full(narrow, tensor(shape(parts), bits)))
    return [_as(b, b.reduce(Kind.or_, b.like(hlo.ShiftLeftOp, parts, places), [last]), element(op.result))]


def _as(b: OpBuilder, x: Value, element_type: Attribute) -> Value:
    """x with its bits as elements of a type of the same width."""
    return x if element(x) == element_type else b.one(hlo.BitcastConvertOp, (x,), tensor(shape(x), element_type))


# -- complex numbers


def orders_complex_numbers(op: hlo.CompareOp) -> bool:
    """Whether complex numbers are compared for more than equality."""
    return is_complex(element(op.lhs)) and op.comparison_direction.data not in ("EQ", "NE")


def expand_comparison(b: OpBuilder, op: hlo.CompareOp) -> Sequence[Value]:
    """By the real parts, where these are equal by the imaginary ones."""
    return [_ordered(b, str(op.comparison_direction.data), op.lhs, op.rhs)]


def _ordered(b: OpBuilder, direction: str, x: Value, y: Value) -> Value:
    first = b.compare(direction[0] + "T", b.real(x), b.real(y))
    second = b.compare(direction, b.imag(x), b.imag(y))
    return b.or_(first, b.and_(b.compare("EQ", b.real(x), b.real(y)), second))


def is_complex_extremum(op: hlo.MaximumOp | hlo.MinimumOp) -> bool:
    """Whether it is complex numbers of which one is taken."""
    return is_complex(element(op.lhs))


def expand_extremum(b: OpBuilder, op: hlo.MaximumOp | hlo.MinimumOp) -> Sequence[Value]:
    """The one that comes last or first in that order; one of which a part is NaN, if there is any."""
    x, y = op.lhs, op.rhs
    first = b.and_(_ordered(b, "GE" if isinstance(op, hlo.MaximumOp) else "LE", x, y), b.compare("EQ", y, y))
    return [b.select(b.or_(first, b.compare("NE", x, x)), x, y)]


def is_complex_angle(op: hlo.Atan2Op) -> bool:
    """Whether the angle is that of complex numbers."""
    return is_complex(element(op.lhs))


def expand_complex_angle(b: OpBuilder, op: hlo.Atan2Op) -> Sequence[Value]:
    """-i log((x + i y) / s) with s = sqrt(x^2 + y^2), in double precision.

    Of small angles the quotient is near 1: it is 1 + (i y - y^2 / (s + x)) / s, whose logarithm has the digits of the angle.
    """
    y, x = b.convert(op.lhs, c128), b.convert(op.rhs, c128)
    parts = [b.abs(part) for z in (x, y) for part in (b.real(z), b.imag(z))]
    largest = reduce(b.maximum, parts)
    x, y = (b.complex(b.divide(b.real(z), largest), b.divide(b.imag(z), largest)) for z in (x, y))
    square, quarter_turn = b.multiply(y, y), b.complex(b.negate(b.imag(y)), b.real(y))
    root = b.like(hlo.SqrtOp, b.add(b.multiply(x, x), square))
    both, size = b.add(root, x), b.abs(root)
    is_small = b.and_(b.compare("LT", b.add(b.abs(y), b.abs(y)), size), b.compare("GE", b.abs(both), size))
    excess = b.divide(b.subtract(quarter_turn, b.divide(square, both)), root)
    usual = b.like(hlo.LogOp, b.divide(b.add(x, quarter_turn), root))
    angle = b.select(is_small, b.like(hlo.LogPlusOneOp, excess), usual)
    return [b.convert(b.complex(b.imag(angle), b.negate(b.real(angle))), element(op.result))]
