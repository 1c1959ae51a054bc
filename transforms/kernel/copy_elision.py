"""Copy elision: what a nest copies whole into a row of an array that a loop carries is computed there.

A value that an iteration of a loop both uses and records, as the forward sweep of a loop does with what the reverse sweep needs, is computed by one nest,
read by others, and copied into its row by one more. Computed in the row itself, it is not copied.

Before and after, in a loop that carries ``%s``::

    %v = nest(%x) { ... -> v[i] }                                  %t = nest(%x, %k) into(%s) { ... -> t[%k * 1000 + i] }
    %y = nest(%v) { f(v[i - 1]) -> y[i] }                          %y = nest(%t, %k) { f(t[%k * 1000 + i - 1]) -> y[i] }
    %t = nest(%v, %k) into(%s) { v[i] -> t[%k * 1000 + i] }
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from math import prod
from typing import NamedTuple

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, BlockArgument, Operation, SSAValue
from xdsl.passes import ModulePass

from wengert.dialects.kernel import STORE, EmptyOp, LoadOp, NestOp, Write, at_attr, nest, yielded
from wengert.dialects.kernel.iterators import apart_loops
from wengert.dialects.kernel.memory import byte_size
from wengert.dialects.kernel.overwriting import carried, is_fixed
from wengert.dialects.kernel.positions import Position, span
from wengert.ir.construction import append, copy_op, erase, insert_before, replace_uses
from wengert.ir.pipeline.actions import may_rewrite
from wengert.ir.tensor_types import element, size
from wengert.ir.traversal import ops_in
from wengert.transforms.kernel.blocks import kernel_blocks
from wengert.transforms.kernel.fission import needed_by, part_of
from wengert.transforms.optimize.matching import used_once

LEAST_BYTES = 1024
"""Smaller values stay where they are: a loop may have them in registers."""


@dataclass(frozen=True)
class ElideCopiesPass(ModulePass):
    """Computes values that are copied into a row of an array that a loop carries in that row."""

    name = "elide-copies"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for block in kernel_blocks(op):
            around = block.parent_op()
            arrays = carried(around, block) if around is not None else ()
            if arrays:
                while any([_elide(made, arrays) for made in ops_in(block) if isinstance(made, NestOp) and made.parent is block]):  # noqa: C419  (all are tried)
                    pass


class _Row(NamedTuple):
    """The part of an array that a nest copies a value into.

    Attributes:
        copy: the nest.
        target: the number of its result that continues the array.
        array: the array that the loop carries.
        base: the computed part of the row's position, a scalar of the nest's body.
        offset: the constant part.
    """

    copy: NestOp
    target: int
    array: SSAValue
    base: SSAValue | None
    offset: int


def _elide(op: NestOp, arrays: Collection[SSAValue]) -> bool:
    """Elides one of a nest's copies, if one can be."""
    for target, tie in enumerate(op.tied):
        if tie >= 0 and op.into[tie] in arrays:
            copied = _copied_into_row(op, target)
            if copied is not None and _can_move(*copied) and may_rewrite("elide-copy", op):
                _move(*copied)
                return True
    return False


def _copied_into_row(op: NestOp, target: int) -> tuple[SSAValue, _Row] | None:
    """The value that one of a nest's results is a copy of, in a row of the array that it continues; None if it is anything else."""
    array, writes = op.into[op.tied[target]], [write for write in op.writes if write.target == target]
    if len(writes) != 1 or not used_once(array) or not _only_carried_on(op.outputs[target]):
        return None
    (write,) = writes
    load = write.value.owner
    if write.kind != STORE or write.condition is not None or not isinstance(load, LoadOp) or load.base is not None or load.where is not None:
        return None
    at, source = load.at.data, load.source
    if write.at.terms != at.terms or not isinstance(source, BlockArgument) or (write.base is not None and not is_fixed(write.base)):
        return None
    value = op.inputs[source.index]
    if not _covers(at, op.extents, size(value)) or element(value) != element(array) or byte_size(value) < LEAST_BYTES:
        return None
    return value, _Row(op, target, array, write.base, write.at.offset - at.offset)


