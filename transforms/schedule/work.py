"""Estimates how long a nest takes, from its shapes, its ops and where in the loops each of them is."""

from __future__ import annotations

from math import prod
from typing import cast

from xdsl.ir import Block, Operation

from wengert.dialects import core, stablehlo
from wengert.dialects.facts import Effort
from wengert.dialects.kernel import ApplyOp, FusedOp, LoadOp, MatmulOp, NestOp, StripMineOp
from wengert.dialects.kernel.element_formats import element_format
from wengert.dialects.scalar_functions import effort
from wengert.ir.attributes import ints
from wengert.ir.elements import Elements, splat_value
from wengert.ir.tensor_types import element, size
from wengert.ir.traversal import ops_in, result_of
from wengert.transforms.schedule.chunks import wanted_chunks
from wengert.transforms.schedule.placement import Placement
from wengert.transforms.schedule.target import Target

_VECTOR_NS = 0.2
_COSTLY_NS = 4.0
_NS = {Effort.CHEAP: _VECTOR_NS, Effort.DIVISION: 2.0, Effort.ROOT: _COSTLY_NS, Effort.ELEMENTARY: _COSTLY_NS, Effort.SPECIAL: _COSTLY_NS}
"""A scalar function on one vector register."""
_BYTE_NS = 0.02
"""Moving one byte, from a cache that is not the first."""
_MULTIPLY_ADD_NS = 0.25
"""A register of products added to sums."""
_LONE_NS = 0.5
"""Moving one element by itself, because its neighbours are not needed."""


def may_be_shared(op: NestOp, *, awake: bool = False) -> bool:
    """Whether a nest may take long enough to be cut for several threads, quickly estimated from above."""
    iterations, ops = prod(op.extents), ops_in(op.body.block)
    if wanted_chunks(iterations * len(ops) * (_COSTLY_NS / 2 + _LONE_NS), awake=awake) == 1:  # even if all ops were costly
        return False
    costly = sum([isinstance(inner, ApplyOp) and effort(inner) is not Effort.CHEAP for inner in ops])
    return wanted_chunks(iterations * (costly * _COSTLY_NS / 2 + len(ops) * _LONE_NS), awake=awake) > 1


def op_ns(op: Operation, inner_step: int | None, vectorised: bool, target: Target) -> float:
    """Estimates the nanoseconds of one op for one element; ``inner_step`` is the step of a load along the innermost loop (None: computed)."""
    format = element_format(result_of(op).type)
    share = format.size / target.vector_bytes if vectorised else 1.0
    if isinstance(op, LoadOp):
        return _LONE_NS if inner_step not in (-1, 0, 1) else _BYTE_NS * format.size * abs(inner_step) if vectorised else _VECTOR_NS
    if isinstance(op, ApplyOp):
        return share * _NS[effort(op)]
    return 0.0


def strips_ns(op: StripMineOp, target: Target) -> float:
    """Estimates the nanoseconds of all strips."""
    return block_ns(op.body.block, target) * op.iterations.value.data


def block_ns(block: Block, target: Target) -> float:
    """Estimates the nanoseconds of the kernels of a block, and of those in its counted loops."""
    total = 0.0
    for op in block.ops:
        if isinstance(op, NestOp):
            ops = [inner for inner in op.body.block.ops if inner is not op.terminator]
            total += prod(op.extents) * sum(op_ns(inner, 1, True, target) for inner in ops)
        elif isinstance(op, FusedOp):
            total += block_ns(op.body.block, target)
        elif isinstance(op, MatmulOp):
            contracted = prod(ints(op.lhs_shape)[d] for d in op.dimension_numbers.dims("lhs_contracting_dimensions"))
            share = element_format(element(op.result)).size / target.vector_bytes
            total += size(op.result) * contracted * share * _MULTIPLY_ADD_NS
        elif isinstance(op, core.ForOp) and isinstance(count := op.trip_count.owner, stablehlo.ConstantOp):
            total += int(splat_value(cast("Elements", count.value))) * block_ns(op.body.block, target)
    return total


def nest_ns(placement: Placement, target: Target) -> float:
    """Estimates the nanoseconds of a nest with its loops in this order."""
    loops, inner, depth = placement.loops, placement.inner, placement.depth
    total = 0.0
    for op in placement.ops:
        level = depth[result_of(op)]
        step: int | None = 0
        if isinstance(op, LoadOp):
            step = None if op.base is not None and depth[op.base] == inner else loops[op.at.data].coefficient(inner)
        total += prod(loops.extents[: level + 1]) * op_ns(op, step, level == inner, target)
    for write in placement.writes:
        total += prod(loops.extents) * _BYTE_NS * element_format(write.value.type).size
    return total
