"""Buffers: the ops of a kernel-level program whose values have got their memory (``bufferize``).

A function takes the caller's memory, its inputs and then its results, allocates one *arena*, and names the parts of it that hold
temporary values::

    func.func public @main(%x: memref<8x128xf32>, %y: memref<8x128xf32> {kernel.result}) {
      %arena = kernel.alloc {alignment = 64 : i64} : memref<64xi8, #kernel.space<arena>>
      %0 = kernel.view %arena[0] : memref<64xi8, #kernel.space<arena>> to memref<8xf32, #kernel.space<arena>>
      kernel.launch ins(%a = %x: memref<8x128xf32>) outs(%0: memref<8xf32, #kernel.space<arena>>) {
        %r = "kernel.nest"(%a) ...
      }
      ...

A ``kernel.launch`` binds a kernel to buffers: its region holds one op on values (a nest, a product, a native or an interpreted
op), which is applied to what the ``ins`` hold; its results are written to the ``outs``. So a kernel is one thing with one meaning at both
levels, and where its operands lie is said around it. That a kernel overwrites an operand is visible: the same buffer is among both.
IREE's stream dialect (``stream.cmd.dispatch``, ``stream.resource.subview``) separates the two in the same way; views, copies and
memory spaces are those of upstream's memref dialect.

Loops and branches are closed, as those on values are: a region sees the buffers that are bound to its arguments, and its temporary
values lie in a range of the arena around it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, cast

from xdsl.dialects.builtin import DenseArrayBase, DenseIntOrFPElementsAttr, MemRefType, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, BlockArgument, Operation, Region, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
    var_region_def,
)
from xdsl.traits import IsTerminator, NoTerminator, Pure
from xdsl.utils.exceptions import VerifyException

from wengert.dialects.facts import COPY, LAUNCH, STRUCTURE
from wengert.dialects.kernel import buffer_text as text
from wengert.dialects.kernel.memory import ALIGNMENT, Space, byte_size, is_on_device, space_of, value_type
from wengert.dialects.kernel.ops import NestOp
from wengert.dialects.kernel.overwriting import reads_what_it_writes
from wengert.dialects.kernel.schedule import ScheduleAttr
from wengert.ir.attributes import I64Attr, int_of, ints
from wengert.ir.operations import DialectOperation, op_definition
from wengert.ir.syntax import parts as sx
from wengert.ir.tensor_types import dtype_of
from wengert.ir.traversal import operands_of

RESULT = "kernel.result"
"""The attribute of the arguments of a function that receive its results."""


@op_definition
class AllocOp(DialectOperation):
    """Memory that is there as long as its block runs: a function's arena, or a cell on the stack."""

    name = "kernel.alloc"
    FACTS: ClassVar = STRUCTURE
    SYNTAX: ClassVar = sx.Syntax(sx.ResultTypes())
    alignment = opt_prop_def(I64Attr)
    memref = result_def(MemRefType)

    def verify_(self) -> None:
        if space_of(self.memref.type) not in (Space.ARENA, Space.STACK):
            raise VerifyException(f"memory is allocated in the arena or on the stack, found {self.memref.type}")


@op_definition
class ViewOp(DialectOperation):
    """The part of a buffer that begins at a byte, as elements of some type; in space 1, the same memory as kernels of a device see it."""

    name = "kernel.view"
    FACTS: ClassVar = STRUCTURE
    SYNTAX: ClassVar = sx.Syntax(text.ViewText())
    source = operand_def(MemRefType)
    offset = prop_def(I64Attr)
    memref = result_def(MemRefType)
    traits = traits_def(Pure())

    def verify_(self) -> None:
        at, count, whole = int_of(self.offset), byte_size(self.memref), byte_size(self.source)
        if at < 0 or at % ALIGNMENT or at + count > max(whole, count if not at else 0):
            raise VerifyException(f"a view of {count} bytes at {at} must lie in the {whole} bytes of {self.source.type} and begin at a multiple of {ALIGNMENT}")
        if space_of(self.source.type) != space_of(self.memref.type) and not is_on_device(self.memref.type):
            raise VerifyException("a view lies in the address space of what it is a part of, or is what a kernel of a device is given of it")


