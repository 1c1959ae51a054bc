"""The pass ``tape-sums-to-reads``: sums on tapes as reads, additions and writes.

Machine code for a CPU adds to a value where it lies on a tape. On a device, tapes are memory that the host manages, of which kernels know nothing: values are
copied to and from them, and added up in kernels of their own.

Before and after::

    %u = core.tape_add %t, %i, %x         %old = core.tape_get %t, %i
                                          %new = stablehlo.add %old, %x
                                          %u = core.tape_set %t, %i, %new

The sum of a whole tape into another one is a loop over its values.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import Attribute, Block, Region
from xdsl.passes import ModulePass

from wengert.dialects import core
from wengert.dialects import stablehlo as hlo
from wengert.dialects.builder import OpBuilder, Value
from wengert.ir.attributes import int_attr
from wengert.ir.tensor_types import i64, tensor
from wengert.transforms.fuse.rewriting import has_matches, replace_ops

Sum = core.TapeAddOp | core.TapeAddFromOp


@dataclass(frozen=True)
class TapeSumsToReadsPass(ModulePass):
    """Writes sums on tapes as reads, additions and writes."""

    name = "tape-sums-to-reads"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        replace_ops(op, self.name, (core.TapeAddOp, core.TapeAddFromOp), _grows, lambda b, sum, _: _written(b, sum))

    def changes(self, module: ModuleOp) -> bool:
        return has_matches(module, (core.TapeAddOp, core.TapeAddFromOp), _grows)


def _grows(op: Sum) -> bool:
    """Whether the tape is one that grows: others are tensors before they run."""
    type = op.operand.type
    return isinstance(type, core.TapeType) and type.static_length is None


def _written(b: OpBuilder, op: Sum) -> Value:
    return _added(b, op.operand, op.index, op.value) if isinstance(op, core.TapeAddOp) else _added_from(b, op)


def _added(b: OpBuilder, tape: Value, index: Value, value: Value) -> Value:
    old = b.one(core.TapeGetOp, (tape, index), value.type)
    return b.one(core.TapeSetOp, (tape, index, b.add(old, value)), tape.type)


def _added_from(b: OpBuilder, op: core.TapeAddFromOp) -> Value:
    """A loop over the values of the other tape, which are added from a position on."""
    integer: TensorType[Any] = tensor((), i64)
    types: list[Attribute] = [integer, op.index.type, op.other.type, op.operand.type]
    block = Block(arg_types=types)
    inner = OpBuilder(block, location=b.location, pass_name=b.pass_name)
    iteration, start, other, tape = block.args
    other_type = op.other.type
    assert isinstance(other_type, core.TapeType)
    value = inner.one(core.TapeGetOp, (other, iteration), other_type.entry_type)
    block.add_op(hlo.ReturnOp.create(operands=[_added(inner, tape, inner.add(start, iteration), value)]))
    count = b.one(core.TapeSizeOp, (op.other,), integer)
    operands = [count, op.index, op.other, op.operand]
    return b.create(core.ForOp, operands, [op.operand.type], {"constants": int_attr(2)}, [Region([block])])[0]
