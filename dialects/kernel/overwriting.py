"""Facts about ops on values that decide whether a result can lie where an operand does."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from wengert.dialects import core, stablehlo
from wengert.dialects.kernel.attributes import STORE
from wengert.dialects.kernel.body_ops import IndexOp, LoadOp, WithinOp
from wengert.dialects.kernel.iterators import stored_apart
from wengert.dialects.kernel.ops import NestOp
from wengert.ir.attributes import int_of


def root(value: SSAValue) -> SSAValue:
    """The value in whose memory this one lies: itself, without reshapes."""
    while type(value.owner) is stablehlo.ReshapeOp:
        value = value.owner.operand
    return value


def carried(op: Operation, block: Block) -> Sequence[BlockArgument]:
    """The arguments of a region that it may overwrite: what a loop carries."""
    return block.args[int_of(op.constants) + isinstance(op, core.ForOp) :] if isinstance(op, core.ForOp | core.WhileOp) else ()


def reads_what_it_writes(op: NestOp, target: int, arguments: Sequence[SSAValue]) -> bool:
    """Whether a nest reads of an array that one of its results overwrites, in every iteration, just the element that it then stores."""
    writes = [write for write in op.writes if write.target == target]
    if len(writes) != 1 or writes[0].kind != STORE or not (writes[0].base is None or is_fixed(writes[0].base)):
        return False
    if len(stored_apart(writes[0].at, op.extents)) < len(op.extents):
        return False  # an iteration would read what an earlier one has stored
    loads = [use.operation for argument in arguments for use in argument.uses]
    return all(isinstance(load, LoadOp) and load.at.data == writes[0].at and load.base is writes[0].base and load.where is None for load in loads)


def is_fixed(value: SSAValue) -> bool:
    """Whether a scalar of a nest's body is the same in all iterations."""
    waiting, seen = [value], set[SSAValue]()
    while waiting:
        scalar = waiting.pop()
        op = scalar.owner
        if isinstance(op, Block | IndexOp | WithinOp) or (isinstance(op, LoadOp) and (op.at.data.terms or op.where is not None)):
            return False
        if scalar not in seen:
            seen.add(scalar)
            waiting += ([] if op.base is None else [op.base]) if isinstance(op, LoadOp) else op.operands
    return True