@op_definition
class GlobalOp(DialectOperation):
    """A constant in memory."""

    name = "kernel.global"
    FACTS: ClassVar = STRUCTURE
    SYNTAX: ClassVar = sx.Syntax(text.GlobalText())
    value = prop_def(DenseIntOrFPElementsAttr)
    memref = result_def(MemRefType)
    traits = traits_def(Pure())

    def verify_(self) -> None:
        if value_type(self.memref.type) != self.value.type or space_of(self.memref.type) is not Space.CONSTANT:
            raise VerifyException(f"a constant of {self.value.type} does not lie in {self.memref.type}")


@op_definition
class CopyOp(DialectOperation):
    """Copies the bytes of one buffer to another, or nothing if they are one."""

    name = "kernel.copy"
    FACTS: ClassVar = COPY
    SYNTAX: ClassVar = sx.Syntax(text.CopyText())
    source = operand_def(MemRefType)
    target = operand_def(MemRefType)

    def verify_(self) -> None:
        if byte_size(self.source) != byte_size(self.target):
            raise VerifyException(f"buffers of one size are copied, found {self.source.type} and {self.target.type}")
        expect_writable(self.target)


@op_definition
class EndOp(DialectOperation):
    """Ends a region on buffers; that of a loop's body names the buffers in which the next iteration finds what is carried."""

    name = "kernel.end"
    FACTS: ClassVar = STRUCTURE
    SYNTAX: ClassVar = sx.Syntax(sx.OptionalOperandTypes())
    buffers = var_operand_def()
    traits = traits_def(IsTerminator(), Pure())


@op_definition
class LaunchOp(DialectOperation):
    """Runs the kernel in its region on buffers; see the module's docstring. ``scratch`` is memory that the kernel may use while it runs."""

    name = "kernel.launch"
    FACTS: ClassVar = LAUNCH
    SYNTAX: ClassVar = sx.Syntax(text.LaunchText())
    ins = var_operand_def()
    outs = var_operand_def()
    scratch = opt_operand_def()
    body = region_def("single_block")
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(NoTerminator())

    @property
    def kernel(self) -> Operation:
        """The op that is run."""
        op = self.body.block.first_op
        assert op is not None
        return op

    @property
    def read(self) -> tuple[SSAValue, ...]:
        """The same as ``ins``, more quickly."""
        return operands_of(self)[: len(self.body.block.args)]

    @property
    def written(self) -> tuple[SSAValue, ...]:
        """The same as ``outs``, more quickly."""
        first = len(self.body.block.args)
        return operands_of(self)[first : first + len(self.kernel.results)]

    def verify_(self) -> None:
        block = self.body.block
        if len(block.ops) != 1:
            raise VerifyException(f"the region holds one kernel, found {len(block.ops)} ops")
        if [argument.type for argument in block.args] != [value_type(value.type) for value in self.ins]:
            raise VerifyException("the arguments of the region have the types of the values that the operands hold")
        if list(self.kernel.result_types) != [value_type(value.type) for value in self.outs]:
            raise VerifyException("the kernel's results have the types of the values that the buffers for them hold")
        if list(self.kernel.operands) != list(block.args):
            raise VerifyException("the kernel takes the arguments of the region, in this order")
        for number, out in enumerate(self.outs):
            expect_writable(out)
            for other in self.outs[:number]:
                if overlap(out, other):
                    raise VerifyException("two results are written to the same memory")
            for argument, given in zip(block.args, self.ins, strict=True):
                if overlap(given, out):
                    self._verify_in_place(number, argument)
        if self.scratch is not None and any(overlap(self.scratch, value) for value in (*self.ins, *self.outs)):
            raise VerifyException("scratch memory must not overlap what the kernel reads or writes")

    def _verify_in_place(self, target: int, argument: BlockArgument) -> None:
        """A nest may overwrite an operand that a result continues, or that it reads nowhere but where it then writes."""
        given, out, nest = self.ins[argument.index], self.outs[target], self.kernel
        if location(given) != location(out) or byte_size(given) != byte_size(out):
            raise VerifyException("an operand and a result lie in the same memory or apart, not in memory that overlaps in part")
        if not isinstance(nest, NestOp):
            raise VerifyException(f"{nest.name} does not overwrite an operand")
        place = argument.index - len(nest.inputs)
        if nest.tied[target] != place if place >= 0 else not reads_what_it_writes(nest, target, [nest.body.block.args[argument.index]]):
            raise VerifyException(f"result {target} of the nest overwrites operand {argument.index}, of which it reads other elements than it writes")


