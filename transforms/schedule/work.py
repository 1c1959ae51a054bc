"""Estimates how long a nest takes, from its shapes, its ops and where in the loops each of them is."""

from __future__ import annotations

from math import prod

from xdsl.ir import Operation

from wengert.dialects.facts import Effort
from wengert.dialects.kernel import ApplyOp, LoadOp, NestOp, StripMineOp
from wengert.dialects.scalar_functions import effort
from wengert.ir.traversal import ops_in
from wengert.transforms.codegen.llvm.types import Element, element_of
from wengert.transforms.fuse.views import result
from wengert.transforms.schedule.chunks import wanted_chunks
from wengert.transforms.schedule.placement import Placement
from wengert.transforms.schedule.target import Target

_VECTOR_NS = 0.2
_COSTLY_NS = 4.0
_NS = {Effort.CHEAP: _VECTOR_NS, Effort.DIVISION: 2.0, Effort.ROOT: _COSTLY_NS, Effort.ELEMENTARY: _COSTLY_NS, Effort.SPECIAL: _COSTLY_NS}
"""A scalar function on one vector register."""
_BYTE_NS = 0.02
"""Moving one byte, from a cache that is not the first."""
_LONE_NS = 0.5
"""Moving one element that has no neighbour in the register."""


def may_be_shared(op: NestOp) -> bool:
    """Whether a nest may take long enough to be cut for several threads, quickly estimated from above."""
    iterations, ops = prod(op.extents), ops_in(op.body.block)
    if wanted_chunks(iterations * len(ops) * (_COSTLY_NS / 2 + _LONE_NS)) == 1:  # even if all ops were costly
        return False
    costly = sum([isinstance(inner, ApplyOp) and effort(inner) is not Effort.CHEAP for inner in ops])
    return wanted_chunks(iterations * (costly * _COSTLY_NS / 2 + len(ops) * _LONE_NS)) > 1


def op_ns(op: Operation, inner_step: int | None, vectorised: bool, target: Target) -> float:
    """About how long one op takes for one element; ``inner_step`` is that of a load along the innermost loop (None: computed)."""
    held: Element = element_of(result(op).type)
    share = held.size / target.vector_bytes if vectorised else 1.0
    if isinstance(op, LoadOp):
        return _LONE_NS if inner_step not in (-1, 0, 1) else _BYTE_NS * held.size * abs(inner_step) if vectorised else _VECTOR_NS
    if isinstance(op, ApplyOp):
        return share * _NS[effort(op)]
    return 0.0


def strips_ns(op: StripMineOp, target: Target) -> float:
    """About how long all strips take."""
    total = 0.0
    for nest in op.body.block.ops:
        if isinstance(nest, NestOp):
            ops = [inner for inner in nest.body.block.ops if inner is not nest.terminator]
            total += prod(nest.extents) * sum(op_ns(inner, 1, True, target) for inner in ops)
    return total * op.trips.value.data


def nest_ns(placement: Placement, target: Target) -> float:
    """About how long a nest takes with its loops in this order."""
    loops, inner, depth = placement.loops, placement.inner, placement.depth
    total = 0.0
    for one in placement.ops:
        level = depth[result(one)]
        step: int | None = 0
        if isinstance(one, LoadOp):
            step = None if one.base is not None and depth[one.base] == inner else loops[one.at.data].coefficient(inner)
        total += prod(loops.extents[: level + 1]) * op_ns(one, step, level == inner, target)
    for write in placement.writes:
        total += prod(loops.extents) * _BYTE_NS * element_of(write.value.type).size
    return total
