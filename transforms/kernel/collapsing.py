"""Collapses the loops of nests, so that few and long ones remain; schedules name these.

An elementwise nest over [8, 128] becomes one loop over 1024, whatever shape its results have; a loop that is only used divided by a constant becomes
two. Positions alone decide how (:class:`wengert.transforms.analysis.loops.Loops`), for no target in particular. A nest that has a schedule is
left as it is, since the schedule names its loops.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block
from xdsl.passes import ModulePass

from wengert.dialects.kernel import NestOp, StripMineOp
from wengert.ir.attributes import int_array
from wengert.ir.pipeline.actions import may_rewrite
from wengert.ir.traversal import ops_in
from wengert.transforms.analysis.loops import Loops
from wengert.transforms.kernel.blocks import blocks_inside, kernel_blocks
from wengert.transforms.kernel.remap import move


@dataclass(frozen=True)
class CollapseLoopsPass(ModulePass):
    """Splits, drops and merges the loops of nests so that few and long ones remain."""

    name = "collapse-loops"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for block in kernel_blocks(op):
            collapse_loops(block)


def collapse_loops(block: Block) -> None:
    """Collapses the loops of every nest of a block, in place."""
    for op in ops_in(block):
        if isinstance(op, StripMineOp):
            for inner in blocks_inside(op):
                collapse_loops(inner)
        elif isinstance(op, NestOp) and op.schedule is None and op.gpu_schedule is None:
            loops = Loops.of(op)
            loops.collapse()
            changed = tuple(loops.extents) != op.extents or any(before != after for before, after in loops.moved)
            if changed and may_rewrite("collapse-loops", op):
                op.properties["bounds"] = int_array(loops.extents)
                for inner in ops_in(op.body.block):
                    move(inner, loops.__getitem__)
