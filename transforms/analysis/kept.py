"""What the forward part of a derivative makes for the reverse part, read off the roles in locations."""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, SSAValue

from wengert.ir.locations import Role, provenance
from wengert.transforms.analysis.opcost import is_constant
from wengert.transforms.analysis.symbolic.extents import STATIC, bytes_of

_REVERSE = frozenset((Role.COTANGENT, Role.ACCUMULATION))


def kept_by(function: FuncOp) -> dict[Operation, int]:
    """The ops of a function's block whose results the reverse part reads, with the bytes of these results.

    Arguments are their caller's and constants the program's: neither is kept. What loops keep of their iterations is what they return.
    """
    block = function.body.block
    return {op: size for op in block.ops if (size := sum(bytes_of(STATIC, value) for value in _read_in_reverse(op, block)))}


def has_reverse_part(function: FuncOp) -> bool:
    """Whether a function has ops of a reverse part."""
    return any(is_reverse(op) for op in function.body.block.ops)


def is_reverse(op: Operation) -> bool:
    """Whether an op belongs to the reverse part."""
    known = provenance(op.location)
    return known is not None and known.role in _REVERSE


def _read_in_reverse(op: Operation, block: Block) -> Iterator[SSAValue]:
    if not is_reverse(op) and not is_constant(op):
        yield from (result for result in op.results if any(is_reverse(_outermost(use.operation, block)) for use in result.uses))


def _outermost(op: Operation, block: Block) -> Operation:
    """The op of a block in whose regions an op stands, or the op itself."""
    while op.parent is not block and (parent := op.parent_op()) is not None:
        op = parent
    return op
