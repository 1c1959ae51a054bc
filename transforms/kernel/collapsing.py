"""Collapses the loops of nests: few and long ones remain, and every later pass speaks of these.

An elementwise nest over [8, 128] becomes one loop over 1024, whatever shape its results have; a loop that is only used divided by a constant becomes
two. How is decided by positions alone (:class:`wengert.transforms.kernel.loops.Loops`), for no target in particular.
"""

from __future__ import annotations

from typing import cast

from xdsl.dialects.builtin import ArrayAttr
from xdsl.ir import Block, Operation

from wengert.dialects.kernel import AtAttr, IndexOp, LoadOp, NestOp, StripsOp, WhereAttr, WithinOp, YieldOp, at_attr
from wengert.ir.attributes import int_array
from wengert.ir.traversal import ops_in
from wengert.transforms.kernel.loops import Loops


def collapse_loops(block: Block) -> None:
    """Collapses the loops of every nest of a block, in place; a nest that has a schedule is left as it is."""
    for op in ops_in(block):
        if isinstance(op, StripsOp):
            collapse_loops(op.body.block)
        elif isinstance(op, NestOp) and op.schedule is None:
            loops = Loops.of(op)
            loops.collapse()
            if tuple(loops.extents) != op.extents or any(before != after for before, after in loops.moved):
                set_loops(op, loops)


def set_loops(op: NestOp, loops: Loops) -> None:
    """Writes a nest in terms of these loops, in place."""
    op.properties["bounds"] = int_array(loops.extents)
    for inner in op.body.block.ops:
        move(inner, loops)


def move(op: Operation, loops: Loops) -> None:
    """Writes the positions of an op of a body in terms of other loops."""
    if isinstance(op, LoadOp | IndexOp):
        op.properties["at"] = at_attr(loops[op.at.data])
    if isinstance(op, LoadOp | WithinOp) and op.where is not None:
        op.properties["where"] = WhereAttr(tuple([(loops[at], low, high) for at, low, high in op.where.data]))
    if isinstance(op, YieldOp) and op.at is not None:
        op.properties["at"] = ArrayAttr([at_attr(loops[at.data]) for at in cast("ArrayAttr[AtAttr]", op.at)])
