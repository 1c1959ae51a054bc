"""``chlo.top_k`` for JAX's ``approx_max_k`` and ``approx_min_k``, a custom call that on most devices finds the exact answer.

Before and after::

    %i = stablehlo.iota dim = 0                                                          %0:2 = chlo.top_k(%x, k = 2)
    %0:2 = stablehlo.custom_call @ApproxTopK(%x, %i, %lowest, %none) {... top_k = 2}
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from wengert.dialects import chlo, stablehlo
from wengert.dialects.builder import OpBuilder
from wengert.ir.attributes import int_attr
from wengert.ir.tensor_types import element, i32, rank, shape, tensor
from wengert.transforms.core.recognisers.numbering import numbers_along

TARGET = "ApproxTopK"


def recognise_top_k(b: OpBuilder, op: stablehlo.CustomCallOp) -> Sequence[SSAValue] | None:
    """The k first by value along a dimension, and their positions, if the call asks for these."""
    if op.call_target_name.data != TARGET or len(op.inputs) != 4:
        return None
    options, compared = op.options, str(op.called_computations)
    dimension, k = options.get("reduction_dim"), options.get("top_k")
    values, positions = op.inputs[0], op.inputs[1]
    if dimension is None or k is None or shape(positions) != shape(values) or element(positions) != i32 or not numbers_along(positions, dimension):
        return None
    extents = [k if d == dimension else n for d, n in enumerate(shape(values))]
    if (
        not isinstance(k, int)
        or not 0 <= k <= shape(values)[dimension]
        or [r.type for r in op.results] != [tensor(extents, element(values)), tensor(extents, i32)]
    ):
        return None
    if ("top_k_gt" in compared) == ("top_k_lt" in compared):
        return None
    last = rank(values) - 1
    order = [*(d for d in range(rank(values)) if d != dimension), dimension]
    moved = values if dimension == last else b.transpose(values, order)
    kept, smallest = [*shape(moved)[:-1], k], "top_k_lt" in compared
    largest = b.negate(moved) if smallest else moved
    best, places = b.create(chlo.TopKOp, [largest], [tensor(kept, element(values)), tensor(kept, i32)], {"k": int_attr(k)})
    results = [b.negate(best) if smallest else best, places]
    return results if dimension == last else [b.transpose(value, [order.index(d) for d in range(last + 1)]) for value in results]
