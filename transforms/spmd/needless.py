"""Removes collectives whose result every device can compute by itself, because what goes into them is the same on all devices that meet.

Before and after, with %x uniform in groups of 4::

    %0 = core.all_reduce add %x, groups = [[0, 1, 2, 3]]        %0 = stablehlo.multiply %x, %four
    %1 = core.all_reduce max %x, ...                            %1 = %x
    %2 = core.reduce_scatter add %x, ...                        %2 = stablehlo.multiply (the device's share of %x), %four
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from wengert.dialects import core
from wengert.dialects import stablehlo as hlo
from wengert.dialects.builder import OpBuilder
from wengert.dialects.core import Kind
from wengert.dialects.stablehlo.process_groups import Grid, declared_grid, is_collective, known_groups
from wengert.ir.attributes import int_of
from wengert.ir.tensor_types import i64, shape
from wengert.ir.traversal import all_ops
from wengert.transforms.ad.building_blocks.device_groups import own_place
from wengert.transforms.core.recognisers.communication import module_of
from wengert.transforms.rewriter import Rewriter
from wengert.transforms.spmd.uniformity import Known, Uniformity, analysed


@dataclass(frozen=True)
class NeedlessCollectivesPass(ModulePass):
    """Computes on each device what a collective of uniform values gives. A module that does not say how many devices it is for stays as it is."""

    name = "needless-collectives"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        drop_all_needless(op)


def drop_all_needless(module: ModuleOp) -> None:
    """Removes the needless collectives of a module's functions, in place, if it says that it is for several devices."""
    grid = declared_grid(module)
    if grid is None or grid.size == 1 or not any(is_collective(inner) for inner in all_ops(module)):
        return
    for function in module.ops:
        if isinstance(function, FuncOp):
            drop_needless(function, grid)


def drop_needless(function: FuncOp, grid: Grid, arguments: Sequence[Known] | None = None) -> int:
    """Removes the needless collectives of a core-level function, in place; returns how many."""
    uniformity, rewriter, dropped = analysed(function, grid, arguments), Rewriter("needless-collectives"), 0
    for op in [op for op in all_ops(function) if is_collective(op) and op in uniformity.conditions]:
        rewriter.move_to(op)
        value = _alone(rewriter, op, uniformity)
        if value is not None:
            rewriter.replace(op, [value])
            dropped += 1
    return dropped


def _alone(b: OpBuilder, op: Operation, uniformity: Uniformity) -> SSAValue | None:
    """What a collective gives, computed on the device; None where others are needed."""
    x, groups = op.operands[0], uniformity.groups(op)
    known, members = uniformity.known.get(x), {device for group in groups for device in group}
    if known is None or not uniformity.agrees(known, groups):
        return None
    sizes, everybody = {len(group) for group in groups}, len(members) == uniformity.grid.size
    if isinstance(op, core.AllReduceOp) and len(sizes) == 1:
        if op.kind.data is Kind.add:
            return b.multiply(x, b.full_like(x, sizes.pop()))
        return x if op.kind.data is not Kind.mul else None
    if isinstance(op, core.ReduceScatterOp) and op.kind.data is not Kind.mul and known_groups(op, module_of(op)) is not None:
        axis, extents = int_of(op.scatter_dimension), shape(op.result)
        start = b.multiply(own_place(b, op), b.scalar(extents[axis], i64))
        share = b.dynamic_slice(x, [start if d == axis else b.scalar(0, i64) for d in range(len(extents))], extents)
        return b.multiply(share, b.full_like(share, sizes.pop())) if op.kind.data is Kind.add else share
    if isinstance(op, hlo.AllGatherOp):
        axis = int_of(op.all_gather_dim)
        return b.concatenate([x] * (shape(op.results[0])[axis] // shape(x)[axis]), axis)
    if isinstance(op, hlo.CollectiveBroadcastOp) and everybody:
        return x
    return None
