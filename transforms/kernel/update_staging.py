"""Stages small updates of an array that the same nest reads elsewhere: the new elements are computed first, and then written.

A nest that updates an array in place and reads other elements of it would see its own results, so the whole array is copied
beforehand (:mod:`wengert.transforms.bufferize.layout`). Where few elements change, a row or a column of a table in a loop,
keeping these few apart is cheaper.

Before and after::

    %b = nest(%a) into(%a) { a[i] + a[i - 1] -> b[i] }     // copies %a

    %t = nest(%a) { a[i] + a[i - 1] -> t[i] }
    %b = nest(%t) into(%a) { t[i] -> b[i] }
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from math import prod

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue
from xdsl.passes import ModulePass

from wengert.dialects import stablehlo
from wengert.dialects.kernel import STORE, LoadOp, NestOp, Write, at_attr, nest, yielded
from wengert.dialects.kernel.overwriting import carried, reads_what_it_writes, root
from wengert.dialects.kernel.positions import ZERO, flatten, index
from wengert.ir.construction import append, erase, insert_before
from wengert.ir.pipeline.actions import may_rewrite
from wengert.ir.tensor_types import element, size, tensor
from wengert.ir.traversal import ops_in
from wengert.transforms.kernel.blocks import kernel_blocks

SMALL_PART = 0.25
"""The share of an array that is kept apart at most, instead of copying all of it."""


@dataclass(frozen=True)
class StageUpdatesPass(ModulePass):
    """Computes small updates of an array that the same nest reads elsewhere before any is written, which saves a copy of the array."""

    name = "stage-updates"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for block in kernel_blocks(op):
            around = block.parent_op()
            stage_updates(block, carried(around, block) if around is not None else ())


def stage_updates(block: Block, carried: Collection[SSAValue]) -> None:
    """Splits the nests of a block that would copy an array in order to change a small part; ``carried`` are the arguments that may be overwritten."""
    for op in ops_in(block):
        if type(op) is NestOp and any(tie >= 0 for tie in op.tied) and _is_split(op, carried) and may_rewrite("stage-update", op):
            _split(op)


def _is_split(op: NestOp, carried: Collection[SSAValue]) -> bool:
    """Whether every array that the nest updates is changed in a small part, and one of them would be copied without need."""
    writes, tied = op.writes, [target for target, tie in enumerate(op.tied) if tie >= 0]
    roots = [root(value) for value in op.into]
    arguments = [argument for argument, operand in zip(op.body.block.args, op.inputs, strict=True) if root(operand) in roots]
    updates = [write for write in writes if write.target in tied]
    if len(updates) != len(tied) or any(prod(op.extents) > SMALL_PART * size(value) for value in op.into):
        return False
    scalars = [scalar for write in updates for scalar in (write.base, write.condition) if scalar is not None]
    return any(_copies_in_vain(op, target, carried) for target in tied) and not _depends_on(scalars, arguments)


def _copies_in_vain(op: NestOp, target: int, carried: Collection[SSAValue]) -> bool:
    """Whether an array that is not used afterwards is read at other elements than it is changed."""
    changed = root(op.into[op.tied[target]])
    if (isinstance(changed.owner, Block | stablehlo.ConstantOp) and changed not in carried) or _is_needed_after(changed, op):
        return False
    arguments = [argument for argument, operand in zip(op.body.block.args, op.inputs, strict=True) if root(operand) is changed]
    return bool(arguments) and not reads_what_it_writes(op, target, arguments)


def _is_needed_after(array: SSAValue, op: Operation) -> bool:
    users = {use.operation for use in array.uses}
    other = op.next_op
    while other is not None:
        if other in users or (type(other) is stablehlo.ReshapeOp and root(other.result) is array):
            return True
        other = other.next_op
    return False


def _depends_on(values: list[SSAValue], arguments: list[BlockArgument]) -> bool:
    """Whether scalars of a nest's body are computed from these arrays."""
    pending, seen = list(values), set[SSAValue]()
    while pending:
        value = pending.pop()
        if value in arguments:
            return True
        if value not in seen and isinstance(value.owner, Operation):
            pending.extend(value.owner.operands)
        seen.add(value)
    return False


def _split(op: NestOp) -> None:
    """Replaces a nest by one that computes the new elements and one that writes them; the first also writes results that update no array."""
    place = flatten([index(d) for d in range(len(op.extents))], op.extents) if op.extents else ZERO
    tied = [target for target, tie in enumerate(op.tied) if tie >= 0]
    kept = {target: tensor(op.extents, element(op.outputs[target])) for target in tied}

    body, copied = _copied_body(op)
    computed = [
        Write(copied[write.value], place, STORE, write.target)
        if write.target in tied
        else write._replace(**{name: _mapped(copied, getattr(write, name)) for name in ("value", "base", "condition")})
        for write in op.writes
    ]
    first = _finished_nest(
        op, body, list(op.inputs), [], computed, [kept.get(target, value.type) for target, value in enumerate(op.outputs)], [-1] * len(op.outputs)
    )

    body, copied = _copied_body(op)
    written: list[Write] = []
    for write in op.writes:
        if write.target in tied:
            argument = body.insert_arg(kept[write.target], len(body.args))
            load = LoadOp.create(operands=[argument], result_types=[kept[write.target].element_type], properties={"at": at_attr(place)})
            append(body, load)
            written.append(Write(load.result, write.at, write.kind, tied.index(write.target), _mapped(copied, write.base), _mapped(copied, write.condition)))
    inputs = [*op.inputs, *[first.outputs[write.target] for write in op.writes if write.target in tied]]
    second = _finished_nest(op, body, inputs, list(op.into), written, [op.outputs[target].type for target in tied], [op.tied[target] for target in tied])

    for target, old in enumerate(op.outputs):
        old.replace_all_uses_with(second.outputs[tied.index(target)] if target in tied else first.outputs[target])
    op.detach()
    op.erase()


def _mapped(copied: dict[SSAValue, SSAValue], value: SSAValue | None) -> SSAValue | None:
    return None if value is None else copied[value]


def _copied_body(op: NestOp) -> tuple[Block, dict[SSAValue, SSAValue]]:
    """The body without its end, and what its values have become."""
    body = Block(arg_types=[value.type for value in op.inputs])
    copied: dict[SSAValue, SSAValue] = dict(zip(op.body.block.args, body.args, strict=True))
    for inner in list(op.body.block.ops)[:-1]:
        append(body, inner.clone(value_mapper=copied))
    return body, copied


def _finished_nest(
    op: NestOp, body: Block, inputs: list[SSAValue], into: list[SSAValue], writes: list[Write], results: Sequence[Attribute], ties: Sequence[int]
) -> NestOp:
    """Puts a nest with this body, without what its writes do not need, in front of the one that it replaces."""
    append(body, yielded(writes))
    for inner in reversed(list(body.ops)[:-1]):
        if all(value.first_use is None for value in inner.results):
            erase(inner)
    for argument in reversed(body.args):
        if argument.first_use is None:
            del inputs[argument.index]
            body.erase_arg(argument)
    finished = nest(inputs, into, results, op.extents, ties, body)
    finished.location = op.location
    insert_before(op, finished)
    return finished
