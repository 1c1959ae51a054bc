"""Closing regions: what a region uses from outside becomes an argument, or is copied in where that costs nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.ir import Block, Operation, Region, SSAValue

from wengert.dialects import stablehlo
from wengert.dialects.builder import OpBuilder
from wengert.ir.construction import copy_op, copy_region, detach, rename_operands, replace_uses
from wengert.ir.pipeline import changes
from wengert.ir.traversal import operands_of, ops_in
from wengert.transforms.optimize.flows import BRANCHES, CLOSED, LOOPS

FREE_OPS = (stablehlo.ConstantOp, stablehlo.IotaOp)
"""Ops without operands, which are made again inside a region rather than passed into it."""


def open_ops(region: Region) -> list[Operation]:
    """The ops in a region that can use values from outside of it: those inside of closed ops cannot."""
    ops: list[Operation] = []
    for block in region.blocks:
        for op in ops_in(block):
            ops.append(op)
            if op.regions and type(op) not in CLOSED:
                for nested in op.regions:
                    ops += open_ops(nested)
    return ops


def free_values(regions: Sequence[Region]) -> list[SSAValue]:
    """The values that ops in the regions use and that are defined outside of them, in order of first use."""
    captured: dict[SSAValue, None] = {}
    inside: set[SSAValue] = set()
    for region in regions:
        for block in region.blocks:
            inside.update(block.args)
        for op in open_ops(region):
            inside.update(op.results)
            for nested in op.regions:
                for block in nested.blocks:
                    inside.update(block.args)
    for region in regions:
        for op in open_ops(region):
            for operand in operands_of(op):
                if operand not in inside:
                    captured[operand] = None
    return list(captured)


def close_regions(regions: Sequence[Region]) -> list[SSAValue]:
    """Makes the regions closed, in place: every one gets an argument, in front of its own, for each captured value that
    is returned; ops without operands are copied in instead."""
    free = free_values(regions)
    captured = [value for value in free if not isinstance(value.owner, FREE_OPS)]
    for region in regions:
        block = region.block
        inside: dict[SSAValue, SSAValue] = {}
        first = 0
        used = {operand for op in open_ops(region) for operand in operands_of(op)}
        for value in free:
            if isinstance(value.owner, FREE_OPS):
                if value in used:
                    inside[value] = _copied_in(value.owner, block)
            else:
                inside[value] = argument = block.insert_arg(value.type, first)
                first += 1
                argument.name_hint = value.name_hint
        _replace_inside(region, inside)
    return captured


def _copied_in(op: Operation, block: Block) -> SSAValue:
    """The result of a copy of an op at the beginning of a block."""
    copy = op.clone()
    if block.first_op is None:
        block.add_op(copy)
    else:
        block.insert_op_before(copy, block.first_op)
    return copy.results[0]


def _replace_inside(region: Region, inside: Mapping[SSAValue, SSAValue]) -> None:
    """Replaces the uses of values by ops in a region, nested regions included, in one walk: regions and values may be many."""
    for op in open_ops(region) if inside else ():
        for index, operand in enumerate(operands_of(op)):
            if operand in inside:
                op.operands[index] = inside[operand]


def dependencies(values: Sequence[SSAValue]) -> set[SSAValue]:
    """The values and everything that they depend on, up to arguments; what a region inside uses counts."""
    reached: set[SSAValue] = set()
    pending = list(values)
    while pending:
        value = pending.pop()
        if value in reached:
            continue
        reached.add(value)
        owner = value.owner
        if isinstance(owner, Operation):
            reached.update(owner.results)
            pending.extend(operands_of(owner))
            for region in owner.regions if type(owner) not in CLOSED else ():
                for inner in open_ops(region):
                    pending.extend(operands_of(inner))
    return reached


def copy_ops(b: OpBuilder, ops: Sequence[Operation], env: dict[SSAValue, SSAValue]) -> None:
    """Copies ops through a builder, renaming by ``env``, which receives their results."""
    for op in ops:
        if op.regions:
            b.insert(copy_op(op, env))
        else:
            env.update(zip(op.results, b.copy(op, [env.get(o, o) for o in op.operands]), strict=True))


def take_regions(op: Operation) -> list[Region]:
    """The regions of an op that is going to be replaced, in no op; copies of them while changes are recorded, since the record says what was in the op."""
    if changes.RECORDER is not None:
        return [copy_region(region) for region in op.regions]
    return [op.detach_region(region) for region in list(op.regions)]


def take_ops(b: OpBuilder, ops: Sequence[Operation], env: dict[SSAValue, SSAValue]) -> None:
    """Does what :func:`copy_ops` does, with ops that are not needed where they are: control flow is moved, as a copy of what is in it would be made again at
    every level at which it is nested. The others lose their operands.
    """
    captures = False
    for op in ops:
        if type(op) in LOOPS or type(op) in BRANCHES:
            captures |= type(op) not in CLOSED
            detach(op)
            rename_operands(op, env)
            b.insert(op)
            env.update(zip(op.results, op.results, strict=True))
        else:
            copy_ops(b, [op], env)
    for op in ops:
        if op.parent is not b.block:
            op.drop_all_references()
    for old, new in env.items() if captures else ():
        if old is not new and old.first_use is not None:  # in a region that was moved
            name = new.name_hint
            replace_uses(old, new)
            new.name_hint = name