class Loop(DialectOperation):
    """What loops on buffers have in common: constants, and two buffers for each value that is carried.

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


BUFFER_OPS = (AllocOp, CaseOp, CopyOp, EndOp, ForOp, GlobalOp, LaunchOp, StripLoopOp, ViewOp, WhileOp)


def location(value: SSAValue) -> tuple[SSAValue, int]:
    """Where a buffer begins: what it is a view of, and how many bytes from there."""
    at = 0
    while type(value.owner) is ViewOp:
        at += int_of(value.owner.offset)
        value = value.owner.source
    return value, at


def overlap(one: SSAValue, other: SSAValue) -> bool:
    """Whether two buffers have bytes in common, as far as one block tells."""
    (base, at), (other_base, other_at) = location(one), location(other)
    return base is other_base and max(at, other_at) < min(at + byte_size(one), other_at + byte_size(other))


def element_size(value: SSAValue) -> int:
    """The bytes of one element of a buffer."""
    type = value_type(value.type)
    return dtype_of(cast("TensorType[Any]", type).element_type).itemsize if isinstance(type, TensorType) else byte_size(value)


def expect_types(what: str, values: Sequence[SSAValue], expected: Sequence[SSAValue], *, by_value: bool = False) -> None:
    """Buffers have the types of others, or hold values of the same types."""
    if len(values) != len(expected):
        raise VerifyException(f"{what}: expected {len(expected)}, found {len(values)}")
    for value, other in zip(values, expected, strict=True):
        found, wanted = (value_type(value.type), value_type(other.type)) if by_value else (value.type, other.type)
        if found != wanted:
            raise VerifyException(f"{what} has type {found}, expected {wanted}")


def expect_closed(region: Region) -> None:
    """The region uses no buffer from outside."""
    for op in region.walk():
        for value in operands_of(op):
            owner = value.owner if isinstance(value.owner, Block) else value.owner.parent
            if owner is None or not region.is_ancestor(owner):
                raise VerifyException(f"the region uses its arguments only, but {op.name} in it uses a buffer from outside")


def expect_writable(buffer: SSAValue) -> None:
    """The buffer is neither a constant nor an input of the function."""
    if space_of(buffer.type) is Space.CONSTANT:
        raise VerifyException("a constant is not written")
    base, _ = location(buffer)
    function = base.owner.parent_op() if isinstance(base.owner, Block) else None
    if isinstance(base, BlockArgument) and isinstance(function, FuncOp) and not is_result(function, base.index):
        raise VerifyException(f"argument {base.index} of the function is not a result of it: it is not written")


def is_result(function: FuncOp, number: int) -> bool:
    """Whether an argument of a function receives one of its results."""
    return function.arg_attrs is not None and RESULT in function.arg_attrs.data[number].data


def is_bufferized(function: FuncOp) -> bool:
    """Whether the function's values have got their memory: it takes buffers."""
    kind = function.function_type
    return not kind.outputs.data and all(isinstance(type, MemRefType) for type in kind.inputs.data)


def scratch_room(op: LaunchOp) -> int:
    """The bytes of scratch memory that a kernel has while it runs."""
    return 0 if op.scratch is None else byte_size(op.scratch)


def runs_in_place(op: LaunchOp) -> bool:
    """Whether a nest overwrites an operand that it reads."""
    nest = op.kernel
    if not isinstance(nest, NestOp):
        return False
    written = {location(buffer) for buffer in op.written}
    return any(location(buffer) in written for buffer in op.read[: len(nest.body.block.args)])
