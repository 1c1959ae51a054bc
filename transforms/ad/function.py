"""Making the function that holds a derivative."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Operation, Region, SSAValue

from wengert.dialects.builder import OpBuilder
from wengert.ir.construction import append, erase
from wengert.ir.traits import is_pure


def begin_function(block: Block, origin: FuncOp, pass_name: str) -> OpBuilder:
    """A builder for the derivative's block, whose ops say that ``pass_name`` made them."""
    return OpBuilder(block, location=origin.location, pass_name=pass_name)


def finish_function(block: Block, results: Sequence[SSAValue], name: str, origin: FuncOp) -> FuncOp:
    """Returns the results, drops what does not contribute to them, and wraps the block up as a function."""
    append(block, ReturnOp(*results))
    drop_dead_ops(block)
    visibility = origin.sym_visibility
    made = FuncOp(name, ([arg.type for arg in block.args], [value.type for value in results]), Region([block]), visibility)
    made.location = origin.location
    return made


def drop_dead_ops(block: Block) -> None:
    """Erases pure ops whose results are unused, from the last to the first."""
    op: Operation | None = block.last_op
    while op is not None:
        before = op.prev_op
        if op.results and all(result.first_use is None for result in op.results) and is_pure(type(op)):
            erase(op)
        op = before


def discard(block: Block) -> None:
    """Drops a scratch block: its ops give up their operands, so that those no longer count as used."""
    for op in block.ops:
        op.drop_all_references()
