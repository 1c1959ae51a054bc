"""Stores what was widened as it was before: a nest that ends in conversions to f32 writes 16 bits, and nests that read it convert.

The conversion is exact, so nothing changes but the bytes that are moved, and factors of products are seen to have 16 bits. A nest that is then a copy
of its operand goes away.

Before and after::

    %w = nest ins(%a = %x: tensor<64xbf16>) { %0 = load %a[d0], %1 = convert %0 : (bf16) -> f32, store %1 to out0[d0] }
    %y = nest ins(%a = %w: tensor<64xf32>) { %0 = load %a[d0] : tensor<64xf32>, ... }

    %y = nest ins(%a = %x: tensor<64xbf16>) { %0 = load %a[d0] : tensor<64xbf16>, %1 = convert %0 : (bf16) -> f32, ... }
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue
from xdsl.passes import ModulePass

from wengert.dialects.kernel import STORE, ApplyOp, LoadOp, NestOp, Write, nest, string, yielded
from wengert.ir.construction import append, copy_op, erase, insert_before, replace_uses
from wengert.ir.tensor_types import bf16, f16, f32, tensor, type_of
from wengert.ir.traversal import ops_in
from wengert.transforms.kernel.blocks import kernel_blocks
from wengert.transforms.kernel.fission import part_of


@dataclass(frozen=True)
class NarrowStoresPass(ModulePass):
    """Stores floats of 16 bits that were widened to f32 as they were."""

    name = "narrow-stores"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for block in kernel_blocks(op):
            for made in ops_in(block):
                if isinstance(made, NestOp) and made.gpu_schedule is None and made.schedule is None:
                    narrow = {target: element for target in range(len(made.outputs)) if (element := _narrow(made, target)) is not None}
                    _drop_copies(_narrowed(made, narrow) if narrow else made)


def _narrow(op: NestOp, target: int) -> Attribute | None:
    """The type of 16 bits that all of a result was widened from; None if it was not, or somebody else than nests reads it."""
    if op.tied[target] >= 0:
        return None
    owners = [write.value.owner for write in op.writes if write.target == target and write.kind == STORE]
    if len(owners) != sum(write.target == target for write in op.writes):
        return None
    types = {owner.operands[0].type if isinstance(owner, ApplyOp) and owner.function.data == "convert" else None for owner in owners}
    (element, *others) = types
    if others or element not in (f16, bf16) or type_of(op.outputs[target]).element_type != f32:
        return None
    uses = list(op.outputs[target].uses)
    return element if uses and all(_reads(use.operation, use.index) for use in uses) else None


def _reads(op: Operation, index: int) -> bool:
    return isinstance(op, NestOp) and index < len(op.inputs) and op.gpu_schedule is None and op.schedule is None


def _narrowed(op: NestOp, narrow: dict[int, Attribute]) -> NestOp:
    """The nest with some results narrowed, and its readers with conversions."""
    body = Block(arg_types=[value.type for value in op.inputs])
    values: dict[SSAValue, SSAValue] = dict(zip(op.body.block.args, body.args, strict=False))
    before = {write.value: write.value.owner.operands[0] for write in op.writes if write.target in narrow and isinstance(write.value.owner, ApplyOp)}
    for inner in ops_in(op.body.block)[:-1]:
        append(body, copy_op(inner, values))
    writes: list[Write] = []
    for write in op.writes:
        value = before[write.value] if write.target in narrow else write.value
        base, condition = (None if part is None else values[part] for part in (write.base, write.condition))
        writes.append(Write(values[value], write.at, write.kind, write.target, base, condition))
    append(body, yielded(writes))
    outputs = [tensor(type_of(out).get_shape(), narrow[n]) if n in narrow else out.type for n, out in enumerate(op.outputs)]
    made = nest(op.inputs, op.into, outputs, op.extents, op.tied, body)
    made.location = op.location
    _drop_unused(made)
    insert_before(op, made)
    for target, out in enumerate(op.outputs):
        readers = {use.operation for use in out.uses} if target in narrow else set[Operation]()
        replace_uses(out, made.outputs[target])
        for reader in readers:
            assert isinstance(reader, NestOp)
            _widen_reads(reader, made.outputs[target])
    erase(op)
    return made


def _drop_unused(op: NestOp) -> None:
    """Erases conversions that nothing needs any more."""
    for inner in reversed(ops_in(op.body.block)[:-1]):
        if isinstance(inner, ApplyOp) and inner.result.first_use is None:
            erase(inner)


def _widen_reads(op: NestOp, value: SSAValue) -> None:
    """Makes loads of a narrowed operand give what was there before."""
    for number, operand in enumerate(op.inputs):
        argument = op.body.block.args[number]
        if operand is value and argument.type != value.type:
            loads = [use.operation for use in argument.uses]
            argument = _retyped(argument, value.type)
            for load in loads:
                assert isinstance(load, LoadOp)
                _widen(load, type_of(value).element_type)


def _retyped(argument: BlockArgument, type: Attribute) -> BlockArgument:
    """An argument of another type in the place of one."""
    block = argument.block
    made = block.insert_arg(type, argument.index)
    replace_uses(argument, made)
    block.erase_arg(argument)
    return made


def _widen(load: LoadOp, element: Attribute) -> None:
    made = LoadOp.create(operands=list(load.operands), properties=dict(load.properties), result_types=[element])
    convert = ApplyOp.create(operands=[made.result], properties={"function": string("convert")}, result_types=[load.result.type])
    for op in (made, convert):
        op.location = load.location
        insert_before(load, op)
    replace_uses(load.result, convert.result)
    erase(load)


def _drop_copies(op: NestOp) -> None:
    """Lets readers of results that are copies of operands read these."""
    copied = {target: operand for target in range(len(op.outputs)) if (operand := _copied(op, target)) is not None}
    if not copied:
        return
    for target, operand in copied.items():
        replace_uses(op.outputs[target], operand)
    kept = [target for target in range(len(op.outputs)) if target not in copied]
    if kept:
        made = part_of(op, kept)
        insert_before(op, made)
        for target, result in zip(kept, made.outputs, strict=True):
            replace_uses(op.outputs[target], result)
    erase(op)


def _copied(op: NestOp, target: int) -> SSAValue | None:
    """The operand that a result is a copy of, if only nests read it; else None."""
    writes = [write for write in op.writes if write.target == target]
    if len(writes) != 1 or op.tied[target] >= 0 or not all(_reads(use.operation, use.index) for use in op.outputs[target].uses):
        return None
    (write,) = writes
    load = write.value.owner
    if write.kind != STORE or write.base is not None or write.condition is not None or not isinstance(load, LoadOp) or load.base is not None:
        return None
    source = load.source
    if load.where is not None or load.at.data != write.at or not isinstance(source, BlockArgument) or source.type != op.outputs[target].type:
        return None
    return op.inputs[source.index]
