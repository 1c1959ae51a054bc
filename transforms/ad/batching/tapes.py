"""Batching of tapes: a tape of batched values.

All batch elements share the tape's positions. In a loop that some batch elements leave early, the entries of later iterations mean nothing
for these, and are not read for them. A position is batched where it is computed from a trip count that is;
then entries are read and written for one batch element after the other.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Attribute, Block, Operation, Region

from wengert.dialects import core
from wengert.dialects import stablehlo as hlo
from wengert.dialects.builder import OpBuilder, Value
from wengert.ir.attributes import int_attr
from wengert.ir.tensor_types import i64
from wengert.transforms.ad.batching.rule import INDEX, Batching, Mapped, Operands, Results, batch_element, batches, loop_over_batch, write_batch_element
from wengert.transforms.ad.errors import refuse


@batches(core.TapePushOp, core.TapeExtendOp)
def append(batch: Batching, op: Operation, operands: Operands) -> Results:
    return batch.rebuild(op, operands)


@batches(core.TapeSizeOp)
def size(batch: Batching, op: core.TapeSizeOp, operands: Operands) -> Results:
    return [Mapped(batch.b.create(core.TapeSizeOp, (operands[0].value,), (INDEX,))[0], False)]


@batches(core.TapeReadOp, core.TapeGetOp)
def read(batch: Batching, op: core.TapeReadOp | core.TapeGetOp, operands: Operands) -> Results:
    tape, index = operands
    if index.batched:
        return _read_each(batch, tape, index, op.value.type)
    return batch.b.create(type(op), (tape.value, index.value), (batch.type(op.value.type),))


def _read_each(batch: Batching, tape: Mapped, index: Mapped, kind: Attribute) -> Sequence[Value]:
    """Reads at a different position for each batch element, in a loop over these."""

    def body(b: OpBuilder, i: Value, values: Sequence[Value]) -> Sequence[Value]:
        position = b.maximum(values[1], b.scalar(0, i64))  # negative for batch elements that are done
        entry = b.create(core.TapeGetOp, (values[0], position), (entry_type(tape.value),))[0]
        return [batch_element(b, entry, i) if tape.batched else entry]

    return loop_over_batch(batch, [Mapped(tape.value, False), index], [kind], body)


def entry_type(tape: Value) -> Attribute:
    """The type of a tape's entries."""
    assert isinstance(tape.type, core.TapeType)
    return tape.type.entry_type


@batches(core.TapeFromOp)
def part(batch: Batching, op: core.TapeFromOp, operands: Operands) -> Results:
    tape, index = operands
    if not index.batched:
        return [Mapped(batch.b.create(core.TapeFromOp, (tape.value, index.value), (tape.value.type,))[0], tape.batched)]
    # each batch element reads from a position of its own: copy the entries to a new tape, with a common start
    b, kind = batch.b, batch.type(op.tape.type)
    first = b.maximum(b.reduce(core.Kind.min, index.value, [0]), b.scalar(0, i64))
    count = b.subtract(b.create(core.TapeSizeOp, (tape.value,), (INDEX,))[0], first)
    block = Block(arg_types=[INDEX, tape.value.type, index.value.type, kind])
    i, whole, starts, carried = block.args
    inner = batch.nested(block)
    position = inner.b.add(starts, inner.b.broadcast_in_dim(i, [], [batch.size]))
    entry = _read_each(inner, Mapped(whole, tape.batched), Mapped(position, True), entry_type(op.tape))[0]
    block.add_op(hlo.ReturnOp.create(operands=inner.b.create(core.TapePushOp, (carried, entry), (kind,))))
    empty = b.create(core.TapeCreateOp, (), (kind,))[0]
    return b.create(core.ForOp, [count, tape.value, index.value, empty], [kind], {"constants": int_attr(2)}, [Region([block])])


@batches(core.TapeSetOp, core.TapeAddOp, control=True)
def write(batch: Batching, op: core.TapeSetOp | core.TapeAddOp, operands: Operands) -> Results:
    tape, index, value = operands
    if index.batched:
        return [_write_each(batch, type(op), tape, index, value)]
    b, given = batch.b, batch.broadcast(value)
    whole = batch.broadcast(tape)
    if batch.mask is not None:
        old = b.full_like(given, 0) if isinstance(op, core.TapeAddOp) else b.create(core.TapeGetOp, (whole, index.value), (given.type,))[0]
        given = batch.where(batch.mask, given, old)
    return b.create(type(op), (whole, index.value, given), (whole.type,))


def _write_each(batch: Batching, kind: type[Operation], tape: Mapped, index: Mapped, value: Mapped) -> Value:
    """Writes at a different position for each batch element, in a loop over these; an inactive one writes back what it reads."""
    b, whole = batch.b, batch.broadcast(tape)
    mask = batch.mask if batch.mask is not None else b.full(1, batch.mask_type)
    inputs = [mask, index.value, batch.broadcast(value)]
    block = Block(arg_types=[INDEX, *(v.type for v in inputs), whole.type])
    i, runs, positions, values, carried = block.args
    inner = OpBuilder(block, location=b.location, pass_name=b.pass_name)
    position = inner.maximum(batch_element(inner, positions, i), inner.scalar(0, i64))
    entry = inner.create(core.TapeGetOp, (carried, position), (entry_type(whole),))[0]
    old, new = batch_element(inner, entry, i), batch_element(inner, values, i)
    if kind is core.TapeAddOp:
        new = inner.add(old, new)
    row = write_batch_element(inner, entry, inner.select(batch_element(inner, runs, i), new, old), i)
    block.add_op(hlo.ReturnOp.create(operands=inner.create(core.TapeSetOp, (carried, position, row), (whole.type,))))
    operands = [b.scalar(batch.size, i64), *inputs, whole]
    return b.create(core.ForOp, operands, [whole.type], {"constants": int_attr(len(inputs))}, [Region([block])])[0]


@batches(core.TapeSetFromOp, core.TapeAddFromOp)
def write_from(batch: Batching, op: core.TapeSetFromOp | core.TapeAddFromOp, operands: Operands) -> Results:
    tape, index, other = operands
    whole, values = batch.broadcast(tape), batch.broadcast(other)
    if not index.batched:
        return batch.b.create(type(op), (whole, index.value, values), (whole.type,))
    if isinstance(op, core.TapeSetFromOp):
        raise refuse(op, "cannot be batched: each batch element would write at a position of its own")
    b = batch.b
    mask = batch.mask if batch.mask is not None else b.full(1, batch.mask_type)
    inputs = [mask, index.value, values]
    block = Block(arg_types=[INDEX, *(v.type for v in inputs), whole.type])
    i, runs, starts, added, carried = block.args
    inner = batch.nested(block, runs)
    position = Mapped(inner.b.add(starts, inner.b.broadcast_in_dim(i, [], [batch.size])), True)
    entry = inner.b.create(core.TapeGetOp, (added, i), (entry_type(values),))[0]
    made = _write_each(inner, core.TapeAddOp, Mapped(carried, True), position, Mapped(entry, True))
    block.add_op(hlo.ReturnOp.create(operands=[made]))
    count = b.create(core.TapeSizeOp, (values,), (INDEX,))[0]
    return b.create(core.ForOp, [count, *inputs, whole], [whole.type], {"constants": int_attr(len(inputs))}, [Region([block])])
