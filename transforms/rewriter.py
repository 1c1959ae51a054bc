"""A builder that writes in front of an op and puts what it built in the op's place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self, cast

from xdsl.dialects.builtin import LocationAttr
from xdsl.ir import Block, Operation, SSAValue

from wengert.dialects.builder import OpBuilder
from wengert.ir.construction import erase, insert_before, replace_uses
from wengert.ir.location.fused import absorbing
from wengert.ir.location.locations import rewritten
from wengert.ir.location.places import describe
from wengert.ir.pipeline import changes
from wengert.ir.traits import is_pure
from wengert.ir.traversal import all_ops, operands_of


class Rewriter(OpBuilder):
    """Builds ops before the op being replaced, at its location; equal ops made in one block are shared.

    Sharing is right because a pass moves forward through a block: all that was made before stands before.

    New ops are located where the replaced one was written, under its name. What the rewrite looked through, and what nothing uses any more since, is a
    source of them too, an inferred one.
    """

    def __init__(self, pass_name: str = ""):
        self._location: LocationAttr | None = None
        super().__init__(Block(), pass_name=pass_name)
        self.anchor: Operation | None = None
        self.changed = False
        self.following: Operation | None = None
        """An op in front of the one being replaced that a walk has yet to look at, and go on from."""
        self._new: list[Operation] = []

    @classmethod
    def before(cls, op: Operation, pass_name: str = "") -> Self:
        """A builder in front of an op that shares nothing with others: for a pass that does not move forward."""
        made = cls(pass_name)
        made.move_to(op)
        return made

    @property
    def location(self) -> LocationAttr:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The location of the ops that are made. It is asked for where something is replaced, which most ops are not."""
        if self._location is None:
            assert self.anchor is not None, "move_to comes first"
            self._location = rewritten(self.anchor.location, self.anchor.name, self.pass_name or "rewrite")
        return self._location

    @location.setter
    def location(self, location: LocationAttr) -> None:
        self._location = location

    def move_to(self, op: Operation) -> None:
        """Builds in front of this op from now on."""
        block = cast(Block, op.parent)
        if block is not self.block:
            self.block = block
            self._forget()
        self.anchor = op
        self._location = None
        if self._new:
            self._new = []

    def place(self, op: Operation) -> None:
        assert self.anchor is not None, "move_to comes first"
        insert_before(self.anchor, op)
        self._new.append(op)

    def _may_share(self, op: Operation) -> bool:
        return op.parent is self.block

    def replace(self, op: Operation, values: Sequence[SSAValue]) -> None:
        """Uses these values instead of the op's results, and removes the op."""
        self.changed = True
        new = [made for made in self._new if made.parent is not None]
        if changes.RECORDER is not None:
            changes.RECORDER.rewritten(op, values, new)
        operands = operands_of(op)
        inside = all_ops(op)[1:] if op.regions else ()
        for result, value in zip(op.results, values, strict=True):
            assert value.type == result.type, f"{op.name} of type {result.type} is replaced by a value of type {value.type}"
            replace_uses(result, value)
        erase(op)
        if new:
            if inside and not any(made.regions for made in new):
                self._absorb_inside(inside, values)
            self._absorb(operands, new)
        if changes.RECORDER is not None:
            self._note_unused(changes.RECORDER, op, operands)
        self._new = []

    def splice(self, block: Block, arguments: Sequence[SSAValue] = ()) -> Sequence[SSAValue]:
        """Moves the ops of a region's block in front of the op being replaced; returns what the block's terminator returns."""
        for argument, value in zip(block.args, arguments, strict=True):
            replace_uses(argument, value)
        *ops, end = block.ops
        returned = list(end.operands)
        for op in ops:
            op.detach()
            insert_before(cast(Operation, self.anchor), op)
        self.following = ops[0] if ops else None
        return returned

    def visit_next(self, op: Operation) -> None:
        """Has the walk go on with this op, which was made here around regions that are not simplified yet."""
        self.following = op

    # -- what new ops stand for besides the one that they replace

    def _absorb_inside(self, inside: Sequence[Operation], values: Sequence[SSAValue]) -> None:
        """The ops of regions that are gone, a reduction's say, are in what replaces the op."""
        for maker in {value.owner: None for value in values if isinstance(value.owner, Operation)}:
            for inner in inside:
                if inner.results:
                    maker.location = absorbing(maker.location, inner, self.pass_name)

    def _absorb(self, operands: Sequence[SSAValue], new: Sequence[Operation]) -> None:
        """Makes operands that nothing uses any more sources of the new ops, if these use what they used or if they are constants."""
        unused = [operand.owner for operand in dict.fromkeys(operands) if operand.first_use is None and isinstance(operand.owner, Operation)]
        if not unused:
            return
        used = {operand: made for made in new for operand in operands_of(made)}
        for maker in unused:
            if maker not in new and (through := _looked_through(maker, used, MOST_STEPS)):
                for made in dict.fromkeys(used[operand] for one in through for operand in operands_of(one) if operand in used) or _alike(maker, new):
                    for one in through:
                        made.location = absorbing(made.location, one, self.pass_name)

    def _note_unused(self, recorder: changes.Recorder, op: Operation, operands: Sequence[SSAValue]) -> None:
        what = f"{self.pass_name} replaced {op.name} at {describe(op.location)}, which used it"
        for operand in operands:
            if operand.first_use is None and isinstance(operand.owner, Operation):
                recorder.unused(operand.owner, what)


MOST_STEPS = 4
"""The longest chain of ops that a rewrite is taken to have looked through."""


def _looked_through(op: Operation, used: dict[SSAValue, Operation], steps: int) -> list[Operation]:
    """An op that nothing uses any more, and ops that only it uses, if they lead to something that new ops use or are constant; else nothing."""
    if not is_pure(type(op)) or op.regions:
        return []
    through: list[Operation] = []
    leads_on, is_whole = False, True
    for operand in operands_of(op):
        if operand in used:
            leads_on = True
            continue
        maker = operand.owner
        only = isinstance(maker, Operation) and steps > 0 and all(use.operation is op for use in operand.uses)
        more = _looked_through(maker, used, steps - 1) if only and isinstance(maker, Operation) else []
        if more:
            through += more
            leads_on = leads_on or any(one in used for each in more for one in operands_of(each))
        else:
            is_whole = False
    return [op, *through] if leads_on or is_whole else []


def _alike(op: Operation, new: Sequence[Operation]) -> Sequence[Operation]:
    """The new ops that a constant went into: new constants, or else all."""
    return [made for made in new if not operands_of(made)] or new if not operands_of(op) else new[-1:]
