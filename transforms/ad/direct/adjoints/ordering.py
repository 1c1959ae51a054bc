"""Adjoints of sorts: an element's cotangent goes back to the position that it came from."""

from __future__ import annotations

from collections.abc import Sequence

from wengert.dialects import chlo
from wengert.dialects import stablehlo as hlo
from wengert.dialects.builder import OpBuilder, Value
from wengert.dialects.core import Kind
from wengert.dialects.stablehlo.attributes import ScatterDimensionNumbersAttr, dimensions
from wengert.ir.attributes import int_attr, int_of
from wengert.ir.tensor_types import index_element, rank, shape, tensor, type_of
from wengert.transforms.ad.direct.adjoint import Back, Bars, adjoint, step
from wengert.transforms.ad.direct.sweep import Sweep
from wengert.transforms.ad.linear.cotangents import Cotangents
from wengert.transforms.ad.rule import Tangent


def put_along(b: OpBuilder, like: Value, places: Value, y_bar: Value, dim: int) -> Value:
    """Zeros like a tensor with y_bar at the given (distinct) positions along a dimension, all others running along."""
    batch = dimensions([d for d in range(rank(like)) if d != dim])
    line = dimensions((dim,))
    numbers = ScatterDimensionNumbersAttr(dimensions(()), line, batch, batch, line, int_attr(rank(like)))
    return b.scatter(Kind.add, b.zeros(type_of(like)), b.reshape(places, [*shape(places), 1]), y_bar, numbers, unique=True)


@adjoint(chlo.TopKOp)
def top_k(b: OpBuilder, op: chlo.TopKOp, y_bars: Sequence[Value], needed: Sequence[bool]) -> Bars:
    return [put_along(b, op.operand, op.indices, y_bars[0], rank(op.operand) - 1)]


@step(hlo.SortOp)
def sort(sweep: Sweep, op: hlo.SortOp) -> Back:
    # positions are sorted along, once
    b, inputs = sweep.b, [sweep.primal(x) for x in op.inputs]
    extents = shape(inputs[0])
    dim = rank(inputs[0]) - 1 if op.dimension is None else int_of(op.dimension) % rank(inputs[0])
    counter = index_element(extents[dim])
    places = tensor(extents, counter)
    region = sweep.region(op.comparator)
    for _ in range(2):
        region.block.insert_arg(tensor((), counter), len(region.block.args))
    made = b.create(hlo.SortOp, [*inputs, b.iota(dim, places)], [*(r.type for r in op.results), places], op.properties, [region])
    sweep.bind(op.results, made[:-1])

    def back(b: OpBuilder, y_bars: Sequence[Tangent], cotangents: Cotangents) -> None:
        for x, y_bar in zip(inputs, y_bars, strict=True):
            if y_bar is not None and sweep.has_cotangent(x):
                cotangents.add(x, put_along(b, x, made[-1], y_bar, dim))

    return back
