"""Matrices of warps, and copies that arrive later.

A fragment is one value of a lane: an array of a structured type with one field ``v``, so that branches and loops treat it as any other value. Products are
exact, added up in f64 and rounded once; a device adds them up in its own order.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np
from xdsl.dialects import vector
from xdsl.dialects.builtin import VectorType
from xdsl.ir import Operation

from wengert.dialects.gpu.matrices import (
    WARP,
    DeviceAsyncCopyOp,
    DeviceAsyncCreateGroupOp,
    DeviceAsyncWaitOp,
    LdMatrixOp,
    MmaSyncOp,
)
from wengert.ir.attributes import ints
from wengert.ir.tensor_types import f32
from wengert.runtime.interpreter.gpu.batch import Array, Batch, KernelFaultError, Mask
from wengert.runtime.interpreter.gpu.code import Code, Step, steps_of
from wengert.runtime.interpreter.gpu.collectives import expect_subgroups
from wengert.runtime.interpreter.gpu.memory import Buffer
from wengert.runtime.interpreter.gpu.scalars import fragment_type

_LANE = np.arange(WARP)
_QUAD, _IN_QUAD = _LANE // 4, _LANE % 4


def _fragments(values: Array, type: VectorType[Any]) -> Array:
    """Elements of lanes, ``[lanes, registers, each]``, as fragments."""
    made = np.empty(len(values), fragment_type(type))
    made["v"] = values
    return made


def _expect_warps(op: Operation, batch: Batch, mask: Mask) -> None:
    expect_subgroups(op, batch, mask)
    if batch.subgroup != WARP or batch.threads % WARP:
        raise KernelFaultError(op, f"needs work-groups of whole warps of {WARP} threads")


@steps_of(vector.ExtractOp)
def extract(op: vector.ExtractOp, code: Code) -> Step:
    """An element of a fragment."""
    source, result, at = code.slot(op.vector), code.slot(op.result), ints(op.static_position)

    def step(batch: Batch, mask: Mask) -> None:
        batch.values[result] = batch.values[source]["v"][(slice(None), *at)]
        batch.undefined[result] = batch.undefined[source]

    return step


@steps_of(LdMatrixOp)
def load_matrices(op: LdMatrixOp, code: Code) -> Step:
    """Rows of matrices, each read by the thread that names its place, in the lanes that have their elements."""
    source, indices, result = code.slot(op.memref), code.slots(op.indices), code.slot(op.result)
    type = cast("VectorType[Any]", op.result.type)
    tiles, each = type.get_shape()
    length = 4 * each
    rows, columns = (_QUAD[:, None], each * _IN_QUAD[:, None] + np.arange(each))
    if op.turned:
        rows, columns = columns, rows

    def step(batch: Batch, mask: Mask) -> None:
        _expect_warps(op, batch, mask)
        buffer: Buffer = batch.values[source]
        names = batch.thread % WARP < 8 * tiles
        reading = names if mask is None else names & mask
        *outer, at = [batch.spread(batch.values[slot]) for slot in indices]
        words = np.stack([buffer.load(op, batch, reading, [*outer, at + k]) for k in range(length)], axis=-1)
        matrices = words.reshape(-1, WARP, length)[:, : 8 * tiles].reshape(-1, tiles, 8, length)
        parts = matrices[:, :, rows, columns]  # [warps, tiles, lanes, each]
        batch.values[result] = _fragments(parts.transpose(0, 2, 1, 3).reshape(-1, tiles, each), type)
        batch.undefined[result] = None

    return step


@steps_of(MmaSyncOp)
def product(op: MmaSyncOp, code: Code) -> Step:
    """The fragments of A B + C."""
    operands, result = code.slots(op.operands), code.slot(op.result)
    rows, columns, depth = op.extents
    each = 2 if depth == 16 else 1
    register, j = np.meshgrid(np.arange(4), np.arange(each), indexing="ij")
    lane = _LANE[:, None, None]
    left_at = (lane // 4 + 8 * (register % 2), each * (lane % 4) + j + 4 * each * (register // 2))
    right_at = (each * (lane % 4) + j[:2] + 4 * each * register[:2], np.broadcast_to(lane // 4, (WARP, 2, each)))
    r, c = np.meshgrid(np.arange(2), np.arange(2), indexing="ij")
    sum_at = (lane // 4 + 8 * r, 2 * (lane % 4) + c)
    type = cast("VectorType[Any]", op.result.type)
    of_factor = _tf32 if op.element == f32 else _exact

    def step(batch: Batch, mask: Mask) -> None:
        _expect_warps(op, batch, mask)
        for what, slot in zip(("a left factor", "a right factor", "a sum"), operands, strict=True):
            batch.expect_defined(op, what, slot, mask)
        warps = batch.lanes // WARP
        a, b, sums = (batch.spread(batch.values[slot])["v"].reshape(warps, WARP, *batch.values[slot]["v"].shape[1:]) for slot in operands)
        left, right = np.empty((warps, rows, depth)), np.empty((warps, depth, columns))
        left[:, left_at[0], left_at[1]] = of_factor(a)
        right[:, right_at[0], right_at[1]] = of_factor(b)
        with np.errstate(all="ignore"):
            total = (left @ right)[:, sum_at[0], sum_at[1]] + sums
            batch.values[result] = _fragments(total.astype(np.float32).reshape(-1, 2, 2), type)
        batch.undefined[result] = None
        if batch.counter is not None:
            batch.counter.flops += 2 * rows * columns * depth * (batch.count(mask) // WARP)

    return step


def _exact(values: Array) -> Array:
    return values.astype(np.float64)


def _tf32(values: Array) -> Array:
    """What counts of f32: the first ten bits of the mantissa."""
    return (values.view(np.uint32) & np.uint32(0xFFFFE000)).view(np.float32).astype(np.float64)


# -- copies that arrive later


@steps_of(DeviceAsyncCopyOp)
def copy(op: DeviceAsyncCopyOp, code: Code) -> Step:
    """Elements are read now; until somebody waits, nobody may read them in workgroup memory."""
    source, target = code.slot(op.source), code.slot(op.target)
    places, into = code.slots(op.source_indices), code.slots(op.target_indices)
    some = code.slot(op.some) if op.some is not None else None

    def step(batch: Batch, mask: Mask) -> None:
        given: Buffer = batch.values[source]
        taken: Buffer = batch.values[target]
        lanes = batch.active(mask)
        if not lanes.size:
            return
        count = batch.spread(batch.values[some]) if some is not None else np.full(batch.lanes, op.count)
        *from_outer, first = [batch.spread(batch.values[slot]) for slot in places]
        *to_outer, start = [batch.spread(batch.values[slot]) for slot in into]
        for k in range(op.count):
            reading = k < count if mask is None else (k < count) & mask
            value = given.load(op, batch, reading, [*from_outer, first + k])
            indices = [*to_outer, start + k]
            at = taken.place(op, batch, lanes, indices)
            taken.note_write(op, batch, lanes, at, indices)
            taken.set_written(at, written=False)
            batch.copies.append(_arrival(taken, at, value[lanes]))

    return step


def _arrival(buffer: Buffer, at: Array, value: Array) -> Callable[[], None]:
    def arrive() -> None:
        buffer.data[at] = value
        buffer.set_written(at, written=True)

    return arrive


@steps_of(DeviceAsyncCreateGroupOp)
def create_group(op: DeviceAsyncCreateGroupOp, code: Code) -> Step:
    """What was begun becomes one group."""

    def step(batch: Batch, mask: Mask) -> None:
        _expect_all(op, mask)
        batch.copy_groups.append(batch.copies)
        batch.copies = []

    return step


@steps_of(DeviceAsyncWaitOp)
def wait(op: DeviceAsyncWaitOp, code: Code) -> Step:
    """Groups arrive, but for the last ones."""

    def step(batch: Batch, mask: Mask) -> None:
        _expect_all(op, mask)
        while len(batch.copy_groups) > op.left:
            for arrive in batch.copy_groups.pop(0):
                arrive()

    return step


def _expect_all(op: Operation, mask: Mask) -> None:
    if mask is not None and not mask.all():
        raise KernelFaultError(op, "is run here only where all threads come to it")
