"""Finds the values of a block that go through memory once its ops are fused into kernels, and those that are computed in every kernel that uses them."""

from __future__ import annotations

from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from wengert.dialects import stablehlo as hlo
from wengert.ir.traversal import operands_of
from wengert.transforms.fuse.fusion import plan
from wengert.transforms.fuse.plan import Copy
from wengert.transforms.fuse.roles import Role, role

_IN_KERNELS = (Role.VIEW, Role.SOURCE)


def in_memory(block: Block) -> set[SSAValue]:
    """The values of a block, its arguments included, that fusion keeps in memory: results of reductions, products, loops and of all that is no scalar
    function; those of scalar functions that other kernels read and that are not cheap; views only where something needs them written out."""
    fusion = plan(block)
    stored: set[SSAValue] = {*block.args, *fusion.stored}
    stored.update(member.value for group in fusion.groups for member in group.members if isinstance(member, Copy))
    for op in block.ops:
        if role(op) not in (*_IN_KERNELS, Role.SCALAR, Role.BARRIER):
            stored.update(op.results)
    return stored


def origins(value: SSAValue, stored: set[SSAValue]) -> list[SSAValue]:
    """The values in memory that kernels read to compute a value; the value itself if it is in memory. Constants are none."""
    reached: dict[SSAValue, None] = {}
    seen: set[SSAValue] = set()
    pending = [value]
    while pending:
        current = pending.pop()
        if current in seen:
            continue
        seen.add(current)
        if current in stored or isinstance(current, BlockArgument):
            reached[current] = None
        elif isinstance(current.owner, Operation) and not isinstance(current.owner, hlo.ConstantOp):
            pending.extend(reversed(operands_of(current.owner)))
    return list(reached)
