"""Finds the batched values: a forward data-flow analysis, to a fixed point over loops.

It runs before a loop is emitted, because a carried value must have one type in all iterations. It may call a value batched that turns
out not to depend on the batch element, never the reverse.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Block, Operation, SSAValue

from wengert.dialects import core
from wengert.dialects import stablehlo as hlo
from wengert.ir.attributes import int_of
from wengert.transforms.core.closing import free_values

WRITES = (core.TapeSetOp, core.TapeAddOp)
"""Under a mask, these write different values for different batch elements."""


def returned_flags(block: Block, arguments: Sequence[bool], masked: bool) -> list[bool]:
    """Which values that a block returns are batched, given which of its arguments are; ``masked``: whether it has a mask."""
    batched: set[SSAValue] = {a for a, flag in zip(block.args, arguments, strict=True) if flag}
    *ops, last = block.ops
    for op in ops:
        batched.update(result for result, flag in zip(op.results, _flags(op, batched, masked), strict=True) if flag)
    return [value in batched for value in last.operands]


def _flags(op: Operation, batched: set[SSAValue], masked: bool) -> Sequence[bool]:
    flags = [operand in batched for operand in op.operands]
    if isinstance(op, core.ForOp):
        constant_count = int_of(op.constants)
        return for_flags(op, flags[0], flags[1 : 1 + constant_count], flags[1 + constant_count :], masked)[1:]
    if isinstance(op, core.WhileOp):
        constant_count = int_of(op.constants)
        return while_flags(op, flags[:constant_count], flags[constant_count:], masked)[1]
    if isinstance(op, core.CaseOp):
        return case_flags(op, flags[0], flags[1:], masked)
    if isinstance(op, core.TapeSizeOp | hlo.GetDimensionSizeOp):
        return [False]
    captured = any(value in batched for value in free_values(op.regions)) if op.regions else False
    return [captured or any(flags) or (masked and isinstance(op, WRITES))] * len(op.results)


def for_flags(op: core.ForOp, trip_count: bool, constants: Sequence[bool], initial: Sequence[bool], masked: bool) -> list[bool]:
    """Whether the iteration is batched (never), and which carried values are."""
    flags = _with_tensors(op, initial) if trip_count else list(initial)
    while True:
        returned = returned_flags(op.block, [trip_count, *constants, *flags], masked or trip_count)
        merged = [a or b for a, b in zip(flags, returned, strict=True)]
        if merged == flags:
            return [False, *flags]
        flags = merged


def while_flags(op: core.WhileOp, constants: Sequence[bool], initial: Sequence[bool], masked: bool) -> tuple[bool, list[bool]]:
    """Whether the condition is batched, and which carried values are."""
    flags, condition = list(initial), False
    while True:
        if not condition and returned_flags(op.condition.block, [*constants, *flags], masked)[0]:
            condition, flags = True, _with_tensors(op, flags)
        returned = returned_flags(op.body.block, [*constants, *flags], masked or condition)
        merged = [a or b for a, b in zip(flags, returned, strict=True)]
        if merged == flags:
            return condition, flags
        flags = merged


def case_flags(op: core.CaseOp, index: bool, inputs: Sequence[bool], masked: bool) -> list[bool]:
    """Which results of branches are batched in any of them; all tensors are where the branch depends on the batch element."""
    flags = [False] * len(op.results)
    for region in op.branches:
        here = returned_flags(region.block, inputs, masked or index)
        flags = [a or b for a, b in zip(flags, here, strict=True)]
    return _with_tensors(op, flags) if index else flags


def _with_tensors(op: Operation, flags: Sequence[bool]) -> list[bool]:
    return [flag or not isinstance(result.type, core.TapeType) for flag, result in zip(flags, op.results, strict=True)]
