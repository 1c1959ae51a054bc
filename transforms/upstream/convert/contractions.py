"""Contractions among structured ops: sums of products of two operands become ``dot_general``."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct
from xdsl.ir import SSAValue

from wengert.dialects.upstream import UpstreamOp
from wengert.ir.tensor_types import element, is_boolean, shape
from wengert.transforms.upstream.convert.converter import Converter, Value
from wengert.transforms.upstream.convert.maps import arranged, projected
from wengert.transforms.upstream.convert.structured import Structured, is_zero

_SUMS = {"arith.addf": "arith.mulf", "arith.addi": "arith.muli", "complex.add": "complex.mul"}
CASTS = ("arith.extf", "arith.truncf", "arith.extsi", "arith.extui", "arith.sitofp", "arith.uitofp", "arith.trunci", "arith.fptosi")


class Product(Struct, frozen=True):
    """A body ``out + f(x) g(y)``: which inputs x and y are, and the casts f and g, the last one first."""

    x: int
    y: int
    casts_x: list[UpstreamOp]
    casts_y: list[UpstreamOp]


def sum_of_products(s: Structured) -> Product | None:
    """The product that a body of one output adds up, if it does nothing else."""
    if len(s.outs) != 1 or not s.reduced:
        return None
    total = s.results[0].owner
    if not isinstance(total, UpstreamOp) or total.name not in _SUMS or s.accumulators[0] not in tuple(total.operands):
        return None
    first, second = total.operands
    product = (second if first is s.accumulators[0] else first).owner
    if not isinstance(product, UpstreamOp) or product.name != _SUMS[total.name]:
        return None
    (x, casts_x), (y, casts_y) = (_uncast(s, operand) for operand in product.operands)
    expected = {id(op) for op in (total, product, *casts_x, *casts_y, s.block.last_op)}
    if x is None or y is None or {id(op) for op in s.block.ops} != expected:
        return None
    return Product(x, y, casts_x, casts_y)


def _uncast(s: Structured, value: SSAValue) -> tuple[int | None, list[UpstreamOp]]:
    """The input that a value is after casts, and the casts."""
    casts: list[UpstreamOp] = []
    while isinstance(owner := value.owner, UpstreamOp) and owner.name in CASTS:
        casts.append(owner)
        value = owner.operands[0]
    place = next((i for i in range(len(s.ins)) if s.block.args[i] is value), None)
    return place, casts


def cast_through(c: Converter, s: Structured, place: int, casts: Sequence[UpstreamOp]) -> Value:
    """A whole input after the casts that the body applies to its elements."""
    value = s.ins[place]
    for cast in reversed(casts):
        c.values[cast.operands[0]] = value
        c.op(cast)
        value = c[cast.results[0]]
    return value


def contraction(c: Converter, s: Structured, extents: Sequence[int]) -> list[Value] | None:
    """The output of a contraction; None where the op is none."""
    product = sum_of_products(s)
    dims = [projected(map) for map in s.maps]
    if product is None or None in dims or is_boolean(element(s.outs[0])):
        return None
    of_x, of_y, of_out = (list(d or ()) for d in (dims[product.x], dims[product.y], dims[-1]))
    if set(of_x) | set(of_y) != set(range(len(extents))) or sorted(of_out) != s.kept:
        return None
    x, y = cast_through(c, s, product.x, product.casts_x), cast_through(c, s, product.y, product.casts_y)
    x, of_x = _summed(c, x, of_x, [d for d in s.reduced if d not in of_y])
    y, of_y = _summed(c, y, of_y, [d for d in s.reduced if d not in of_x])
    batch = [d for d in of_x if d in of_y and d in of_out]
    joint = [d for d in of_x if d in of_y and d not in of_out]
    places = [([of_x.index(d) for d in some], [of_y.index(d) for d in some]) for some in (joint, batch)]
    total = c.b.dot_general(x, y, places[0], places[1])
    order = [*batch, *(d for d in of_x if d not in of_y), *(d for d in of_y if d not in of_x)]
    out = arranged(c, total, order, of_out)
    assert shape(out) == shape(s.outs[0])
    return [out if is_zero(s.outs[0]) else c.b.add(s.outs[0], out)]


def _summed(c: Converter, x: Value, dims: list[int], alone: Sequence[int]) -> tuple[Value, list[int]]:
    """x without the dimensions that it alone has and that are reduced."""
    places = [dims.index(d) for d in alone if d in dims]
    return c.b.reduce_sum(x, places), [d for d in dims if d not in alone]
