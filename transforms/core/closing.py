"""Closing regions: what a region uses from outside becomes an argument, or is copied in where that costs nothing."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Operation, Region, SSAValue

from wengert.dialects import stablehlo
from wengert.dialects.builder import OpBuilder
from wengert.ir.traversal import all_ops

FREE_OPS = (stablehlo.ConstantOp, stablehlo.IotaOp)
"""Ops without operands, which are made again inside a region rather than passed into it."""


def free_values(regions: Sequence[Region]) -> list[SSAValue]:
    """The values that ops in the regions use and that are defined outside of them, in order of first use."""
    found: dict[SSAValue, None] = {}
    inside: set[SSAValue] = set()
    for region in regions:
        for block in region.blocks:
            inside.update(block.args)
        for op in region.walk():
            inside.update(op.results)
            for nested in op.regions:
                for block in nested.blocks:
                    inside.update(block.args)
    for region in regions:
        for op in region.walk():
            for operand in op.operands:
                if operand not in inside:
                    found[operand] = None
    return list(found)


def close_regions(regions: Sequence[Region]) -> list[SSAValue]:
    """Makes the regions closed, in place: every one gets an argument, in front of its own, for each captured value that
    is returned; ops without operands are copied in instead."""
    captured: list[SSAValue] = []
    for value in free_values(regions):
        if isinstance(value.owner, FREE_OPS):
            _copy_in(value.owner, regions)
        else:
            captured.append(value)
    for region in regions:
        block = region.block
        for position, value in enumerate(captured):
            argument = block.insert_arg(value.type, position)
            argument.name_hint = value.name_hint
            replace_inside(region, value, argument)
    return captured


def _copy_in(op: Operation, regions: Sequence[Region]) -> None:
    for region in regions:
        if not any(operand is op.results[0] for inner in region.walk() for operand in inner.operands):
            continue
        copy = op.clone()
        block = region.block
        if block.first_op is None:
            block.add_op(copy)
        else:
            block.insert_op_before(copy, block.first_op)
        replace_inside(region, op.results[0], copy.results[0])


def replace_inside(region: Region, old: SSAValue, new: SSAValue) -> None:
    """Replaces the uses of a value by ops in a region, nested regions included."""
    for use in list(old.uses):
        if _is_inside(use.operation, region):
            use.operation.operands[use.index] = new


def _is_inside(op: Operation, region: Region) -> bool:
    parent = op.parent_region()
    while parent is not None:
        if parent is region:
            return True
        owner = parent.parent
        parent = owner.parent_region() if owner is not None else None
    return False


def dependencies(values: Sequence[SSAValue]) -> set[SSAValue]:
    """The values and everything that they depend on, up to arguments; what a region inside uses counts."""
    found: set[SSAValue] = set()
    pending = list(values)
    while pending:
        value = pending.pop()
        if value in found:
            continue
        found.add(value)
        owner = value.owner
        if isinstance(owner, Operation):
            found.update(owner.results)
            for inner in all_ops(owner) if owner.regions else (owner,):
                pending.extend(inner.operands)
    return found


def copy_ops(b: OpBuilder, ops: Sequence[Operation], env: dict[SSAValue, SSAValue]) -> None:
    """Copies ops through a builder, renaming by ``env``, which receives their results."""
    for op in ops:
        if op.regions:
            copy = b.insert(op.clone(value_mapper=dict(env)))
            env.update(zip(op.results, copy.results, strict=True))
        else:
            env.update(zip(op.results, b.copy(op, [env.get(o, o) for o in op.operands]), strict=True))
