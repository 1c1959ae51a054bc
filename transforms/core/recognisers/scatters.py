"""``core.scatter``: ``stablehlo.scatter`` whose region is one op or keeps the update.

A region that subtracts is a scatter-add of negated updates, exactly. Several inputs become one scatter each.
"""

from __future__ import annotations

from typing import cast

from xdsl.ir import Attribute, Block, SSAValue

from wengert.dialects import core, stablehlo
from wengert.dialects.builder import OpBuilder
from wengert.dialects.core import Kind
from wengert.ir.attributes import bool_attr, int_of
from wengert.ir.tensor_types import element
from wengert.transforms.core.kinds import combiner_kinds, region_of, returned_values


def recognise_scatter(b: OpBuilder, op: stablehlo.ScatterOp) -> list[SSAValue] | None:
    """scatter(x, indices, u) with an op, or ``return u``, as region = core.scatter."""
    block, count = op.update_computation.block, len(op.inputs)
    numbers = op.scatter_dimension_numbers
    is_sorted, is_unique = _flag(op.indices_are_sorted), _flag(op.unique_indices)
    returned = returned_values(block)
    if count == 1 and returned[0] is block.args[0]:
        return list(op.inputs) if op.inputs[0].type == op.results[0].type else None
    updates = list(op.updates)
    if len(block.ops) == 1 and list(returned) == list(block.args[count:]):
        kinds = [Kind.set] * count
    elif count == 1 and _subtracts_update(returned[0], block.args):
        kinds = [Kind.add]
        updates = [b.negate(updates[0])]
    else:
        kinds = combiner_kinds(block, count)
    if kinds is None:
        return None
    results: list[SSAValue] = []
    for x, update, kind, result in zip(op.inputs, updates, kinds, op.results, strict=True):
        element_type = element(result)
        results.append(b.scatter(kind, b.convert(x, element_type), op.scatter_indices, b.convert(update, element_type), numbers, is_sorted, is_unique))
    return results


def _subtracts_update(value: SSAValue, arguments: tuple[SSAValue, ...]) -> bool:
    op = value.owner
    return isinstance(op, stablehlo.SubtractOp) and tuple(op.operands) == tuple(arguments) and len(list(cast(Block, op.parent).ops)) == 2


def _flag(attribute: Attribute | None) -> bool:
    return attribute is not None and bool(int_of(attribute))


def expand_scatter(b: OpBuilder, op: core.ScatterOp) -> list[SSAValue]:
    """core.scatter = scatter with the kind's op, or ``return u``, as region."""
    properties: dict[str, Attribute] = {
        "scatter_dimension_numbers": op.scatter_dimension_numbers,
        "indices_are_sorted": bool_attr(bool(int_of(op.indices_are_sorted))),
        "unique_indices": bool_attr(bool(int_of(op.unique_indices))),
    }
    region = region_of(op.kind.data, element(op.operand))
    return list(b.create(stablehlo.ScatterOp, (op.operand, op.scatter_indices, op.updates), (op.result.type,), properties, (region,)))
