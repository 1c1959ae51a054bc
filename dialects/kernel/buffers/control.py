"""Loops, branches and strips of rows on buffers.

Regions are closed: they see the buffers that are bound to their arguments, and their temporary values lie in a range of the arena around them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import DenseArrayBase, MemRefType
from xdsl.ir import Block, BlockArgument, Region, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    operand_def,
    opt_operand_def,
    prop_def,
    region_def,
    traits_def,
    var_operand_def,
    var_region_def,
)
from xdsl.traits import IsTerminator, Pure
from xdsl.utils.exceptions import VerifyException

from wengert.dialects.facts import STRUCTURE
from wengert.dialects.kernel.buffers import text
from wengert.dialects.kernel.buffers.storage import GlobalOp, element_size, expect_writable, location
from wengert.dialects.kernel.memory import Space, byte_size, space_of, value_type
from wengert.dialects.kernel.schedule import ScheduleAttr
from wengert.ir.attributes import I64Attr, int_of, ints
from wengert.ir.elements import to_numpy
from wengert.ir.operations import DialectOperation, op_definition
from wengert.ir.syntax import parts as sx
from wengert.ir.traversal import operands_of


@op_definition
class EndOp(DialectOperation):
    """Ends a region on buffers; that of a loop's body names the buffers in which the next iteration finds what is carried."""

    name = "kernel.end"
    FACTS: ClassVar = STRUCTURE
    SYNTAX: ClassVar = sx.Syntax(sx.OptionalOperandTypes())
    buffers = var_operand_def()
    traits = traits_def(IsTerminator(), Pure())


class Loop(DialectOperation):
    """The base class of loops on buffers: constants, and two buffers for each value that is carried.

    ``outs`` receive what is carried last; ``initial`` hold what is carried first, and are copied to the ``outs`` unless they are the
    same. The body reads ``now`` and writes ``next``, and ends in the buffer in which the value then is: ``next`` (then the two change places, and
    nothing is copied), or ``now`` (it was changed where it lies, and there is no ``next``). Buffers of the body in the stack's space are cells
    that the loop makes; others are the ``outs`` and, for ``next``, the ``spare`` ones.

    The regions take one more argument first, on the stack, and the arena last.
    """

    constants = var_operand_def()
    initial = var_operand_def()
    outs = var_operand_def()
    spare = var_operand_def()
    arena = operand_def(MemRefType)
    body = region_def("single_block")
    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    def now(self) -> Sequence[BlockArgument]:
        """The arguments of the body that it reads what is carried from."""
        start = 1 + len(self.constants)
        return self.body.block.args[start : start + len(self.outs)]

    def next(self) -> Sequence[BlockArgument]:
        """The arguments of the body that it writes values to which are not changed where they lie."""
        return self.body.block.args[1 + len(self.constants) + len(self.outs) : -1]

    def written(self) -> Sequence[SSAValue]:
        """For every value that is carried the buffer that holds it at the end of the body."""
        end = self.body.block.last_op
        assert end is not None
        return operands_of(end)

    def verify_(self) -> None:
        block, end = self.body.block, self.body.block.last_op
        if len(block.args) < len(self.constants) + len(self.outs) + 2 or not isinstance(end, EndOp) or len(end.buffers) != len(self.outs):
            raise VerifyException("the body takes the constants, two buffers for what is carried and its arena, and ends in a buffer for each value")
        expect_types("a constant", block.args[1 : 1 + len(self.constants)], self.constants)
        now, following = self.now(), self.next()
        if [buffer for buffer, here in zip(end.buffers, now, strict=True) if buffer is not here] != list(following):
            raise VerifyException("what is carried is left in its own buffer, or in the next of those that the body writes")
        for what, buffers in (("what is carried", now), ("an initial value", self.initial), ("a result", self.outs)):
            expect_types(what, buffers, end.buffers, by_value=True)
        expect_types("a spare buffer", self.spare, [buffer for buffer in following if space_of(buffer.type) is not Space.STACK], by_value=True)
        expect_types("the arena", block.args[-1:], [self.arena])
        for region in self.regions:
            expect_types("an argument of the loop's regions", region.block.args, block.args)
            expect_closed(region)
        for out in self.outs:
            expect_writable(out)


