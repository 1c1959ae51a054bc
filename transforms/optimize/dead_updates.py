"""Dead stores of loops: updates of rows that nothing reads again.

A loop that writes row i of what it carries in iteration i has a transpose that reads row i of the cotangent and then puts zeros
there. No iteration comes to that row again, so if the result is not used either, the zeros are dead: the loop may return
what it was given, which then is a constant of the loop (see :func:`wengert.transforms.optimize.control.carried_unchanged`).
"""

from __future__ import annotations

from xdsl.ir import SSAValue

from wengert.dialects import core, stablehlo
from wengert.ir.attributes import int_of
from wengert.ir.pipeline.actions import may_rewrite
from wengert.ir.tensor_types import shape
from wengert.transforms.core.counting import constant_integer, values_over


def drop_dead_updates(op: core.ForOp) -> bool:
    """Makes a loop return what it carries as it was given, where all updates of it are dead.

    Returns whether there was any. Results must have the users that they are going to have: this is not for ops just made.
    """
    end = op.block.last_op
    assert end is not None
    first = 1 + int_of(op.constants)
    changed = False
    for k, (argument, result) in enumerate(zip(op.block.args[first:], op.results, strict=True)):
        if result.first_use is None and _overwrites_behind(op, argument, end.operands[k]) and may_rewrite("drop-dead-update", op):
            end.operands[k] = argument
            changed = True
    return changed


def _overwrites_behind(op: core.ForOp, carried: SSAValue, returned: SSAValue) -> bool:
    """Whether every iteration reads one row of what is carried, another one each time, and overwrites just that row."""
    update = returned.owner
    if not isinstance(update, stablehlo.DynamicUpdateSliceOp) or update.operand is not carried or len(list(returned.uses)) != 1:
        return False
    sizes, extents = shape(update.update), shape(carried)
    row = next((d for d, index in enumerate(update.start_indices) if sizes[d] == 1 and _own_place(op, index, extents[d])), None)
    if row is None:
        return False
    for use in carried.uses:
        read = use.operation
        if read is update and use.index == 0:
            continue
        if not isinstance(read, stablehlo.DynamicSliceOp) or read.start_indices[row] is not update.start_indices[row] or shape(read.result)[row] != 1:
            return False
    return True


def _own_place(op: core.ForOp, index: SSAValue, extent: int) -> bool:
    """Whether an index is another one in every iteration, and never clamped."""
    trips = constant_integer(op.trip_count)
    rows = None if trips is None else values_over(index, op.block.args[0], trips)
    return rows is not None and all(0 <= row < extent for row in (*rows[:1], *rows[-1:]))
