"""Finds what a loop overwrites whole before anything reads it, so that its memory needs no first contents.

A loop that records a value of each iteration, for its reverse sweep or as a result, begins with an array of zeros and writes one row after the other. Were the
zeros kept, they would be written once and then copied for each array but one that begins with them.

    %t = stablehlo.constant dense<0.0> : tensor<5x3xf64>                      %t = kernel.empty : tensor<5x3xf64>
    core.for %i to %c5 carried(%s = %t) {                                     core.for %i to %c5 carried(%s = %t) {
      stablehlo.dynamic_update_slice %s, %row, %i, %c0                          ...
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Operation, SSAValue

from wengert.dialects import core, stablehlo
from wengert.ir.attributes import int_of
from wengert.ir.tensor_types import shape
from wengert.ir.traversal import operands_of
from wengert.transforms.core.counting import constant_integer, values_over
from wengert.transforms.optimize.matching import used_once


def unread_operands(op: Operation) -> frozenset[int]:
    """The numbers of the operands whose elements an op never reads: the initial values that a counted loop overwrites whole."""
    if not isinstance(op, core.ForOp):
        return frozenset()
    block, constants = op.block, int_of(op.constants)
    assert block.last_op is not None
    returned = operands_of(block.last_op)
    carried = block.args[1 + constants :]
    return frozenset(1 + constants + k for k, (argument, value) in enumerate(zip(carried, returned, strict=True)) if _overwrites_whole(op, argument, value))


def _overwrites_whole(op: core.ForOp, carried: SSAValue, returned: SSAValue) -> bool:
    """Whether iterations do no more with what is carried than to write a part of it each, which together are all of it."""
    update, trips = returned.owner, constant_integer(op.trip_count)
    if not isinstance(update, stablehlo.DynamicUpdateSliceOp) or update.operand is not carried or trips is None or trips < 1:
        return False
    if not used_once(carried) or not used_once(returned):
        return False
    extents, sizes = shape(carried), shape(update.update)
    partial = [d for d, (extent, size) in enumerate(zip(extents, sizes, strict=True)) if size != extent]
    return not partial or (len(partial) == 1 and sizes[partial[0]] == 1 and _visits(op, update.start_indices, partial[0], extents[partial[0]], trips))


def _visits(op: core.ForOp, indices: Sequence[SSAValue], dimension: int, extent: int, trips: int) -> bool:
    """Whether the index of a dimension comes to each of its rows."""
    rows = values_over(indices[dimension], op.block.args[0], trips)
    return rows is not None and min(rows[0], rows[-1]) <= 0 and max(rows[0], rows[-1]) >= extent - 1
