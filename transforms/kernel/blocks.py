"""The blocks that hold kernels: those of functions, and of the loops and branches in them."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation

from wengert.dialects import core
from wengert.ir.traversal import ops_in

CONTROL = (core.ForOp, core.WhileOp, core.CaseOp)
"""Ops whose regions are blocks of kernels, as functions are."""


def kernel_blocks(module: ModuleOp) -> list[Block]:
    """The blocks of all functions and of the loops and branches inside, each before those inside it."""
    blocks: list[Block] = []
    for function in ops_in(module.body.block):
        if isinstance(function, FuncOp):
            _collect(function, blocks)
    return blocks


def blocks_inside(op: Operation) -> list[Block]:
    """The blocks of an op's regions and of the loops and branches inside, each before those inside it."""
    blocks: list[Block] = []
    _collect(op, blocks)
    return blocks


def _collect(op: Operation, blocks: list[Block]) -> None:
    for region in op.regions:
        if region.blocks:
            blocks.append(region.block)
            for inner in ops_in(region.block):
                if inner.regions and isinstance(inner, CONTROL):
                    _collect(inner, blocks)
