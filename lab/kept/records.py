"""Records of loops, and the readers of a value behind barriers, tapes and the boundaries of loops."""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from wengert.dialects import core
from wengert.dialects import stablehlo as hlo
from wengert.ir.traversal import all_ops, operands_of
from wengert.lab.kept.parts import carried, inside

_READS = (core.TapeReadOp, core.TapeGetOp, core.TapeFromOp, core.TapeSizeOp, hlo.DynamicSliceOp, hlo.ReshapeOp)
"""Ops that hand on what is recorded: in the reverse part, their users are who needs it."""
_WRITES = (core.TapePushOp, core.TapeSetOp)


def entries(value: SSAValue) -> list[SSAValue]:
    """What was written, entry by entry, into the stack or tape that a value is, each as it is in the body of its loop; empty for a value that is none.

    A stack that is an entry of another one stands for its own entries.
    """
    return list(dict.fromkeys(_written(value, {}))) if isinstance(value.owner, core.ForOp | core.WhileOp | core.CaseOp) else []


def _written(value: SSAValue, seen: dict[SSAValue, None]) -> Iterator[SSAValue]:
    owner = value.owner
    if isinstance(owner, Block) or value in seen:
        return
    seen[value] = None
    if isinstance(owner, hlo.DynamicUpdateSliceOp):
        yield from _written(owner.operand, seen)
        yield from _entry(_unshaped(owner.update), seen)
    elif isinstance(owner, _WRITES):
        yield from _written(owner.operands[0], seen)
        yield from _entry(owner.operands[-1], seen)
    elif isinstance(owner, core.ForOp | core.WhileOp):
        number = next(n for n, result in enumerate(owner.results) if result is value)
        yield from _written(owner.initial[number], seen)
        yield from _written(carried(owner)[number][2], seen)
    elif isinstance(owner, core.CaseOp):
        number = next(n for n, result in enumerate(owner.results) if result is value)
        for region in owner.branches:
            last = region.block.last_op
            assert last is not None
            yield from _written(operands_of(last)[number], seen)


def _entry(value: SSAValue, seen: dict[SSAValue, None]) -> Iterator[SSAValue]:
    inner = list(_written(value, seen)) if isinstance(value.owner, core.ForOp | core.WhileOp) else []
    yield from inner or [value]


def _unshaped(value: SSAValue) -> SSAValue:
    return value.owner.operand if isinstance(value.owner, hlo.ReshapeOp) else value


class Readers:
    """The users of values, looked for behind barriers, inside of loops and branches, and behind what only reads a record."""

    def __init__(self, function: Operation):
        self._order = {op: number for number, op in enumerate(all_ops(function))}

    def of(self, value: SSAValue, after: int = 0) -> list[Operation]:
        """The ops that need a value, in their order.

        Args:
            value: the value.
            after: ops in front of the one of this number in the function (:meth:`number`) do not count.
        """
        readers: set[Operation] = set()
        seen: set[SSAValue] = set()
        pending = [value]
        while pending:
            current = pending.pop()
            if current in seen:
                continue
            seen.add(current)
            for use in current.uses:
                if self._order[use.operation] < after:
                    continue
                beyond = _beyond(use.operation, use.index, current)
                pending += beyond
                if not beyond and use.operation.next_op is not None:
                    readers.add(use.operation)
        return sorted(readers, key=self._order.__getitem__)

    def number(self, op: Operation) -> int:
        """The position of an op in the function, ops in regions counted."""
        return self._order[op]


def _beyond(op: Operation, number: int, value: SSAValue) -> list[SSAValue]:
    """The values that stand for an operand behind an op that only hands it on."""
    if isinstance(op, hlo.OptimizationBarrierOp):
        return [op.results[number]]
    if isinstance(op, core.ForOp | core.WhileOp | core.CaseOp):
        return list(inside(op, number))
    if isinstance(op, hlo.ReshapeOp) or (isinstance(op, _READS) and number == 0 and isinstance(value, BlockArgument)):
        return list(op.results)
    return []
