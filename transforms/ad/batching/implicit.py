"""Batching of values that are given by an equation: one system for each batch element, which one solver solves at once.

The functions that the op names are batched. Parameters that are the same for all batch elements stay as they are.
"""

from __future__ import annotations

from xdsl.dialects.builtin import SymbolRefAttr
from xdsl.ir import Attribute

from wengert.dialects.ad_implicit import IMPLICIT, ImplicitOp
from wengert.transforms.ad.batching.calls import batched_function
from wengert.transforms.ad.batching.rule import Batching, Operands, Results, batches


@batches(*IMPLICIT)
def implicit(batch: Batching, op: ImplicitOp, operands: Operands) -> Results:
    count = len(op.parameters)
    axes = [0 if x.batched else None for x in operands[:count]]
    properties: dict[str, Attribute] = {}
    for key, value in op.properties.items():
        if isinstance(value, SymbolRefAttr):
            unknowns = op.count * (2 if _takes_a_point(op, key) else 1)
            value = SymbolRefAttr(batched_function(batch.functions, value.string_value(), [*axes, *[0] * unknowns]))
        properties[key] = value
    values = [*(x.value for x in operands[:count]), *(batch.broadcast(x) for x in operands[count:])]
    return batch.b.create(type(op), values, [batch.type(r.type) for r in op.results], properties)


def _takes_a_point(op: ImplicitOp, key: str) -> bool:
    """Whether a function takes the solution and a right-hand side."""
    return "tangent_solve" in op.properties and key in ("tangent_solve", "transpose_solve")
