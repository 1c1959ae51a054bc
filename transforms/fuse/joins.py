"""Chooses the concatenations that are read where they are used, instead of being written first.

A rotation of an array (``roll``, periodic stencils, rotary embeddings) is a concatenation of two slices of it. Its users
can as well read the slices: ``concatenate(a, b)[i] = a[i] if i < n else b[i - n]``, where the innermost loop is split so
that hardly any iteration has to choose (:mod:`wengert.transforms.schedule.versions`). That saves writing and reading the
whole array; it pays where operands are in memory anyway, and where the choice is the same for many iterations in a row.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import prod

from xdsl.ir import Operation, SSAValue

from wengert.dialects import stablehlo
from wengert.ir.attributes import int_of
from wengert.ir.tensor_types import shape, size
from wengert.transforms.fuse.roles import CHEAP, Role, cost
from wengert.transforms.fuse.views import repeats_rows

MOST_OPERANDS = 3
"""Every operand is one more choice for each element."""
SHORTEST_ROW = 64
"""Elements from the joined dimension inward: the innermost loop over shorter rows is not split."""
LARGEST_PART = 0.75
"""The least share that the largest operand has of a joined dimension that is not the innermost: its rows take the loop without guards."""

_ARRANGING = (stablehlo.SliceOp, stablehlo.ReshapeOp, stablehlo.BroadcastInDimOp, stablehlo.ReverseOp)


def is_read_in_place(op: stablehlo.ConcatenateOp, roles: Mapping[Operation, Role], resolve: Callable[[SSAValue], SSAValue]) -> bool:
    """Whether the users of a concatenation that need not be in memory shall read its operands."""
    extents, joined = shape(op.result), int_of(op.dimension)
    parts = [shape(operand)[joined] for operand in op.operands if size(operand)]
    if not 2 <= len(parts) <= MOST_OPERANDS or prod(extents[joined:]) < SHORTEST_ROW:
        return False
    innermost = all(n == 1 for n in extents[joined + 1 :])
    if not innermost and max(parts) < LARGEST_PART * extents[joined]:
        return False
    if any(roles.get(use.operation) not in (Role.SCALAR, Role.REDUCE) for use in op.result.uses):
        return False
    return all(_is_readable(operand, roles, resolve) for operand in op.operands)


def _is_readable(value: SSAValue, roles: Mapping[Operation, Role], resolve: Callable[[SSAValue], SSAValue]) -> bool:
    """Whether an operand's elements are in memory where the concatenation is computed, in an order in which a loop can read them.

    Slices of computed values are, since a nest over other indices has to write them.
    """
    value = resolve(value)
    is_part = False
    while isinstance(owner := value.owner, _ARRANGING):
        if isinstance(owner, stablehlo.BroadcastInDimOp) and size(owner.operand) > 1 and not repeats_rows(owner):
            return False
        is_part = is_part or isinstance(owner, stablehlo.SliceOp)
        value = resolve(owner.operands[0])
    if not isinstance(owner, Operation) or size(value) == 1:
        return True
    if roles[owner] is Role.SCALAR and not is_part and cost(owner) <= CHEAP:
        return all(_is_readable(operand, roles, resolve) for operand in owner.operands if size(operand) > 1)
    return roles[owner] not in (Role.VIEW, Role.CONCATENATE) and (is_part or roles[owner] is not Role.SCALAR)
