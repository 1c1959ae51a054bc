"""Counting loops: the number of iterations of a while, as IR, where one of the values it carries is a counter.

A loop is counted if its condition compares a counter with a value that the loop does not change, and each iteration adds a
constant to the counter. Conversions of integer width around the counter, double negations of the predicate and the
order of the comparison do not matter; start and bound may be known only at run time.
"""

from __future__ import annotations

from typing import Any, cast

from msgspec import Struct
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr
from xdsl.ir import Block, BlockArgument, SSAValue

from wengert.dialects import stablehlo as hlo
from wengert.dialects.builder import OpBuilder
from wengert.ir.elements import splat_value
from wengert.ir.tensor_types import element, i1, i64, is_integer, is_unsigned, rank

_MIRRORED = {"LT": "GT", "LE": "GE", "GT": "LT", "GE": "LE", "NE": "NE"}


class Counter(Struct, frozen=True):
    """A carried value that each iteration changes by a constant, and the bound that it is compared with."""

    position: int
    direction: str
    bound: SSAValue
    step: int


def constant_integer(value: SSAValue) -> int | None:
    """The value of an integer or boolean constant of one element."""
    owner = value.owner
    if not isinstance(owner, hlo.ConstantOp):
        return None
    number = splat_value(cast("DenseIntOrFPElementsAttr[Any]", owner.value))
    return int(number) if number is not None and number.dtype.kind in "biu" else None


def values_over(value: SSAValue, iteration: SSAValue, trips: int) -> range | None:
    """The values of an integer in the iterations of a loop, in order, where it is the iteration, shifted or counted backward by constants; else None."""
    if value is iteration:
        return range(trips)
    owner = value.owner
    if isinstance(owner, hlo.ConvertOp | hlo.ReshapeOp):
        values = values_over(owner.operand, iteration, trips)
    elif isinstance(owner, hlo.AddOp | hlo.SubtractOp):
        values = _shifted(owner, iteration, trips)
    else:
        return None
    return values if values is None or _has_all(element(value), values) else None


def _shifted(op: hlo.AddOp | hlo.SubtractOp, iteration: SSAValue, trips: int) -> range | None:
    """The values of the sum or difference of a constant and of what takes a range of values."""
    lhs, rhs = constant_integer(op.lhs), constant_integer(op.rhs)
    values = values_over(op.lhs if lhs is None else op.rhs, iteration, trips)
    if values is None or (lhs is None) == (rhs is None):
        return None
    if isinstance(op, hlo.SubtractOp) and lhs is not None:
        return range(lhs - values.start, lhs - values.stop, -values.step)
    by = (lhs or 0) + (rhs or 0) * (-1 if isinstance(op, hlo.SubtractOp) else 1)
    return range(values.start + by, values.stop + by, values.step)


def _has_all(type: Any, values: range) -> bool:
    """Whether an integer type has all values of a range."""
    if not is_integer(type):
        return False
    bits = type.width.data
    least, most = (0, 2**bits - 1) if is_unsigned(type) else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    return not values or (least <= min(values[0], values[-1]) and max(values[0], values[-1]) <= most)


def step_of(body: Block, position: int, first: int = 0) -> int | None:
    """The constant that an iteration adds to the carried value at a position (its argument comes ``first`` later), if that is a constant."""
    last = body.last_op
    assert last is not None
    update, argument = _unconverted(last.operands[position]), body.args[first + position]
    if not is_integer(element(argument)) or rank(argument) != 0:
        return None
    owner = update.owner
    if isinstance(owner, hlo.AddOp | hlo.SubtractOp):
        left, right = (_unconverted(o) for o in owner.operands)
        if left is argument:
            step = constant_integer(right)
            return None if step is None else -step if isinstance(owner, hlo.SubtractOp) else step
        if right is argument and isinstance(owner, hlo.AddOp):
            return constant_integer(left)
    return None


