"""Activity: which values of a block can have a tangent, given which of its arguments have one.

A forward data-flow analysis, to a fixed point over loops. It may call a value active whose tangent turns out to be zero, never the
reverse.

What is in a body is looked through once for each set of its active arguments: a loop asks for the loops inside of it in every round of its fixed point,
and so do these for those inside of them, which doubles with every level if nothing is remembered.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from xdsl.ir import Block, Operation, SSAValue

from wengert.dialects import core
from wengert.ir.attributes import int_of
from wengert.transforms.ad.forward.tangents import has_tangent
from wengert.transforms.ad.function import terminator_operands
from wengert.transforms.ad.rule import INACTIVE

Flags = tuple[bool, ...]
Known = dict[tuple[Block, Flags, Flags], list[bool]]
"""Which results are active, by the body (or the first branch) and which of its constants and carried values are. It holds while the bodies do not change."""


def active_values(block: Block, active: Iterable[SSAValue], known: Known | None = None) -> set[SSAValue]:
    """The active values of a block, its arguments included."""
    reached, known = set(active), {} if known is None else known
    for op in block.ops:
        if type(op) in INACTIVE or reached.isdisjoint(op.operands):
            continue
        reached.update(result for result, flag in zip(op.results, _active_results(op, reached, known), strict=True) if flag)
    return reached


def _active_results(op: Operation, active: set[SSAValue], known: Known) -> Sequence[bool]:
    flags = [operand in active for operand in op.operands]
    if isinstance(op, core.ForOp):
        constant_count = int_of(op.constants)
        return carried_activity(op.body.block, 1, flags[1 : 1 + constant_count], flags[1 + constant_count :], known)
    if isinstance(op, core.WhileOp):
        constant_count = int_of(op.constants)
        return carried_activity(op.body.block, 0, flags[:constant_count], flags[constant_count:], known)
    if isinstance(op, core.CaseOp):
        return branch_activity([region.block for region in op.branches], flags[1:], known)
    return [has_tangent(result.type) for result in op.results]


def carried_activity(body: Block, first: int, constants: Sequence[bool], carried: Sequence[bool], known: Known | None = None) -> list[bool]:
    """Which carried values of a loop are active in any iteration; the body's constants begin at argument ``first``."""
    known = {} if known is None else known
    key = (body, tuple(constants), tuple(carried))
    if (before := known.get(key)) is not None:
        return before
    flags = list(carried)
    arguments = body.args[first:]
    returned = terminator_operands(body)
    while True:
        active = active_values(body, [a for a, flag in zip(arguments, [*constants, *flags], strict=True) if flag], known)
        updated = [flag or value in active for flag, value in zip(flags, returned, strict=True)]
        if updated == flags:
            known[key] = known[body, tuple(constants), tuple(flags)] = flags
            return flags
        flags = updated


def branch_activity(branches: Sequence[Block], inputs: Sequence[bool], known: Known | None = None) -> list[bool]:
    """Which results of branches are active in any of them."""
    known = {} if known is None else known
    key = (branches[0], tuple(inputs), ())
    if (before := known.get(key)) is not None:
        return before
    flags: list[bool] = []
    for block in branches:
        active = active_values(block, [a for a, flag in zip(block.args, inputs, strict=True) if flag], known)
        here = [value in active for value in terminator_operands(block)]
        flags = here if not flags else [a or b for a, b in zip(flags, here, strict=True)]
    known[key] = flags
    return flags
