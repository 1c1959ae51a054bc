"""A builder that writes in front of an op and puts what it built in the op's place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self, cast

from xdsl.ir import Block, Operation, SSAValue

from wengert.dialects.builder import OpBuilder
from wengert.ir.construction import erase, insert_before, replace_uses


class Rewriter(OpBuilder):
    """Builds ops before the op being replaced, at its location; equal ops made in one block are shared.

    Sharing is right because a pass moves forward through a block: all that was made before stands before.
    """

    def __init__(self, pass_name: str = ""):
        super().__init__(Block(), pass_name=pass_name)
        self.anchor: Operation | None = None
        self.changed = False
        self.following: Operation | None = None
        """An op in front of the one being replaced that a walk has yet to look at, and go on from."""

    @classmethod
    def before(cls, op: Operation, pass_name: str = "") -> Self:
        """A builder in front of an op that shares nothing with others: for a pass that does not move forward."""
        made = cls(pass_name)
        made.move_to(op)
        return made

    def move_to(self, op: Operation) -> None:
        """Builds in front of this op from now on."""
        block = cast(Block, op.parent)
        if block is not self.block:
            self.block = block
            self._made.clear()
        self.anchor = op
        self.location = op.location

    def place(self, op: Operation) -> None:
        assert self.anchor is not None, "move_to comes first"
        insert_before(self.anchor, op)

    def _may_share(self, op: Operation) -> bool:
        return op.parent is self.block

    def replace(self, op: Operation, values: Sequence[SSAValue]) -> None:
        """Uses these values instead of the op's results, and removes the op."""
        self.changed = True
        for result, value in zip(op.results, values, strict=True):
            assert value.type == result.type, f"{op.name} of type {result.type} is replaced by a value of type {value.type}"
            replace_uses(result, value)
        erase(op)

    def splice(self, block: Block, arguments: Sequence[SSAValue] = ()) -> Sequence[SSAValue]:
        """Moves the ops of a region's block in front of the op being replaced; returns what the block's terminator returns."""
        for argument, value in zip(block.args, arguments, strict=True):
            replace_uses(argument, value)
        *ops, end = block.ops
        returned = list(end.operands)
        for op in ops:
            op.detach()
            self.place(op)
        self.following = ops[0] if ops else None
        return returned

    def visit_next(self, op: Operation) -> None:
        """Has the walk go on with this op, which was made here around regions that are not simplified yet."""
        self.following = op
