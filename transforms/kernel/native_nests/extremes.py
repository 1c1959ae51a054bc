"""``core.argreduce`` as nests: the extreme of each line, the lowest position that holds it (or the first NaN, if there is one), and what is there.

Zeros of both signs are equal, so the element is read at its position and is not the extreme that the first nest gives.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.ir import SSAValue

from wengert.dialects import core
from wengert.dialects.core import Extreme, Kind
from wengert.dialects.kernel import STORE, Write
from wengert.dialects.kernel.positions import Position
from wengert.ir.attributes import int_of
from wengert.ir.tensor_types import element, i1, i32, i64, is_complex, is_float, shape, size, tensor
from wengert.transforms.fuse.roles import combination_kind, combines
from wengert.transforms.kernel.native_nests.body import Body
from wengert.transforms.kernel.native_nests.place import Place

Lines = tuple[int, int, int]
"""The extents before, along and behind the dimension that disappears."""


def argreduce(place: Place, op: core.ArgReduceOp, operands: Sequence[SSAValue]) -> Sequence[SSAValue]:
    """Three nests for value and position; nothing if elements of the type have no order in nests."""
    type, kind = element(op.operand), Kind.max if op.extreme.data is Extreme.max else Kind.min
    if not combines(type, kind) or is_complex(type):
        return []
    dim, extents = int_of(op.dimension), shape(op.operand)
    lines = (prod(extents[:dim]), extents[dim], prod(extents[dim + 1 :]))
    extreme = _extreme(place, operands[0], kind, lines, shape(op.value))
    position = _position(place, operands[0], extreme, lines, op)
    return [_element(place, operands[0], position, lines, op), position]


def _extreme(place: Place, x: SSAValue, kind: Kind, lines: Lines, out: Sequence[int]) -> SSAValue:
    body = _body([x], lines)
    write = Write(body.load(0, _along(body, lines)), _across(body, lines), combination_kind(kind, element(x)), 0)
    return place.put(body.nest([write], [tensor(out, element(x))]))[0]


def _position(place: Place, x: SSAValue, extreme: SSAValue, lines: Lines, op: core.ArgReduceOp) -> SSAValue:
    """The least position whose element is the extreme or NaN: where there is a NaN nothing equals the extreme."""
    body, type = _body([x, extreme], lines), element(op.index)
    here = body.load(0, _along(body, lines))
    chosen = body.apply("eq", i1, here, body.load(1, _across(body, lines)))
    if is_float(element(x)):
        chosen = body.apply("or", i1, chosen, body.apply("ne", i1, here, here))
    number = body.apply("select", type, chosen, body.number(body.loop(2), type), body.constant(lines[1] - 1, type))
    return place.put(body.nest([Write(number, _across(body, lines), "min", 0)], [op.index.type]))[0]


def _element(place: Place, x: SSAValue, position: SSAValue, lines: Lines, op: core.ArgReduceOp) -> SSAValue:
    """The elements at the positions along the dimension."""
    _, extent, inner = lines
    body, integer = Body(lines[::2], [x, position]), i32 if size(x) < 2**31 else i64
    steps = body.converted(body.load(1, _across(body, lines)), integer)
    base = body.apply("multiply", integer, steps, body.constant(inner, integer))
    value = body.load(0, body.loop(0).times(extent * inner).plus(body.loop(1)), base=base)
    return place.put(body.nest([Write(value, _across(body, lines), STORE, 0)], [op.value.type]))[0]


def _body(inputs: Sequence[SSAValue], lines: Lines) -> Body:
    outer, extent, inner = lines
    return Body([outer, inner, extent], inputs)


def _along(body: Body, lines: Lines) -> Position:
    """The position of an element: loops go over what is before the dimension, what is behind it, and the dimension."""
    return body.loop(0).times(lines[1] * lines[2]).plus(body.loop(1)).plus(body.loop(2).times(lines[2]))


def _across(body: Body, lines: Lines) -> Position:
    """The position of a line's result."""
    return body.loop(0).times(lines[2]).plus(body.loop(1))