def find_counter(condition: Block, body: Block, fixed: int, invariant: set[int]) -> Counter | None:
    """The counter of a closed loop, if it has one. The first ``fixed`` arguments are constants, and so are the carried values
    at ``invariant`` positions."""
    last = condition.last_op
    if last is None or len(last.operands) != 1:
        return None
    compare = _plain_predicate(last.operands[0]).owner
    if not isinstance(compare, hlo.CompareOp):
        return None
    direction = str(compare.comparison_direction.data)
    left, right = (_unconverted(o) for o in compare.operands)
    if not _is_carried(left, condition, fixed):
        left, right, direction = right, left, _MIRRORED.get(direction, "")
    if not _is_carried(left, condition, fixed) or direction not in _MIRRORED or not is_integer(element(left)):
        return None
    if constant_integer(right) is None and not _is_constant_argument(right, condition, fixed, invariant):
        return None
    position = cast(BlockArgument, left).index - fixed
    step = step_of(body, position, fixed)
    if step is None or step == 0 or (direction in ("LT", "LE") and step < 0) or (direction in ("GT", "GE") and step > 0):
        return None
    if direction == "NE" and abs(step) != 1:
        return None
    return Counter(position, direction, right, step)


def _is_carried(value: SSAValue, block: Block, fixed: int) -> bool:
    return isinstance(value, BlockArgument) and value.block is block and value.index >= fixed


def _is_constant_argument(value: SSAValue, block: Block, fixed: int, invariant: set[int]) -> bool:
    return isinstance(value, BlockArgument) and value.block is block and (value.index < fixed or value.index - fixed in invariant)


def _unconverted(value: SSAValue) -> SSAValue:
    """An integer before conversions to other integer types that hold all of its values, and rank-0 reshapes."""
    owner = value.owner
    while isinstance(owner, hlo.ConvertOp | hlo.ReshapeOp | hlo.BroadcastInDimOp) and rank(owner.operand) == rank(value) == 0:
        before, after = element(owner.operand), element(value)
        if before != after and not (is_integer(before) and is_integer(after) and _holds(after, before)):
            break
        value = owner.operand
        owner = value.owner
    return value


def _holds(wide: Any, narrow: Any) -> bool:
    if is_unsigned(wide) == is_unsigned(narrow):
        return wide.width.data >= narrow.width.data
    return is_unsigned(narrow) and wide.width.data > narrow.width.data


def _plain_predicate(value: SSAValue) -> SSAValue:
    """A predicate without what does not change it: conversions, ``!= false``, ``== true``, ``and true``, rank-0 broadcasts."""
    while True:
        value = _unconverted(value)
        owner = value.owner
        if element(value) != i1:
            return value
        if isinstance(owner, hlo.CompareOp) and element(owner.lhs) == i1:
            constant = constant_integer(_unconverted(owner.rhs))
            keeps = {"NE": 0, "EQ": 1}.get(str(owner.comparison_direction.data))
            if constant is None or constant != keeps:
                return value
            value = owner.lhs
        elif isinstance(owner, hlo.AndOp) and constant_integer(_unconverted(owner.rhs)) == 1:
            value = owner.lhs
        elif isinstance(owner, hlo.AndOp) and constant_integer(_unconverted(owner.lhs)) == 1:
            value = owner.rhs
        else:
            return value


def trip_count(b: OpBuilder, counter: Counter, start: SSAValue, bound: SSAValue) -> SSAValue:
    """The number of iterations as ``tensor<i64>``: a constant where start and bound are, else integer arithmetic on them."""
    first, limit = constant_integer(start), constant_integer(bound)
    if first is not None and limit is not None:
        return b.scalar(static_trips(counter, first, limit), i64)
    sign = 1 if counter.step > 0 else -1
    span = b.multiply(b.subtract(b.convert(bound, i64), b.convert(start, i64)), b.scalar(sign, i64))
    if counter.direction in ("LE", "GE"):
        span = b.add(span, b.scalar(1, i64))
    stride = abs(counter.step)
    rounded = span if stride == 1 else b.divide(b.add(span, b.scalar(stride - 1, i64)), b.scalar(stride, i64))
    return b.maximum(rounded, b.scalar(0, i64))


def static_trips(counter: Counter, first: int, limit: int) -> int:
    """The number of iterations from constants."""
    span = (limit - first) * (1 if counter.step > 0 else -1) + (counter.direction in ("LE", "GE"))
    return max(0, -(-span // abs(counter.step)))


def induction_value(b: OpBuilder, start: SSAValue, step: int, iteration: SSAValue) -> SSAValue:
    """start + step * iteration in start's type."""
    element_type = element(start)
    moved = b.convert(iteration, element_type)
    if step != 1:
        moved = b.multiply(moved, b.scalar(step, element_type))
    return moved if constant_integer(start) == 0 else b.add(start, moved)
