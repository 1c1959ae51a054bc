"""Integer arithmetic: ``arith`` and ``index`` on signless integers, with the sign in the op.

StableHLO's signless integers are signed; what an op does without a sign is done on their bits as unsigned ones. Where all operands are constants,
so is the result. An ``index`` has 64 bits. What MLIR leaves undefined (division by zero, shifts by more than the width) is what StableHLO makes of it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, cast

from xdsl.dialects.builtin import IntegerType, Signedness
from xdsl.ir import Attribute, Operation

from wengert.dialects import chlo
from wengert.dialects import stablehlo as hlo
from wengert.dialects.builder import OpBuilder
from wengert.dialects.upstream import UpstreamOp
from wengert.dialects.upstream.scalar_forms import CMPI
from wengert.ir.tensor_types import element, i1, i64, is_boolean, rank, shape, tensor
from wengert.transforms.core.counting import constant_integer
from wengert.transforms.upstream.convert.converter import Converter, Handler, Value, element_type, handles, refuses
from wengert.transforms.upstream.convert.errors import refusal

Make = Callable[[OpBuilder, Value, Value], Value]


def unsigned_type(type: Any) -> IntegerType:
    """The unsigned integer of the same width."""
    return IntegerType(type.width.data, Signedness.UNSIGNED)


def bitcast(b: OpBuilder, x: Value, type: Any) -> Value:
    """The same bits as elements of another type of the same width."""
    return x if element(x) == type else b.one(hlo.BitcastConvertOp, (x,), tensor(shape(x), type))


def unsigned(make: Make) -> Make:
    """The op on the same bits as unsigned integers."""

    def made(b: OpBuilder, x: Value, y: Value) -> Value:
        type = element(x)
        u = unsigned_type(type)
        result = make(b, bitcast(b, x, u), bitcast(b, y, u))
        return result if element(result) == i1 else bitcast(b, result, type)

    return made


def _rounded_quotient(towards: int) -> Make:
    """Division whose result is rounded down (-1) or up (1)."""

    def made(b: OpBuilder, x: Value, y: Value) -> Value:
        quotient, rest = b.divide(x, y), b.remainder(x, y)
        zero, one = b.full_like(x, 0), b.full_like(x, 1)
        signs_differ = b.xor(b.compare("LT", rest, zero), b.compare("LT", y, zero))
        moves = signs_differ if towards < 0 else b.not_(signs_differ)
        changed = b.and_(b.compare("NE", rest, zero), moves)
        return b.select(changed, b.subtract(quotient, one) if towards < 0 else b.add(quotient, one), quotient)

    return made


def _ceiling_of_unsigned(b: OpBuilder, x: Value, y: Value) -> Value:
    quotient, rest = b.divide(x, y), b.remainder(x, y)
    return b.add(quotient, b.convert(b.compare("NE", rest, b.full_like(x, 0)), element(x)))


def _like(cls: type[Operation]) -> Make:
    def make(b: OpBuilder, x: Value, y: Value) -> Value:
        return b.like(cls, x, y)

    return make


_add, _sub, _mul = _like(hlo.AddOp), _like(hlo.SubtractOp), _like(hlo.MultiplyOp)
_div, _rem, _max, _min = _like(hlo.DivideOp), _like(hlo.RemainderOp), _like(hlo.MaximumOp), _like(hlo.MinimumOp)
_and, _or, _xor = _like(hlo.AndOp), _like(hlo.OrOp), _like(hlo.XorOp)


def _first(b: OpBuilder, x: Value, y: Value) -> Value:
    return x


def _nothing(b: OpBuilder, x: Value, y: Value) -> Value:
    return b.full_like(x, 0)


def _without(b: OpBuilder, x: Value, y: Value) -> Value:
    return b.and_(x, b.not_(y))


def _truncated(x: int, y: int) -> int:
    return abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)


Row = tuple[Make, Make, Callable[[int, int], int], bool]
"""The op, the op on booleans (of which true is -1 as a signed number), the op on Python's integers, and whether these are unsigned."""

