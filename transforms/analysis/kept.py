"""Finds what the forward part of a reverse derivative makes for the reverse part, at any level on tensors.

The reverse part begins with the first op whose location gives it the role of a cotangent or of an accumulation, or with the barrier in front of what is
computed again, which is at the place of the function as a whole. (``wengert kept`` says who needs each of these values, and why it is kept.)
"""

from __future__ import annotations

from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, Use

from wengert.ir.location.locations import Role, provenance
from wengert.ir.location.places import origin
from wengert.transforms.analysis.opcost import is_constant
from wengert.transforms.analysis.symbolic.extents import STATIC, bytes_of

_REVERSE = frozenset((Role.COTANGENT, Role.ACCUMULATION))


def reverse_part(function: FuncOp) -> list[Operation]:
    """The ops of a function's block from the first of the reverse part on, without the terminator; none where there is no reverse part."""
    ops = list(function.body.block.ops)[:-1]
    first = next((n for n, op in enumerate(ops) if _begins(op, function)), len(ops))
    return ops[first:]


def kept_by(function: FuncOp) -> dict[Operation, int]:
    """The ops of the forward part whose results the reverse part reads, with the bytes of these results.

    Arguments are their caller's and constants the program's: neither is kept. What loops keep of their iterations is what they return.
    """
    reverse, block = set(reverse_part(function)), function.body.block
    if not reverse:
        return {}
    kept: dict[Operation, int] = {}
    for op in block.ops:
        if op in reverse:
            break
        if not is_constant(op):
            size = sum(bytes_of(STATIC, value) for value in op.results if any(_outermost(use, block) in reverse for use in value.uses))
            kept |= {op: size} if size else {}
    return kept


def _begins(op: Operation, function: FuncOp) -> bool:
    known = provenance(op.location)
    if known is not None:
        return known.role in _REVERSE
    return op.name == "stablehlo.optimization_barrier" and origin(op.location) == origin(function.location)


def _outermost(use: Use, block: Block) -> Operation:
    """The op of a block in whose regions a value is used, or the op that uses it itself."""
    op = use.operation
    while op.parent is not block and (parent := op.parent_op()) is not None:
        op = parent
    return op
