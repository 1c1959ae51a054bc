"""Moves what reads an array before what overwrites it, wherever the data allow it.

A nest that changes a part of an array and a loop that carries one work in place if the old contents are not needed later
(:mod:`wengert.transforms.bufferize.layout`); otherwise the whole array is copied first, in a loop once per iteration. Fusion puts
ops where their results are needed, so a read of the old contents may have ended up behind the change.

Before and after::

    %b = nest(...) into(%a)       // copies %a       %r = nest(%a)
    %r = nest(%a)                                    %b = nest(...) into(%a)
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass

from wengert.dialects import core, stablehlo
from wengert.dialects.kernel import NestOp
from wengert.dialects.kernel.overwriting import root
from wengert.ir.construction import insert_before
from wengert.ir.pipeline.actions import may_rewrite
from wengert.ir.traversal import ops_in
from wengert.transforms.kernel.blocks import kernel_blocks


@dataclass(frozen=True)
class HoistReadsPass(ModulePass):
    """Moves reads of an array before what overwrites it, so that this need not copy it first."""

    name = "hoist-reads"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for block in kernel_blocks(op):
            hoist_reads(block)


def hoist_reads(block: Block) -> None:
    """Moves what overwrites an array behind its last reader, with all that uses its results, unless a reader is among these."""
    for op in ops_in(block):
        for value in _overwritten(op):
            _move_behind_readers(block, op, value)


def _overwritten(op: Operation) -> list[SSAValue]:
    """The operands whose memory the op would take over."""
    if type(op) is NestOp:
        return [root(op.into[tie]) for tie in op.tied if tie >= 0]
    return [root(value) for value in op.initial] if isinstance(op, core.ForOp | core.WhileOp) else []


def _readers(value: SSAValue) -> list[Operation]:
    readers: list[Operation] = []
    for use in value.uses:
        if type(use.operation) is stablehlo.ReshapeOp:
            readers.extend(_readers(use.operation.result))
        readers.append(use.operation)
    return readers


def _move_behind_readers(block: Block, op: Operation, value: SSAValue) -> None:
    readers = set(_readers(value))
    if readers == {op} or block.last_op in readers:
        return
    following, last = _following(op, readers)
    moving, results = [op], set(op.results)
    read = {root(operand) for operand in op.operands}
    for other in following[:last]:
        if results.isdisjoint(other.operands):
            if not read.isdisjoint(_overwritten(other)):
                return  # then that op would have to copy
        elif other in readers:
            return
        else:
            moving.append(other)
            results.update(other.results)
            read.update(root(operand) for operand in other.operands)
    if last > 0 and may_rewrite("hoist-reads", op):
        for moved in moving:
            moved.detach()
            insert_before(following[last], moved)


def _following(op: Operation, readers: set[Operation]) -> tuple[list[Operation], int]:
    """The ops after this one, and how many of them reach to the last reader."""
    following: list[Operation] = []
    last = 0
    other = op.next_op
    while other is not None:
        following.append(other)
        if other in readers:
            last = len(following)
        other = other.next_op
    return following, last
