"""Batching of tapes: a tape of batched values.

All instances share the tape's positions. In a loop that some instances leave early the entries of later trips hold nothing
for them, and nothing of them is read. An instance's own position occurs where a position follows from a number of trips that
differs; then entries are read and written one instance after the other.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Attribute, Block, Operation, Region

from wengert.dialects import core
from wengert.dialects import stablehlo as hlo
from wengert.dialects.builder import OpBuilder, Value
from wengert.ir.attributes import int_attr
from wengert.ir.tensor_types import i64
from wengert.transforms.ad.batching.rule import INDEX, Batching, Mapped, Operands, Results, batches, for_each, instance, write_instance
from wengert.transforms.ad.errors import refuse


@batches(core.TapePushOp, core.TapeExtendOp)
def append(batch: Batching, op: Operation, operands: Operands) -> Results:
    return batch.again(op, operands)


@batches(core.TapeSizeOp)
def size(batch: Batching, op: core.TapeSizeOp, operands: Operands) -> Results:
    return [Mapped(batch.b.create(core.TapeSizeOp, (operands[0].value,), (INDEX,))[0], False)]


@batches(core.TapeReadOp, core.TapeGetOp)
def read(batch: Batching, op: core.TapeReadOp | core.TapeGetOp, operands: Operands) -> Results:
    tape, index = operands
    if not index.batched:
        return batch.b.create(type(op), (tape.value, index.value), (batch.type(op.value.type),))

    def body(b: OpBuilder, i: Value, values: Sequence[Value]) -> Sequence[Value]:
        position = b.maximum(values[1], b.scalar(0, i64))  # before the tape begins where the instance is done
        entry = b.create(core.TapeGetOp, (values[0], position), (held(tape.value),))[0]
        return [instance(b, entry, i) if tape.batched else entry]

    return for_each(batch, [Mapped(tape.value, False), index], [op.value.type], body)


def held(tape: Value) -> Attribute:
    """The type of a tape's values."""
    assert isinstance(tape.type, core.TapeType)
    return tape.type.held


@batches(core.TapeFromOp)
def part(batch: Batching, op: core.TapeFromOp, operands: Operands) -> Results:
    tape, index = operands
    if index.batched:
        raise refuse(op, "cannot be batched: every instance would have a part of its own")
    return batch.b.create(core.TapeFromOp, (tape.value, index.value), (tape.value.type,))


@batches(core.TapeSetOp, core.TapeAddOp, control=True)
def write(batch: Batching, op: core.TapeSetOp | core.TapeAddOp, operands: Operands) -> Results:
    tape, index, value = operands
    if index.batched:
        return [_write_each(batch, op, tape, index, value)]
    b, given = batch.b, batch.spread(value)
    whole = batch.spread(tape)
    if batch.mask is not None:
        old = b.full_like(given, 0) if isinstance(op, core.TapeAddOp) else b.create(core.TapeGetOp, (whole, index.value), (given.type,))[0]
        given = batch.where(batch.mask, given, old)
    return b.create(type(op), (whole, index.value, given), (whole.type,))


def _write_each(batch: Batching, op: core.TapeSetOp | core.TapeAddOp, tape: Mapped, index: Mapped, value: Mapped) -> Value:
    """A loop over the instances, each of which changes its part of one entry; one that is masked out rewrites what is there."""
    b, whole = batch.b, batch.spread(tape)
    mask = batch.mask if batch.mask is not None else b.full(1, batch.mask_type)
    inputs = [mask, index.value, batch.spread(value)]
    block = Block(arg_types=[INDEX, *(v.type for v in inputs), whole.type])
    i, runs, positions, values, carried = block.args
    inner = OpBuilder(block, location=b.location, pass_name=b.pass_name)
    position = inner.maximum(instance(inner, positions, i), inner.scalar(0, i64))
    entry = inner.create(core.TapeGetOp, (carried, position), (held(whole),))[0]
    old, new = instance(inner, entry, i), instance(inner, values, i)
    if isinstance(op, core.TapeAddOp):
        new = inner.add(old, new)
    row = write_instance(inner, entry, inner.select(instance(inner, runs, i), new, old), i)
    block.add_op(hlo.ReturnOp.create(operands=inner.create(core.TapeSetOp, (carried, position, row), (whole.type,))))
    operands = [b.scalar(batch.size, i64), *inputs, whole]
    return b.create(core.ForOp, operands, [whole.type], {"constants": int_attr(len(inputs))}, [Region([block])])[0]


@batches(core.TapeSetFromOp, core.TapeAddFromOp)
def write_from(batch: Batching, op: core.TapeSetFromOp | core.TapeAddFromOp, operands: Operands) -> Results:
    tape, index, other = operands
    if index.batched:
        raise refuse(op, "cannot be batched: every instance would write at a position of its own")
    whole = batch.spread(tape)
    return batch.b.create(type(op), (whole, index.value, batch.spread(other)), (whole.type,))
