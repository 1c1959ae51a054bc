"""Follows loops over integers of one element, iteration by iteration, where all that their conditions depend on is known."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Block, Operation, SSAValue

from wengert.dialects import stablehlo
from wengert.ir.elements import splat_value
from wengert.ir.tensor_types import dtype_of, element, is_integer, shape

MOST_ITERATIONS = 10_000
"""A loop that goes on longer is not followed to its end."""


def follow(loop: Operation, starts: Sequence[int | None]) -> int | None:
    """The iterations of a loop that starts with these integers, None among them standing for what is not known; None if its condition depends on that, or if it
    goes on for long."""
    if len(loop.regions) != 2:
        return None
    condition, body = (region.block for region in loop.regions)
    fixed, ends = list(starts[: len(starts) - len(loop.results)]), body.last_op
    carried = list(starts[len(fixed) :])
    assert ends is not None
    assert condition.last_op is not None
    seen: set[tuple[int | None, ...]] = set()
    for count in range(MOST_ITERATIONS):
        holds = _evaluated(condition.last_op.operands, condition, [*fixed, *carried])[0]
        if holds is None or tuple(carried) in seen:  # not known, or going round for ever
            return None
        if not holds:
            return count
        seen.add(tuple(carried))
        carried = _evaluated(ends.operands, body, [*fixed, *carried])
    return None


def _evaluated(wanted: Sequence[SSAValue], block: Block, arguments: Sequence[int | None]) -> list[int | None]:
    """The values of a block that are known for these arguments."""
    values: dict[SSAValue, int | None] = dict(zip(block.args, arguments, strict=True))
    waiting = list(wanted)
    while waiting:
        value = waiting[-1]
        missing = [source for source in _sources(value) if source not in values] if value not in values else []
        if missing:
            waiting += missing
            continue
        if value not in values:
            values[value] = _computed(value, values)
        waiting.pop()
    return [values[value] for value in wanted]


def _sources(value: SSAValue) -> Sequence[SSAValue]:
    return value.owner.operands if not isinstance(value.owner, Block) and _function(value.owner) is not None else ()


def _function(op: Operation) -> Callable[..., Any] | None:
    return _COMPARISONS[str(op.comparison_direction.data)] if isinstance(op, stablehlo.CompareOp) else _FUNCTIONS.get(type(op))


def is_index(value: SSAValue) -> bool:
    """Whether a value is an integer or boolean tensor of rank 0."""
    return isinstance(value.type, TensorType) and is_integer(element(value)) and not shape(value)


def _computed(value: SSAValue, values: dict[SSAValue, int | None]) -> int | None:
    op = value.owner
    if isinstance(op, Block) or not is_index(value):
        return None
    if isinstance(op, stablehlo.ConstantOp):
        number = splat_value(op.value)
        return None if number is None else int(number)
    compute = _function(op)
    operands = [values[operand] for operand in op.operands] if compute is not None else [None]
    if compute is None or None in operands:
        return None
    # computed without end and then cut to the type, as integer arithmetic does
    return int(np.asarray(int(compute(*operands)) & (2**64 - 1), np.uint64).astype(dtype_of(element(value))))


_COMPARISONS: dict[str, Callable[[int, int], bool]] = {
    "LT": operator.lt,
    "LE": operator.le,
    "GT": operator.gt,
    "GE": operator.ge,
    "EQ": operator.eq,
    "NE": operator.ne,
}


def _same(value: int) -> int:
    return value


def _and(a: int, b: int) -> int:
    return a & b


def _or(a: int, b: int) -> int:
    return a | b


_FUNCTIONS: dict[type[Operation], Callable[..., int]] = {
    stablehlo.ConvertOp: _same,
    stablehlo.ReshapeOp: _same,
    stablehlo.AddOp: operator.add,
    stablehlo.SubtractOp: operator.sub,
    stablehlo.MultiplyOp: operator.mul,
    stablehlo.MaximumOp: max,
    stablehlo.MinimumOp: min,
    stablehlo.AndOp: _and,
    stablehlo.OrOp: _or,
}
