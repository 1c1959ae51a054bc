"""Loads, stores and atomic updates of kernels."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

import numpy as np
from xdsl.dialects import memref
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Attribute

from wengert.dialects.gpu.atomics import AtomicKind, AtomicRMWOp, GenericAtomicRMWOp
from wengert.dialects.gpu.scalars import Meaning, unsigned
from wengert.ir.attributes import int_of
from wengert.ir.tensor_types import is_boolean
from wengert.runtime.interpreter.gpu import scalars
from wengert.runtime.interpreter.gpu.batch import Array, Batch, Mask, value_name
from wengert.runtime.interpreter.gpu.code import Code, Step, steps_of
from wengert.runtime.interpreter.gpu.memory import Buffer, private_buffer
from wengert.runtime.interpreter.rules import Binary, Function


@steps_of(memref.LoadOp)
def load(op: memref.LoadOp, code: Code) -> Step:
    """Reads elements."""
    source, indices, result = code.slot(op.memref), code.slots(op.indices), code.slot(op.res)

    def step(batch: Batch, mask: Mask) -> None:
        for slot in indices:
            batch.expect_defined(op, "an index", slot, mask)
        buffer: Buffer = batch.values[source]
        batch.values[result] = buffer.load(op, batch, mask, [batch.values[slot] for slot in indices])
        batch.undefined[result] = None

    return step


@steps_of(memref.StoreOp)
def store(op: memref.StoreOp, code: Code) -> Step:
    """Writes elements."""
    value, target, indices = code.slot(op.value), code.slot(op.memref), code.slots(op.indices)

    def step(batch: Batch, mask: Mask) -> None:
        for slot in indices:
            batch.expect_defined(op, "an index", slot, mask)
        buffer: Buffer = batch.values[target]
        buffer.store(op, batch, mask, [batch.values[slot] for slot in indices], batch.values[value], batch.undefined[value])

    return step


@steps_of(memref.AllocaOp)
def alloca(op: memref.AllocaOp, code: Code) -> Step:
    """New memory of each thread."""
    result, type, name = code.slot(op.memref), cast("MemRefType[Any]", op.memref.type), value_name(op.memref)

    def step(batch: Batch, mask: Mask) -> None:
        batch.values[result] = private_buffer(name, type, batch)

    return step


_FUNCTIONS: Mapping[AtomicKind, str] = {
    AtomicKind.ADDF: "add",
    AtomicKind.ADDI: "add",
    AtomicKind.MULF: "multiply",
    AtomicKind.MULI: "multiply",
    AtomicKind.MAXIMUMF: "maximum",
    AtomicKind.MINIMUMF: "minimum",
    AtomicKind.MAXS: "maximum",
    AtomicKind.MINS: "minimum",
    AtomicKind.MAXU: "maximum",
    AtomicKind.MINU: "minimum",
    AtomicKind.ANDI: "and",
    AtomicKind.ORI: "or",
    AtomicKind.XORI: "xor",
}


def _assign(old: Array, new: Array) -> Array:
    return new


_OTHERS: Mapping[AtomicKind, Binary] = {AtomicKind.ASSIGN: _assign, AtomicKind.MAXNUMF: np.fmax, AtomicKind.MINNUMF: np.fmin}


def _combination(kind: AtomicKind, element: Attribute) -> Function:
    """What an atomic op makes of the element and its operand."""
    if kind in _OTHERS:
        return _OTHERS[kind]
    if kind in (AtomicKind.MAXU, AtomicKind.MINU):
        element = unsigned(element)
    if is_boolean(element) and kind in (AtomicKind.ADDI, AtomicKind.MULI):
        kind = AtomicKind.XORI if kind is AtomicKind.ADDI else AtomicKind.ANDI
    return scalars.function_of(Meaning(_FUNCTIONS[kind], (element, element), element))


@steps_of(AtomicRMWOp)
def atomic_rmw(op: AtomicRMWOp, code: Code) -> Step:
    """Combines elements with values, lane after lane where lanes have one element."""
    combine = _combination(AtomicKind(int_of(op.kind)), op.value.type)
    value, target, indices, result = code.slot(op.value), code.slot(op.memref), code.slots(op.indices), code.slot(op.result)

    def step(batch: Batch, mask: Mask) -> None:
        given: Array = batch.spread(batch.values[value])
        batch.expect_defined(op, "a value", value, mask)
        buffer, places = batch.values[target], [batch.values[slot] for slot in indices]
        lanes, at, old = _begin(op, batch, mask, buffer, places)
        for turn in _turns(at):
            old[lanes[turn]] = before = buffer.data[at[turn]]
            buffer.data[at[turn]] = combine(before, given[lanes[turn]])
        batch.values[result], batch.undefined[result] = old, None

    return step


@steps_of(GenericAtomicRMWOp)
def generic_atomic_rmw(op: GenericAtomicRMWOp, code: Code) -> Step:
    """Runs the region on elements, lane after lane where lanes have one element."""
    body, target, indices, result = code.region(op.body), code.slot(op.memref), code.slots(op.indices), code.slot(op.result)

    def step(batch: Batch, mask: Mask) -> None:
        buffer, places = batch.values[target], [batch.values[slot] for slot in indices]
        lanes, at, old = _begin(op, batch, mask, buffer, places)
        for turn in _turns(at):
            old[lanes[turn]] = buffer.data[at[turn]]
            batch.values[body.arguments[0]] = old
            part = np.zeros(batch.lanes, np.bool_)
            part[lanes[turn]] = True
            body.run(batch, part)
            buffer.data[at[turn]] = batch.spread(batch.values[body.returned[0]])[lanes[turn]]
        batch.values[result], batch.undefined[result] = old, None

    return step


def _begin(op: AtomicRMWOp | GenericAtomicRMWOp, batch: Batch, mask: Mask, buffer: Buffer, indices: Sequence[Array]) -> tuple[Array, Array, Array]:
    """The lanes that take part, the places of their elements, which were checked, and an array for what the elements were."""
    lanes = batch.active(mask)
    at = buffer.place(op, batch, lanes, indices)
    buffer.expect_written(op, batch, lanes, at)
    buffer.note_write(op, batch, lanes, at, indices, atomic=True)
    return lanes, at, np.zeros(batch.lanes, buffer.data.dtype)


def _turns(at: Array) -> Iterator[Array]:
    """The positions in ``at`` in turns in which no place is there twice, those of each place in their order."""
    order = np.argsort(at, kind="stable")
    places = at[order]
    starts = np.flatnonzero(np.r_[True, places[1:] != places[:-1]]) if at.size else np.zeros(0, np.int64)
    rank = np.arange(at.size) - np.repeat(starts, np.diff(np.r_[starts, at.size]))
    for turn in range(int(rank.max()) + 1 if at.size else 0):
        yield order[rank == turn]
