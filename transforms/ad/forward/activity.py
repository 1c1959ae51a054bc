"""Activity: which values of a block can have a tangent, given which of its arguments have one.

A forward data flow to a fixed point over loops. It may say active of a value whose tangent turns out to be zero, never the
reverse.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from xdsl.ir import Block, Operation, SSAValue

from wengert.dialects import core
from wengert.ir.attributes import int_of
from wengert.transforms.ad.forward.tangents import has_tangent
from wengert.transforms.ad.rule import INACTIVE


def active_values(block: Block, active: Iterable[SSAValue]) -> set[SSAValue]:
    """The active values of a block, its arguments included."""
    found = set(active)
    for op in block.ops:
        if type(op) in INACTIVE or found.isdisjoint(op.operands):
            continue
        found.update(result for result, flag in zip(op.results, _active_results(op, found), strict=True) if flag)
    return found


def _active_results(op: Operation, active: set[SSAValue]) -> Sequence[bool]:
    flags = [operand in active for operand in op.operands]
    if isinstance(op, core.ForOp):
        fixed = int_of(op.constants)
        return carried_activity(op.body.block, 1, flags[1 : 1 + fixed], flags[1 + fixed :])
    if isinstance(op, core.WhileOp):
        fixed = int_of(op.constants)
        return carried_activity(op.body.block, 0, flags[:fixed], flags[fixed:])
    if isinstance(op, core.CaseOp):
        return branch_activity([region.block for region in op.branches], flags[1:])
    return [has_tangent(result.type) for result in op.results]


def carried_activity(body: Block, first: int, constants: Sequence[bool], carried: Sequence[bool]) -> list[bool]:
    """Which carried values of a loop are active in any trip; the body's constants begin at argument ``first``."""
    flags = list(carried)
    arguments = body.args[first:]
    last = body.last_op
    assert last is not None
    while True:
        active = active_values(body, [a for a, flag in zip(arguments, [*constants, *flags], strict=True) if flag])
        following = [flag or value in active for flag, value in zip(flags, last.operands, strict=True)]
        if following == flags:
            return flags
        flags = following


def branch_activity(branches: Sequence[Block], inputs: Sequence[bool]) -> list[bool]:
    """Which results of branches are active in any of them."""
    flags: list[bool] = []
    for block in branches:
        last = block.last_op
        assert last is not None
        active = active_values(block, [a for a, flag in zip(block.args, inputs, strict=True) if flag])
        here = [value in active for value in last.operands]
        flags = here if not flags else [a or b for a, b in zip(flags, here, strict=True)]
    return flags
