"""Adjoints of sorting ops: cotangents are scattered to the original positions of the elements."""

from __future__ import annotations

from collections.abc import Sequence

from wengert.dialects import chlo
from wengert.dialects import stablehlo as hlo
from wengert.dialects.builder import OpBuilder, Value
from wengert.dialects.core import Kind
from wengert.dialects.stablehlo.attributes import ScatterDimensionNumbersAttr, dimensions
from wengert.ir.attributes import int_attr, int_of
from wengert.ir.tensor_types import index_element, rank, shape, tensor, type_of
from wengert.transforms.ad.direct.adjoint import Bars, Pullback, adjoint, step
from wengert.transforms.ad.direct.sweep import Sweep
from wengert.transforms.ad.linear.cotangents import Cotangents
from wengert.transforms.ad.rule import Tangent


def put_along(b: OpBuilder, like: Value, positions: Value, y_bar: Value, dim: int) -> Value:
    """Scatters y_bar into zeros of the shape of ``like``, to distinct positions along a dimension; all others are batch dimensions."""
    batch = dimensions([d for d in range(rank(like)) if d != dim])
    line = dimensions((dim,))
    numbers = ScatterDimensionNumbersAttr(dimensions(()), line, batch, batch, line, int_attr(rank(like)))
    return b.scatter(Kind.add, b.zeros(type_of(like)), b.reshape(positions, [*shape(positions), 1]), y_bar, numbers, unique=True)


@adjoint(chlo.TopKOp)
def top_k(b: OpBuilder, op: chlo.TopKOp, y_bars: Sequence[Value], needed: Sequence[bool]) -> Bars:
    return [put_along(b, op.operand, op.indices, y_bars[0], rank(op.operand) - 1)]


@step(hlo.SortOp)
def sort(sweep: Sweep, op: hlo.SortOp) -> Pullback:
    # the positions are sorted along, as another operand
    b, inputs = sweep.b, [sweep.primal(x) for x in op.inputs]
    extents = shape(inputs[0])
    dim = rank(inputs[0]) - 1 if op.dimension is None else int_of(op.dimension) % rank(inputs[0])
    index_type = index_element(extents[dim])
    positions = tensor(extents, index_type)
    region = sweep.region(op.comparator)
    for _ in range(2):
        region.block.insert_arg(tensor((), index_type), len(region.block.args))
    outputs = b.create(hlo.SortOp, [*inputs, b.iota(dim, positions)], [*(r.type for r in op.results), positions], op.properties, [region])
    sweep.bind(op.results, outputs[:-1])

    def pullback(b: OpBuilder, y_bars: Sequence[Tangent], cotangents: Cotangents) -> None:
        for x, y_bar in zip(inputs, y_bars, strict=True):
            if y_bar is not None and sweep.has_cotangent(x):
                cotangents.add(x, put_along(b, x, outputs[-1], y_bar, dim))

    return pullback