BINARY: dict[str, Row] = {
    "add": (_add, _xor, lambda x, y: x + y, False),
    "sub": (_sub, _xor, lambda x, y: x - y, False),
    "mul": (_mul, _and, lambda x, y: x * y, False),
    "divs": (_div, _first, _truncated, False),
    "divu": (unsigned(_div), _first, lambda x, y: x // y, True),
    "ceildivs": (_rounded_quotient(1), _first, lambda x, y: -(-x // y), False),
    "ceildivu": (unsigned(_ceiling_of_unsigned), _first, lambda x, y: -(-x // y), True),
    "floordivs": (_rounded_quotient(-1), _first, lambda x, y: x // y, False),
    "rems": (_rem, _nothing, lambda x, y: x - y * _truncated(x, y), False),
    "remu": (unsigned(_rem), _nothing, lambda x, y: x % y, True),
    "maxs": (_max, _and, max, False),
    "maxu": (unsigned(_max), _or, max, True),
    "mins": (_min, _or, min, False),
    "minu": (unsigned(_min), _and, min, True),
    "and": (_and, _and, lambda x, y: x & y, False),
    "or": (_or, _or, lambda x, y: x | y, False),
    "xor": (_xor, _xor, lambda x, y: x ^ y, False),
    "shl": (_like(hlo.ShiftLeftOp), _without, lambda x, y: x << y if 0 <= y < 64 else 0, False),
    "shrs": (_like(hlo.ShiftRightArithmeticOp), _first, lambda x, y: x >> y if 0 <= y < 64 else -(x < 0), False),
    "shru": (_like(hlo.ShiftRightLogicalOp), _without, lambda x, y: x >> y if 0 <= y < 64 else 0, True),
}
"""Integer ops of two operands."""

_DIVIDES = ("divs", "divu", "ceildivs", "ceildivu", "floordivs", "rems", "remu")
_ARITH = {
    "addi": "add",
    "subi": "sub",
    "muli": "mul",
    "divsi": "divs",
    "divui": "divu",
    "ceildivsi": "ceildivs",
    "ceildivui": "ceildivu",
    "floordivsi": "floordivs",
    "remsi": "rems",
    "remui": "remu",
    "maxsi": "maxs",
    "maxui": "maxu",
    "minsi": "mins",
    "minui": "minu",
    "andi": "and",
    "ori": "or",
    "xori": "xor",
    "shli": "shl",
    "shrsi": "shrs",
    "shrui": "shru",
}


def binary(c: Converter, name: str, x: Value, y: Value) -> Value:
    """An integer op of :data:`BINARY` on values of any one shape."""
    x, y = c.lifted(x, y)
    make, on_booleans, evaluate, is_unsigned = BINARY[name]
    if is_boolean(element(x)):
        return on_booleans(c.b, x, y)
    first, second = constant_integer(x), constant_integer(y)
    if rank(x) == 0 and first is not None and second is not None and not (name in _DIVIDES and second == 0):
        width = _width(x)
        if is_unsigned:
            first, second = first % (1 << width), second % (1 << width)
        return c.b.scalar(wrapped(evaluate(first, second), width), element(x))
    if (same := _unchanged(name, x, first, y, second)) is not None:
        return same
    return make(c.b, x, y)


def _unchanged(name: str, x: Value, first: int | None, y: Value, second: int | None) -> Value | None:
    """The operand that a sum with zero or a product with one gives."""
    if (name in ("add", "sub") and second == 0) or (name == "mul" and second == 1):
        return x
    if (name == "add" and first == 0) or (name == "mul" and first == 1):
        return y
    return None


def width_of(type: Attribute) -> int:
    """The width of an integer type."""
    return cast("IntegerType[Any, Any]", type).width.data


def _width(x: Value) -> int:
    return width_of(element(x))


def wrapped(value: int, width: int) -> int:
    """The signed number of this width with the same lowest bits."""
    return (value + (1 << width - 1)) % (1 << width) - (1 << width - 1)


def _binary_handler(name: str) -> Handler:
    def handler(c: Converter, op: UpstreamOp) -> Sequence[Value]:
        x, y = c.operands(op)
        return [binary(c, name, x, y)]

    return handler


for _written, _name in _ARITH.items():
    handles(f"arith.{_written}", elementwise=True)(_binary_handler(_name))
for _name in BINARY:
    handles(f"index.{_name}", elementwise=True)(_binary_handler(_name))


# -- comparisons

_DIRECTIONS = {"eq": "EQ", "ne": "NE", "lt": "LT", "le": "LE", "gt": "GT", "ge": "GE"}
_COMPARE: dict[str, Callable[[int, int], bool]] = {
    "EQ": lambda x, y: x == y,
    "NE": lambda x, y: x != y,
    "LT": lambda x, y: x < y,
    "LE": lambda x, y: x <= y,
    "GT": lambda x, y: x > y,
    "GE": lambda x, y: x >= y,
}


def compare(c: Converter, predicate: str, x: Value, y: Value) -> Value:
    """A comparison by its name in ``arith.cmpi``: ``slt``, ``uge``, ``eq``."""
    x, y = c.lifted(x, y)
    direction, is_unsigned = _DIRECTIONS[predicate[-2:]], predicate[0] == "u"
    first, second = constant_integer(x), constant_integer(y)
    if is_boolean(element(x)):
        return c.b.compare(direction, x, y) if is_unsigned or predicate in ("eq", "ne") else c.b.compare(direction, y, x)
    if rank(x) == 0 and first is not None and second is not None:
        modulus = 1 << _width(x)
        pair = (first % modulus, second % modulus) if is_unsigned else (first, second)
        return c.b.scalar(_COMPARE[direction](*pair), i1)
    if is_unsigned:
        return unsigned(lambda b, p, q: b.compare(direction, p, q))(c.b, x, y)
    return c.b.compare(direction, x, y)


@handles("arith.cmpi", elementwise=True)
def _cmpi(c: Converter, op: UpstreamOp) -> Sequence[Value]:
    return [compare(c, CMPI[number_of(op, "predicate")], *c.operands(op))]


@handles("index.cmp", elementwise=True)
def _index_cmp(c: Converter, op: UpstreamOp) -> Sequence[Value]:
    written = str(op.attributes["pred"])
    predicate = next(name for name in sorted(CMPI, key=len, reverse=True) if _names(written, name))
    return [compare(c, predicate, *c.operands(op))]


def _names(text: str, predicate: str) -> bool:
    return re.search(rf"\b{predicate}\b", text.replace("_", " ").replace("cmp predicate", "")) is not None


def number_of(op: UpstreamOp, name: str) -> int:
    """An integer attribute; an error where there is none."""
    value = getattr(getattr(op.attributes.get(name), "value", None), "data", None)
    if not isinstance(value, int):
        raise refusal(op, f"the attribute '{name}' is missing, or no integer")
    return value


# -- casts


def resized(c: Converter, x: Value, type: Any, *, signed: bool) -> Value:
    """An integer of another width: extended by its sign or by zeros, or cut off."""
    b, own = c.b, element(x)
    if own == type:
        return x
    number = constant_integer(x)
    if rank(x) == 0 and number is not None:
        value = int(number) if signed and not is_boolean(own) else int(number) % (1 << _width(x))
        value = -value if signed and is_boolean(own) else value
        return b.scalar(bool(value & 1), i1) if is_boolean(type) else b.scalar(wrapped(value, type.width.data), type)
    if is_boolean(own):
        extended = b.convert(x, type)
        return b.negate(extended) if signed else extended
    if is_boolean(type):
        return b.compare("NE", b.and_(x, b.full_like(x, 1)), b.full_like(x, 0))
    if type.width.data < _width(x) or signed:
        return b.convert(x, type)
    return bitcast(b, b.convert(bitcast(b, x, unsigned_type(own)), unsigned_type(type)), type)


def _resize_handler(signed: bool) -> Handler:
    def handler(c: Converter, op: UpstreamOp) -> Sequence[Value]:
        return [resized(c, c[op.operands[0]], element_type(op, op.results[0].type), signed=signed)]

    return handler


handles("arith.extsi", "arith.trunci", "arith.index_cast", "index.casts", elementwise=True)(_resize_handler(True))
handles("arith.extui", "arith.index_castui", "index.castu", elementwise=True)(_resize_handler(False))


# -- results in two halves


@handles("arith.addui_extended", elementwise=True)
def _extended_sum(c: Converter, op: UpstreamOp) -> Sequence[Value]:
    x, y = c.lifted(*c.operands(op))
    total = binary(c, "add", x, y)
    if is_boolean(element(x)):
        return [total, c.b.and_(x, y)]
    return [total, compare(c, "ult", total, x)]


@handles("arith.subui_extended", elementwise=True)
def _extended_difference(c: Converter, op: UpstreamOp) -> Sequence[Value]:
    x, y = c.lifted(*c.operands(op))
    return [binary(c, "sub", x, y), compare(c, "ult", x, y)]


def _extended_product(signed: bool) -> Handler:
    def handler(c: Converter, op: UpstreamOp) -> Sequence[Value]:
        x, y = c.lifted(*c.operands(op))
        type, b = element(x), c.b
        low = binary(c, "mul", x, y)
        if is_boolean(type):  # (-1) * (-1) = 01 in two bits
            return [low, b.full_like(x, 0)]
        width = _width(x)
        if width == 64:
            high = b.like(chlo.MulhiOp, x, y) if signed else unsigned(lambda b, p, q: b.like(chlo.MulhiOp, p, q))(b, x, y)
            return [low, high]
        wide = i64
        product = b.multiply(resized(c, x, wide, signed=signed), resized(c, y, wide, signed=signed))
        shifted = b.like(hlo.ShiftRightLogicalOp, product, b.full_like(product, width))
        return [low, resized(c, shifted, type, signed=True)]

    return handler


handles("arith.mulsi_extended", elementwise=True)(_extended_product(True))
handles("arith.mului_extended", elementwise=True)(_extended_product(False))


# -- bits


@handles("math.absi", elementwise=True)
def _absi(c: Converter, op: UpstreamOp) -> Sequence[Value]:
    x = c[op.operands[0]]
    return [x if is_boolean(element(x)) else c.b.abs(x)]


@handles("math.ctlz", elementwise=True)
def _ctlz(c: Converter, op: UpstreamOp) -> Sequence[Value]:
    x = c[op.operands[0]]
    return [c.b.not_(x) if is_boolean(element(x)) else c.b.like(hlo.CountLeadingZerosOp, x)]


@handles("math.ctpop", elementwise=True)
def _ctpop(c: Converter, op: UpstreamOp) -> Sequence[Value]:
    x = c[op.operands[0]]
    return [x if is_boolean(element(x)) else c.b.like(hlo.PopcntOp, x)]


@handles("math.cttz", elementwise=True)
def _cttz(c: Converter, op: UpstreamOp) -> Sequence[Value]:
    b, x = c.b, c[op.operands[0]]
    if is_boolean(element(x)):
        return [b.not_(x)]
    below = b.and_(b.not_(x), b.subtract(x, b.full_like(x, 1)))  # ones where x has its last zeros
    return [b.like(hlo.PopcntOp, below)]


@handles("math.ipowi", elementwise=True)
def _ipowi(c: Converter, op: UpstreamOp) -> Sequence[Value]:
    """By squaring, as MLIR says: a negative exponent gives 1 for 1, 1 or -1 for -1, and 0 for others."""
    x, y = c.lifted(*c.operands(op))
    b = c.b
    zero, one = b.full_like(x, 0), b.full_like(x, 1)
    magnitude = b.select(b.compare("LT", y, zero), b.negate(y), y)
    result, base = one, x
    for bit in range(_width(x)):
        odd = b.compare("NE", b.and_(b.like(hlo.ShiftRightLogicalOp, magnitude, b.full_like(x, bit)), one), zero)
        result = b.select(odd, b.multiply(result, base), result)
        base = b.multiply(base, base)
    unit = b.compare("EQ", b.abs(x), one)
    return [b.select(b.and_(b.compare("LT", y, zero), b.not_(unit)), zero, result)]


# -- constants of index


@handles("index.sizeof", elementwise=True)
def _sizeof(c: Converter, op: UpstreamOp) -> Sequence[Value]:
    return [c.index(64)]


refuses("arith.scaling_extf", "microscaling formats are not supported")
refuses("arith.scaling_truncf", "microscaling formats are not supported")
