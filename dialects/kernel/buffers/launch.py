"""The launch of a kernel on buffers: what it reads, what it writes, and whether it may overwrite what it reads."""

from __future__ import annotations

from typing import ClassVar

from xdsl.ir import BlockArgument, Operation, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    opt_operand_def,
    region_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import NoTerminator
from xdsl.utils.exceptions import VerifyException

from wengert.dialects.facts import LAUNCH
from wengert.dialects.kernel.buffers import text
from wengert.dialects.kernel.buffers.storage import expect_writable, location, overlap
from wengert.dialects.kernel.memory import byte_size, value_type
from wengert.dialects.kernel.ops import NestOp
from wengert.dialects.kernel.overwriting import reads_what_it_writes
from wengert.ir.operations import DialectOperation, op_definition
from wengert.ir.syntax import parts as sx
from wengert.ir.traversal import operands_of


@op_definition
class LaunchOp(DialectOperation):
    """Runs the kernel in its region on buffers; see the package's docstring. ``scratch`` is memory that the kernel may use while it runs."""

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
