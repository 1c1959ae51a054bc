"""Runs ops of several threads of a group, and tells each thread its place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from xdsl.ir import Operation

from wengert.dialects.gpu import BarrierOp, ShuffleOp, SubgroupReduceOp, ids
from wengert.dialects.gpu.attributes import Dimension, Reduction, ShuffleMode
from wengert.dialects.gpu.scalars import Meaning, unsigned
from wengert.ir.attributes import int_of
from wengert.ir.tensor_types import is_boolean
from wengert.runtime.interpreter.gpu import scalars
from wengert.runtime.interpreter.gpu.batch import Array, Batch, KernelFaultError, Mask
from wengert.runtime.interpreter.gpu.code import Code, Step, steps_of

_AXES = {Dimension.X: 0, Dimension.Y: 1, Dimension.Z: 2}
_ALONG: dict[type[Operation], Callable[[Batch, int], Any]] = {
    ids.ThreadIdOp: Batch.thread_id,
    ids.BlockIdOp: Batch.block_id,
    ids.BlockDimOp: lambda batch, axis: np.array([batch.block[axis]]),
    ids.GridDimOp: lambda batch, axis: np.array([batch.grid[axis]]),
    ids.GlobalIdOp: lambda batch, axis: batch.block_id(axis) * batch.block[axis] + batch.thread_id(axis),
}
_NUMBERS: dict[type[Operation], Callable[[Batch], Any]] = {
    ids.LaneIdOp: Batch.lane_id,
    ids.SubgroupIdOp: lambda batch: batch.thread // batch.subgroup,
    ids.NumSubgroupsOp: lambda batch: np.array([-(-batch.threads // batch.subgroup)]),
    ids.SubgroupSizeOp: lambda batch: np.array([batch.subgroup]),
}


@steps_of(*_ALONG)
def along(op: Any, code: Code) -> Step:
    """The place of a thread along an axis."""
    number, axis, slot = _ALONG[type(op)], _AXES[op.dimension.data], code.slot(op.result)

    def step(batch: Batch, mask: Mask) -> None:
        batch.values[slot] = number(batch, axis)

    return step


@steps_of(*_NUMBERS)
def number(op: Any, code: Code) -> Step:
    """The number of a thread among subgroups."""
    number, slot = _NUMBERS[type(op)], code.slot(op.result)

    def step(batch: Batch, mask: Mask) -> None:
        batch.values[slot] = number(batch)

    return step


@steps_of(BarrierOp)
def barrier(op: BarrierOp, code: Code) -> Step:
    """Every thread of a work-group comes here, or none."""

    def step(batch: Batch, mask: Mask) -> None:
        if mask is None:
            batch.epochs += 1
            return
        here = mask.reshape(batch.groups, batch.threads)
        some, every = here.any(1), here.all(1)
        if (some != every).any():
            _refuse_divergence(op, batch, here, int(np.flatnonzero(some != every)[0]))
        batch.epochs[some] += 1

    return step


def _refuse_divergence(op: Operation, batch: Batch, here: Array, group: int) -> None:
    """Names a thread of the group that waits at a barrier, and those that do not come."""
    first = group * batch.threads
    missing = np.flatnonzero(~here[group])
    waiting = batch.lane_name(first + np.flatnonzero(here[group])[0])
    others = f" and {missing.size - 1} more of its group do" if missing.size > 1 else " does"
    raise KernelFaultError(op, f"is a divergent barrier: {waiting} waits there, but {batch.lane_name(first + missing[0])}{others} not come")


def expect_subgroups(op: Operation, batch: Batch, mask: Mask) -> None:
    """A fault if some threads of a subgroup take part and others do not."""
    if mask is None:
        return
    subgroup = batch.group * (-(-batch.threads // batch.subgroup)) + batch.thread // batch.subgroup
    here = np.bincount(subgroup, weights=mask)
    whole = np.bincount(subgroup)
    parted = (here > 0) & (here < whole)
    if parted.any():
        which = subgroup == int(np.flatnonzero(parted)[0])
        missing = int(np.flatnonzero(which & ~mask)[0])
        raise KernelFaultError(op, f"needs every thread of a subgroup, but {batch.lane_name(missing)} does not take part")


@steps_of(ShuffleOp)
def shuffle(op: ShuffleOp, code: Code) -> Step:
    """The value of another lane of the subgroup; where there is none, a value that is not defined."""
    value, offset, width = code.slots(op.operands)
    shuffled, valid = code.slots(op.results)
    mode = op.mode.data

    def step(batch: Batch, mask: Mask) -> None:
        expect_subgroups(op, batch, mask)
        for what, slot in (("an offset", offset), ("a width", width)):
            batch.expect_defined(op, what, slot, mask)
        lane, by, lanes = batch.lane_id(), batch.spread(batch.values[offset]).astype(np.int64), batch.spread(batch.values[width]).astype(np.int64)
        wrong = (lanes < 1) | (lanes > batch.subgroup)
        if (wrong if mask is None else wrong & mask).any():
            raise KernelFaultError(op, f"has a width that is not between 1 and {batch.subgroup}, the size of subgroups here")
        lanes = np.where(wrong, 1, lanes)
        start = lane // lanes * lanes
        source = {
            ShuffleMode.XOR: lambda: start + ((lane - start) ^ by),
            ShuffleMode.UP: lambda: lane - by,
            ShuffleMode.DOWN: lambda: lane + by,
            ShuffleMode.IDX: lambda: start + by,
        }[mode]()
        place = batch.all + source - lane
        there = (start <= source) & (source < start + lanes) & (batch.thread + source - lane < batch.threads)
        place = np.where(there, place, batch.all)
        known = batch.undefined[value]
        missing = ~there if known is None else ~there | batch.spread(known)[place]
        batch.values[shuffled] = batch.spread(batch.values[value])[place]
        batch.undefined[shuffled] = missing if missing.any() else None
        batch.values[valid], batch.undefined[valid] = there, None

    return step


_FUNCTIONS = {
    Reduction.ADD: "add",
    Reduction.MUL: "multiply",
    Reduction.AND: "and",
    Reduction.OR: "or",
    Reduction.XOR: "xor",
    Reduction.MINIMUMF: "minimum",
    Reduction.MAXIMUMF: "maximum",
    Reduction.MINSI: "minimum",
    Reduction.MAXSI: "maximum",
    Reduction.MINUI: "minimum",
    Reduction.MAXUI: "maximum",
}


def _combination(op: SubgroupReduceOp) -> Callable[..., Any]:
    kind, element = op.op.data, op.value.type
    if kind in (Reduction.MINNUMF, Reduction.MAXNUMF):
        return np.fmin if kind is Reduction.MINNUMF else np.fmax
    if is_boolean(element):
        kind = {Reduction.ADD: Reduction.XOR, Reduction.MUL: Reduction.AND}.get(kind, kind)
    taken = unsigned(element) if kind in (Reduction.MINUI, Reduction.MAXUI) else element
    return scalars.function_of(Meaning(_FUNCTIONS[kind], (taken, taken), taken))


@steps_of(SubgroupReduceOp)
def subgroup_reduce(op: SubgroupReduceOp, code: Code) -> Step:
    """The values of a subgroup's lanes, or of clusters of them, combined in the order of the lanes."""
    combine, value, result = _combination(op), code.slot(op.value), code.slot(op.result)
    size = int_of(op.cluster_size) if op.cluster_size is not None else 0
    stride = int_of(op.cluster_stride) if op.cluster_stride is not None else 1

    def step(batch: Batch, mask: Mask) -> None:
        expect_subgroups(op, batch, mask)
        batch.expect_defined(op, "a value", value, mask)
        given: Array = batch.spread(batch.values[value])
        lane, count = batch.lane_id(), size or batch.subgroup
        if count * stride > batch.subgroup:
            raise KernelFaultError(op, f"combines {count} lanes {stride} apart, but subgroups have {batch.subgroup} here")
        first = batch.all - lane + lane // (count * stride) * count * stride + lane % stride
        total, last = given[first], batch.all - batch.thread + batch.threads
        for number in range(1, count):
            place = first + number * stride
            there = place < last
            total = np.where(there, combine(total, given[np.where(there, place, 0)]), total)
        batch.values[result], batch.undefined[result] = total, None

    return step