def _only_carried_on(value: SSAValue) -> bool:
    """Whether nothing but the end of the loop's iteration refers to a value."""
    use = value.first_use
    return used_once(value) and use is not None and use.operation.next_op is None and not isinstance(use.operation, NestOp)


def _covers(at: Position, extents: tuple[int, ...], count: int) -> bool:
    """Whether the iterations of a nest go once through as many elements as there are."""
    return prod(extents) == count and at.is_affine() and len(apart_loops(at, extents)) == len(extents) and span(at, extents) == (0, count - 1)


def _can_move(value: SSAValue, row: _Row) -> bool:
    """Whether a value can be computed in a row: nests alone write and read it, and where the row is, is known when the first of them begins."""
    writers = _writers(value)
    block = row.copy.parent
    if not writers or any(op.parent is not block or not _is_free(op) for op, _ in writers):
        return False
    for op, target in writers:
        if any(write.kind != STORE or write.base is not None or write.condition is not None for write in op.writes if write.target == target):
            return False
    for use in value.uses:
        reader = use.operation
        if not isinstance(reader, NestOp) or reader.parent is not block or not _is_free(reader) or use.index >= len(reader.inputs):
            return False
        if any(not isinstance(load := inner.operation, LoadOp) or load.base is not None for inner in reader.body.block.args[use.index].uses):
            return False
    first = writers[-1][0]
    return all(_is_before(operand, first) for operand in [*_base_inputs(row), row.array])


def _is_free(op: NestOp) -> bool:
    """Whether a nest has no schedule yet, which would be about other accesses."""
    return op.schedule is None and op.gpu_schedule is None


def _writers(value: SSAValue) -> list[tuple[NestOp, int]]:
    """The nests that write a value, each with the number of its result, the last one first; none if anything else does, or needs what it was before."""
    writers: list[tuple[NestOp, int]] = []
    while True:
        op = value.owner
        if not isinstance(op, NestOp):
            return writers if isinstance(op, EmptyOp) else []
        target = op.outputs.index(value)
        writers.append((op, target))
        if op.tied[target] < 0:
            return writers
        value = op.into[op.tied[target]]
        if not used_once(value):
            return []


def _is_before(value: SSAValue, op: Operation) -> bool:
    """Whether a value is there when an op of the same block begins."""
    owner = value.owner
    if isinstance(owner, Block):
        return True
    return owner.parent is not op.parent or owner.is_before_in_block(op)


def _base_inputs(row: _Row) -> list[SSAValue]:
    """The operands of the copying nest from which it computes where the row is."""
    scalars = needed_by([] if row.base is None else [row.base])
    return [row.copy.inputs[operand.index] for op in scalars for operand in op.operands if isinstance(operand, BlockArgument)]


def _move(value: SSAValue, row: _Row) -> None:
    """Computes a value in a row, where its readers read it."""
    copy, moved, writers = row.copy, row.array, _writers(value)
    for op, target in reversed(writers):
        made = _written_to(op, target, moved, row)
        insert_before(op, made)
        for old, new in zip(op.outputs, made.outputs, strict=True):
            if old is not op.outputs[target]:
                replace_uses(old, new)
        moved = made.outputs[target]
    replace_uses(copy.outputs[row.target], moved)
    if kept := [target for target in range(len(copy.outputs)) if target != row.target]:
        _replace(copy, part_of(copy, kept), [copy.outputs[target] for target in kept])
    for reader in dict.fromkeys(use.operation for use in value.uses if use.operation is not copy):
        assert isinstance(reader, NestOp)
        _replace(reader, _reading(reader, value, moved, row), reader.outputs)
        erase(reader)
    erase(copy)
    first, target = writers[-1]
    empty = first.into[first.tied[target]].owner if first.tied[target] >= 0 else None
    for op, _ in writers:
        erase(op)
    if isinstance(empty, EmptyOp) and empty.result.first_use is None:
        erase(empty)


def _replace(op: NestOp, made: NestOp, results: Sequence[SSAValue]) -> None:
    """Puts a nest in front of one whose results are its own from then on."""
    insert_before(op, made)
    for old, new in zip(results, made.outputs, strict=True):
        replace_uses(old, new)