@op_definition
class ForOp(Loop):
    """Runs the body as often as the count says; the first argument is the iteration. (What a class declares comes before what its base class
    does: the count is the first operand, and the condition of a ``kernel.while`` its first region.)"""

    name = "kernel.for"
    FACTS: ClassVar = STRUCTURE
    SYNTAX: ClassVar = sx.Syntax(text.ForText())
    count = operand_def(MemRefType)

    @property
    def iterations(self) -> int | None:
        """How often the body runs, if the count is a constant."""
        return known_number(self.count)


@op_definition
class WhileOp(Loop):
    """Runs the body as long as the condition holds; the first argument is where the condition writes its answer."""

    name = "kernel.while"
    FACTS: ClassVar = STRUCTURE
    SYNTAX: ClassVar = sx.Syntax(text.WhileText())
    condition = region_def("single_block")


@op_definition
class CaseOp(DialectOperation):
    """Runs the branch that the index picks, the last one if it is out of range; each takes the ``ins``, the ``outs``, which it writes, and the arena."""

    name = "kernel.case"
    FACTS: ClassVar = STRUCTURE
    SYNTAX: ClassVar = sx.Syntax(text.CaseText())
    index = operand_def(MemRefType)
    ins = var_operand_def()
    outs = var_operand_def()
    arena = opt_operand_def()
    branches = var_region_def("single_block")
    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    def verify_(self) -> None:
        for region in self.branches:
            expect_types("an argument of a branch", region.block.args, self.operands[1:])
            expect_closed(region)
        for out in self.outs:
            expect_writable(out)


@op_definition
class StripLoopOp(DialectOperation):
    """Runs kernels on one strip of rows after another: iteration i sees elements ``[i * step, i * step + n)`` of each buffer, n being the size of
    its argument (all of it if the step is 0). The schedule says whether strips run in parallel."""

    name = "kernel.strip_loop"
    FACTS: ClassVar = STRUCTURE
    SYNTAX: ClassVar = sx.Syntax(text.StripLoopText())
    ins = var_operand_def()
    outs = var_operand_def()
    arena = opt_operand_def()
    iterations = prop_def(I64Attr)
    steps = prop_def(DenseArrayBase)
    schedule = prop_def(ScheduleAttr)
    body = region_def("single_block")
    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    def verify_(self) -> None:
        arguments, values, count = self.body.block.args, [*self.ins, *self.outs], int_of(self.iterations)
        arena = [self.arena] if self.arena is not None else []
        if len(ints(self.steps)) != len(values):
            raise VerifyException("every buffer needs a step")
        expect_types("the arena", arguments[len(values) :], arena)
        for argument, value, step in zip(arguments, values, ints(self.steps), strict=False):
            part, size = byte_size(argument), element_size(value)
            if part + (count - 1) * step * size != byte_size(value) or step * size not in (0, part):
                raise VerifyException(f"{count} strips of {argument.type} with step {step} are not {value.type}")
        for out in self.outs:
            expect_writable(out)
        expect_closed(self.body)


def known_number(buffer: SSAValue) -> int | None:
    """The integer that a buffer of one element holds, if it is a constant, also where regions are handed it."""
    base, at = location(buffer)
    if isinstance(base, BlockArgument):
        op, number = base.owner.parent_op(), base.index
        if isinstance(op, Loop) and 0 < number <= len(op.constants):
            return known_number(op.constants[number - 1]) if not at else None
        if isinstance(op, CaseOp) and number < len(op.ins):
            return known_number(op.ins[number]) if not at else None
        return None
    if not isinstance(base.owner, GlobalOp) or at:
        return None
    numbers = to_numpy(base.owner.value)
    return int(numbers.reshape(-1)[0]) if numbers.size == 1 and numbers.dtype.kind in "iu" else None


def expect_types(what: str, values: Sequence[SSAValue], expected: Sequence[SSAValue], *, by_value: bool = False) -> None:
    """Buffers have the types of others, or hold values of the same types."""
    if len(values) != len(expected):
        raise VerifyException(f"{what}: expected {len(expected)}, found {len(values)}")
    for value, other in zip(values, expected, strict=True):
        type, wanted = (value_type(value.type), value_type(other.type)) if by_value else (value.type, other.type)
        if type != wanted:
            raise VerifyException(f"{what} has type {type}, expected {wanted}")


def expect_closed(region: Region) -> None:
    """The region uses no buffer from outside."""
    for op in region.walk():
        for value in operands_of(op):
            owner = value.owner if isinstance(value.owner, Block) else value.owner.parent
            if owner is None or not region.is_ancestor(owner):
                raise VerifyException(f"the region uses its arguments only, but {op.name} in it uses a buffer from outside")
