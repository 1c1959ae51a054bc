"""The pass ``merge-launches``: small kernels that follow one another become one, with barriers between them.

A launch takes as long as some thousand instructions, and most kernels of small programs have fewer. Where each is one group, the threads of one group can run
them all: a barrier makes what one wrote visible to all threads in the next. A kernel of fewer threads than the largest is done by the first threads.

Before and after::

    gpu.launch blocks(...) in (1, 1, 1) threads(...) in (64, 1, 1) { A }
    gpu.launch blocks(...) in (1, 1, 1) threads(...) in (32, 1, 1) { B }

    gpu.launch blocks(...) in (1, 1, 1) threads(%t, ...) in (64, 1, 1) {
      A
      gpu.barrier
      scf.if %t < 32 { B }
    }

Buffers of a kernel that are not the same value have no bytes in common that it writes. So kernels stay apart where one writes a part of what another has under
another type or size.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeGuard

from xdsl.context import Context
from xdsl.dialects import arith, memref, scf
from xdsl.dialects.builtin import IntegerAttr, MemRefType, ModuleOp, StringAttr
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass

from wengert.dialects.gpu import BarrierOp, LaunchOp, TerminatorOp, block_size, grid_size
from wengert.dialects.gpu.atomics import AtomicRMWOp, GenericAtomicRMWOp
from wengert.dialects.kernel.buffers import ViewOp, location
from wengert.dialects.kernel.memory import byte_size
from wengert.ir.attributes import int_attr
from wengert.ir.construction import append, copy_op, erase, insert_before
from wengert.ir.tensor_types import i1
from wengert.ir.traversal import operands_of, ops_in
from wengert.ir.traversal import result_of as result
from wengert.transforms.codegen.gpu.code import INDEX
from wengert.transforms.codegen.gpu.kernels_to_gpu import POSITIONS

MOST_OPS = 1500
"""A kernel of more ops takes long to compile."""
MOST_WORKGROUP_BYTES = 16 << 10
"""Workgroup memory of one kernel is not used again by the next."""
_ULT = int_attr(6)


@dataclass(frozen=True)
class MergeLaunchesPass(ModulePass):
    """Makes one kernel of small ones that follow one another, with barriers between them."""

    name = "merge-launches"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        _merge_inside(op)


def _merge_inside(root: Operation) -> None:
    for region in root.regions:
        for block in region.blocks:
            _merge_in(block)


def _merge_in(block: Block) -> None:
    """Merges the launches of a block, and those in the loops and branches in it."""
    run: list[LaunchOp] = []
    for op in ops_in(block):
        if isinstance(op, LaunchOp):
            if not _fits(run, op):
                _merge(run)
                run = []
            if _is_small(op):
                run.append(op)
        elif not isinstance(op, ViewOp | arith.ConstantOp):
            _merge(run)
            run = []
            _merge_inside(op)
    _merge(run)


def _is_small(op: LaunchOp) -> bool:
    """Whether a launch is one group, whose kernel asks for no sizes."""
    size = block_size(op)
    return (
        grid_size(op) == (1, 1, 1)
        and size is not None
        and size[1:] == (1, 1)
        and not any(argument.first_use is not None for argument in op.body.blocks[0].args[6:12])
    )


def _threads(op: LaunchOp) -> int:
    """The threads of a launch whose size is known."""
    size = block_size(op)
    assert size is not None
    return size[0]


def _fits(run: Sequence[LaunchOp], op: LaunchOp) -> bool:
    """Whether a launch may join those before it."""
    if not run or not _is_small(op):
        return False
    launches = [*run, op]
    threads = max(_threads(launch) for launch in launches)
    if any(_threads(launch) < threads and _waits(launch) for launch in launches):
        return False
    if sum(_count(launch) for launch in launches) > MOST_OPS or sum(_workgroup_bytes(launch) for launch in launches) > MOST_WORKGROUP_BYTES:
        return False
    buffers = {value: written for launch in run for value, written in _buffers(launch).items()}
    return not any(_conflict(one, other) and (written or wrote) for one, written in _buffers(op).items() for other, wrote in buffers.items())


def _waits(op: LaunchOp) -> bool:
    return any(isinstance(inner, BarrierOp) for inner in op.walk())


def _count(op: LaunchOp) -> int:
    return sum(1 for _ in op.walk())


def _workgroup_bytes(op: LaunchOp) -> int:
    return sum(byte_size(buffer) for buffer in op.workgroup_buffers)


def _buffers(op: LaunchOp) -> dict[SSAValue, bool]:
    """The buffers that a kernel is given, and whether it writes each."""
    own = set(op.workgroup_buffers)
    found: dict[SSAValue, bool] = {}
    for inner in op.walk():
        if inner is op:
            continue
        for value in operands_of(inner):
            if _is_memref(value.type) and value not in own:
                written = isinstance(inner, memref.StoreOp | AtomicRMWOp | GenericAtomicRMWOp)
                found[value] = found.get(value, False) or written
    return found


def _is_memref(type: Attribute) -> TypeGuard[MemRefType[Any]]:
    """Whether a value is a buffer."""
    return isinstance(type, MemRefType)


def _conflict(one: SSAValue, other: SSAValue) -> bool:
    """Whether two buffers have bytes in common, without being the same elements."""
    (base, at), (other_base, other_at) = location(one), location(other)
    if base is not other_base or (at == other_at and one.type == other.type):
        return False
    return max(at, other_at) < min(at + byte_size(one), other_at + byte_size(other))


def _merge(run: Sequence[LaunchOp]) -> None:
    """Puts one launch in the place of several, where the last of them stands."""
    if len(run) < 2:
        return
    largest = max(run, key=_threads)
    threads = _threads(largest)
    last = run[-1]
    made = LaunchOp.of([largest.grid_x] * 3, [largest.block_x, largest.grid_x, largest.grid_x], [buffer.type for op in run for buffer in op.workgroup_buffers])
    made.location = last.location
    wide = any(op.attributes.get(POSITIONS) != StringAttr("i32") for op in run)
    made.attributes[POSITIONS] = StringAttr("i64" if wide else "i32")
    workgroup = iter(made.workgroup_buffers)
    same: dict[tuple[SSAValue, int, Attribute], SSAValue] = {}
    for number, op in enumerate(run):
        if number:
            append(made.body.blocks[0], BarrierOp.create())
        values: dict[SSAValue, SSAValue] = dict(zip(op.body.blocks[0].args[:6], made.body.blocks[0].args[:6], strict=True))
        values.update({buffer: next(workgroup) for buffer in op.workgroup_buffers})
        values.update({value: same.setdefault((*location(value), value.type), value) for value in _buffers(op)})
        _append_body(made, op, values, _threads(op) < threads)
    append(made.body.blocks[0], TerminatorOp.create())
    insert_before(last, made)
    for op in run:
        erase(op)


def _append_body(made: LaunchOp, op: LaunchOp, values: dict[SSAValue, SSAValue], some: bool) -> None:
    """Copies the body of a launch, for the first threads if not all have a part in it."""
    block = made.body.blocks[0]
    into = Block() if some else block
    for inner in ops_in(op.body.blocks[0])[:-1]:
        append(into, copy_op(inner, values))
    if some:
        append(into, scf.YieldOp.create())
        count = arith.ConstantOp.create(result_types=[INDEX], properties={"value": IntegerAttr(_threads(op), INDEX)})
        append(block, count)
        below = arith.CmpiOp.create(operands=[made.thread_ids[0], result(count)], result_types=[i1], properties={"predicate": _ULT})
        append(block, below)
        append(block, scf.IfOp.create(operands=[result(below)], regions=[Region(into), Region()]))