def _written_to(op: NestOp, target: int, array: SSAValue, row: _Row) -> NestOp:
    """The nest that writes one of its results into the row of the array."""
    arrays, ties, types = list(op.into), list(op.tied), [result.type for result in op.outputs]
    if ties[target] < 0:
        ties[target] = len(arrays)
        arrays.append(array)
    arrays[ties[target]], types[target] = array, array.type
    body, inputs = _with_accesses(op, op.inputs, row, (), target)
    return _finished(op, nest(inputs, arrays, types, op.extents, ties, body))


def _reading(op: NestOp, value: SSAValue, array: SSAValue, row: _Row) -> NestOp:
    """The nest that reads a value in the row of the array."""
    inputs = [array if operand is value else operand for operand in op.inputs]
    loads = [use.operation for old, argument in zip(op.inputs, op.body.block.args, strict=True) if old is value for use in argument.uses]
    body, inputs = _with_accesses(op, inputs, row, loads, None)
    return _finished(op, nest(inputs, op.into, [result.type for result in op.outputs], op.extents, op.tied, body))


def _finished(op: NestOp, made: NestOp) -> NestOp:
    made.location = op.location
    return made


def _with_accesses(op: NestOp, inputs: Sequence[SSAValue], row: _Row, loads: Collection[Operation], target: int | None) -> tuple[Block, list[SSAValue]]:
    """A copy of a nest's body in which some loads, and the writes to one of the results, are in the row; with the operands that it takes."""
    inputs = list(inputs)
    body = Block(arg_types=[operand.type for operand in inputs])
    values: dict[SSAValue, SSAValue] = dict(zip(op.body.block.args, body.args, strict=True))
    base = _base_in(body, inputs, row)
    shared = ops_in(body)
    for inner in ops_in(op.body.block)[:-1]:
        if isinstance(inner, LoadOp) and inner in loads:
            append(body, made := _load_from(inner, values[inner.source], row, base))
            values[inner.result] = made.result
        elif (equal := _equal(inner, values, shared)) is not None:
            values[inner.results[0]] = equal
        else:
            append(body, copy_op(inner, values))
    writes: list[Write] = []
    for write in op.writes:
        if write.target == target:
            writes.append(Write(values[write.value], write.at.shifted(row.offset), write.kind, write.target, base))
        else:
            base_before, condition = (None if scalar is None else values[scalar] for scalar in (write.base, write.condition))
            writes.append(Write(values[write.value], write.at, write.kind, write.target, base_before, condition))
    append(body, yielded(writes))
    return body, inputs


def _base_in(body: Block, inputs: list[SSAValue], row: _Row) -> SSAValue | None:
    """Computes where the row is in another nest's body, which gets the operands that this takes."""
    if row.base is None:
        return None
    values: dict[SSAValue, SSAValue] = {}
    needed = needed_by([row.base])
    for inner in ops_in(row.copy.body.block):
        if inner not in needed:
            continue
        for operand in inner.operands:
            if isinstance(operand, BlockArgument) and operand not in values:
                array = row.copy.inputs[operand.index]
                if array not in inputs:
                    inputs.append(array)
                    body.insert_arg(array.type, len(body.args))
                values[operand] = body.args[inputs.index(array)]
        append(body, copy_op(inner, values))
    return values[row.base]


def _equal(op: Operation, values: dict[SSAValue, SSAValue], others: Collection[Operation]) -> SSAValue | None:
    """The result of one of these ops that computes the same as an op of a body that is copied."""
    operands = [values[operand] for operand in op.operands]
    return next((o.results[0] for o in others if type(o) is type(op) and o.properties == op.properties and list(o.operands) == operands), None)


def _load_from(load: LoadOp, array: SSAValue, row: _Row, base: SSAValue | None) -> LoadOp:
    """The load of the same element from the row."""
    properties = {**load.properties, "at": at_attr(load.at.data.shifted(row.offset))}
    made = LoadOp.create(operands=[array, *([] if base is None else [base])], properties=properties, result_types=[load.result.type])
    made.location = load.location
    return made
