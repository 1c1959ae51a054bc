"""Small updates of an array that the same nest reads elsewhere: the new elements are computed first, and then written.

A nest that continues an array and reads other elements of it would see its own results, so the whole array is copied
beforehand (:mod:`wengert.transforms.lower.buffers`). Where few elements change, a row or a column of a table in a loop,
keeping these few apart is cheaper.

Before and after::

    %b = nest(%a) into(%a) { a[i] + a[i - 1] -> b[i] }     // copies %a

    %t = nest(%a) { a[i] + a[i - 1] -> t[i] }
    %b = nest(%t) into(%a) { t[i] -> b[i] }
"""

from __future__ import annotations

from collections.abc import Collection
from math import prod

from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue

from wengert.dialects import stablehlo
from wengert.dialects.kernel import STORE, LoadOp, NestOp, Write, at_attr, nest, yielded
from wengert.dialects.kernel_positions import ZERO, flatten, index
from wengert.ir.construction import append, erase, insert_before
from wengert.ir.tensor_types import element, size, tensor
from wengert.transforms.lower.buffers import reads_what_it_writes

SMALL_PART = 0.25
"""The share of an array that is kept apart at most, instead of copying all of it."""


def keep_updates_apart(block: Block, carried: Collection[SSAValue]) -> None:
    """Splits the nests of a block that would copy an array for the sake of a small part; ``carried`` are the arguments that may be overwritten."""
    for op in list(block.ops):
        if type(op) is NestOp and len(op.results) == 1 and op.tied == (0,):
            root = _root(op.into[0])
            fixed = isinstance(root.owner, Block | stablehlo.ConstantOp) and root not in carried
            if not fixed and _copies_in_vain(op, root):
                _split(op)


def _root(value: SSAValue) -> SSAValue:
    while type(value.owner) is stablehlo.ReshapeOp:
        value = value.owner.operand
    return value


def _copies_in_vain(op: NestOp, root: SSAValue) -> bool:
    """Whether an array that nobody else needs is read and changed, elsewhere and in a small part."""
    writes = op.writes
    if len(writes) != 1 or prod(op.extents) > SMALL_PART * size(root) or _is_needed_after(root, op):
        return False
    arguments = [argument for argument, operand in zip(op.body.block.args, op.inputs, strict=True) if _root(operand) is root]
    return bool(arguments) and not reads_what_it_writes(op, 0, arguments) and not _depends_on(_scalars(writes[0]), arguments)


def _is_needed_after(root: SSAValue, op: Operation) -> bool:
    users = {use.operation for use in root.uses}
    other = op.next_op
    while other is not None:
        if other in users or (type(other) is stablehlo.ReshapeOp and _root(other.result) is root):
            return True
        other = other.next_op
    return False


def _scalars(write: Write) -> list[SSAValue]:
    """What says where and whether to write."""
    return [scalar for scalar in (write.base, write.condition) if scalar is not None]


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
    """Puts a nest that computes what is written, and one that writes it, in the place of the one."""
    (write,) = op.writes
    place = flatten([index(d) for d in range(len(op.extents))], op.extents) if op.extents else ZERO
    kept = tensor(op.extents, element(op.outputs[0]))

    body, copied = _copied_body(op)
    first = _finished(op, body, list(op.inputs), [], Write(copied[write.value], place, STORE, 0), kept)

    body, copied = _copied_body(op)
    load = LoadOp.create(operands=[body.insert_arg(kept, len(body.args))], result_types=[kept.element_type], properties={"at": at_attr(place)})
    append(body, load)
    base, condition = (None if scalar is None else copied[scalar] for scalar in (write.base, write.condition))
    again = write._replace(value=load.result, base=base, condition=condition)
    second = _finished(op, body, [*op.inputs, first.outputs[0]], list(op.into), again, op.outputs[0].type)

    op.outputs[0].replace_all_uses_with(second.outputs[0])
    op.detach()
    op.erase()


def _copied_body(op: NestOp) -> tuple[Block, dict[SSAValue, SSAValue]]:
    """The body without its end, and what its values have become."""
    body = Block(arg_types=[value.type for value in op.inputs])
    copied: dict[SSAValue, SSAValue] = dict(zip(op.body.block.args, body.args, strict=True))
    for inner in list(op.body.block.ops)[:-1]:
        append(body, inner.clone(value_mapper=copied))
    return body, copied


def _finished(op: NestOp, body: Block, inputs: list[SSAValue], into: list[SSAValue], write: Write, result: Attribute) -> NestOp:
    """The nest, in front of the one that it is made from, without what the write does not need."""
    append(body, yielded([write]))
    for inner in reversed(list(body.ops)[:-1]):
        if all(value.first_use is None for value in inner.results):
            erase(inner)
    for argument in reversed(body.args):
        if argument.first_use is None:
            del inputs[argument.index]
            body.erase_arg(argument)
    made = nest(inputs, into, [result], op.extents, [0] if into else [-1], body)
    made.location = op.location
    insert_before(op, made)
    return made
