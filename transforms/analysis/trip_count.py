"""The trip count of a loop, where its text says it.

A loop is counted if its condition compares one carried integer with a constant, its body adds a constant to that
integer, and it starts at a constant::

    while (i = 0) cond { i < 7 } do { return i + 1 }          # 7 iterations

A ``core.for`` states its trip count as an operand.
"""

from __future__ import annotations

from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from wengert.dialects import core_control, stablehlo
from wengert.ir.elements import splat_value

_MIRRORED = {"LT": "GT", "LE": "GE", "GT": "LT", "GE": "LE", "NE": "NE"}


def trip_count(loop: Operation) -> int | None:
    """The number of iterations of a loop, or None where it depends on data or is written in another way."""
    if isinstance(loop, core_control.ForOp):
        stated = _integer(loop.trip_count)
        return None if stated is None else max(0, stated)
    if not isinstance(loop, stablehlo.WhileOp):
        return None
    condition, body = (region.block for region in loop.regions)
    bounded = _bound(condition)
    if bounded is None:
        return None
    position, direction, bound = bounded
    start, step = _integer(loop.operands[position]), _step(body, position)
    if start is None or step is None or step == 0:
        return None
    return _count(start, step, direction, bound)


def _bound(condition: Block) -> tuple[int, str, int] | None:
    """The carried value that the condition compares, how, and with what."""
    last = condition.last_op
    compare = last.operands[0].owner if last is not None and last.operands else None
    if not isinstance(compare, stablehlo.CompareOp):
        return None
    direction = str(compare.comparison_direction.data)
    left, right = compare.operands[0], compare.operands[1]
    if isinstance(right, BlockArgument):
        left, right, direction = right, left, _MIRRORED.get(direction, "")
    bound = _integer(right)
    if not isinstance(left, BlockArgument) or left.block is not condition or bound is None or direction not in _MIRRORED:
        return None
    return left.index, direction, bound


def _step(body: Block, position: int) -> int | None:
    """The constant that an iteration adds to the carried value, if it is one."""
    last = body.last_op
    assert last is not None
    update = last.operands[position].owner
    counter = body.args[position]
    if isinstance(update, stablehlo.AddOp):
        left, right = update.operands
        return _integer(right) if left is counter else _integer(left) if right is counter else None
    if isinstance(update, stablehlo.SubtractOp) and update.operands[0] is counter:
        change = _integer(update.operands[1])
        return -change if change is not None else None
    return None


def _count(start: int, step: int, direction: str, bound: int) -> int | None:
    """The number of values of start, start + step, ... that satisfy the comparison before the first that does not."""
    if direction == "NE":
        trips, rest = divmod(bound - start, step)
        return trips if rest == 0 and trips >= 0 else None
    if direction in ("GT", "GE"):
        start, step, bound = -start, -step, -bound
    span = bound - start + (direction in ("LE", "GE"))
    if span <= 0:
        return 0
    return -(-span // step) if step > 0 else None


def _integer(value: SSAValue) -> int | None:
    """The value of an integer constant of one element."""
    owner = value.owner
    if not isinstance(owner, stablehlo.ConstantOp):
        return None
    number = splat_value(owner.value)
    return int(number) if number is not None and number.dtype.kind in "biu" else None
