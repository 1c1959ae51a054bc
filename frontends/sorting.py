"""Sorting, for every front end: NaN after all numbers, equal elements as they stood."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Attribute, Block, Region

from wengert.dialects import stablehlo as hlo
from wengert.dialects.builder import OpBuilder, Value
from wengert.ir.attributes import bool_attr, int_attr
from wengert.ir.tensor_types import element, is_float, tensor


def _comparator(types: Sequence[Attribute]) -> Region:
    """Whether the first of two tuples goes first: by the first parts, NaN after all numbers."""
    block = Block(arg_types=[tensor((), t) for t in types for _ in range(2)])
    inner = OpBuilder(block)
    x, y = block.args[:2]
    first = inner.compare("LT", x, y)
    if is_float(types[0]):
        first = inner.or_(first, inner.and_(inner.compare("EQ", x, x), inner.compare("NE", y, y)))
    block.add_op(hlo.ReturnOp.create(operands=[first]))
    return Region([block])


def in_order(b: OpBuilder, values: Sequence[Value], dim: int) -> Sequence[Value]:
    """Arrays of one shape, all in the order of the first along a dimension."""
    properties = {"dimension": int_attr(dim), "is_stable": bool_attr(True)}
    return b.create(hlo.SortOp, list(values), [v.type for v in values], properties, [_comparator([element(v) for v in values])])
