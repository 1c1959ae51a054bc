"""Chooses what one iteration of the innermost loop computes: lanes, registers that are interleaved, accumulators of sums, and the remainder."""

from __future__ import annotations

from math import prod

from wengert.dialects.facts import Effort
from wengert.dialects.kernel import ApplyOp, LoadOp
from wengert.dialects.kernel.element_formats import element_format
from wengert.dialects.kernel.schedule import Remainder
from wengert.dialects.scalar_functions import effort
from wengert.ir.traversal import result_of
from wengert.transforms.schedule.placement import Placement, guards_of
from wengert.transforms.schedule.target import Target

_SHORTEST = 4
"""The bytes of the shortest integers in which lanes of indices are computed."""
_LONG = 8
"""The bytes of indices."""
PAIRED_FROM = 64
"""A nest of fewer registers in all computes one at a time, and so does one whose innermost loop has fewer and ends within a pair."""
FOURFOLD_FROM = 2048
"""A nest of at least so many registers in all computes four at a time, if its functions are long chains and nothing else is in the way."""
FOURFOLD_OPS = 16
"""Sums of f32 over a body of fewer ops compute two."""
PAIRED_OPS = 64
"""A body of more ops, whose values would not stay in registers, computes one register at a time."""
PAIRED_FUNCTIONS = 2
"""So does a body with more functions of many instructions, or with a special function: its machine code is long already."""
LIGHT_BODY = 12
"""Bodies of at most so many ops get several accumulators per reduction."""
ACCUMULATORS = 4


def choose_lanes(placement: Placement, target: Target, *, strict: bool) -> tuple[int, int]:
    """Chooses the lanes of a register; and the bytes of the widest element in the innermost loop."""
    types = [result_of(op).type for op in placement.levels[-1]] + [write.value.type for write in placement.writes]
    widest = max([element_format(type).register_size for type in types], default=4)
    if placement.inner < 0 or needs_one_lane(placement, strict=strict):
        return 1, widest
    lanes = max(target.vector_bytes // widest, 1)
    while lanes > 1 and lanes // 2 >= placement.extents[placement.inner]:
        lanes //= 2
    return lanes, widest


def needs_one_lane(placement: Placement, *, strict: bool) -> str:
    """Why the innermost loop cannot have lanes; empty if it can."""
    for reduction in placement.reductions:
        format, kind = element_format(reduction.write.value.type), reduction.write.kind
        if strict and reduction.in_registers and format.kind in "fc" and kind in ("add", "mul"):
            return "a strict program adds up in order"
        if format.kind == "c" and kind == "mul":
            return "a product of complex numbers cannot be taken part by part"
    return ""


def choose_interleaving(placement: Placement, target: Target, lanes: int, widest: int) -> int:
    """Chooses how many registers an iteration computes, so that the chain of one is computed while the other waits.

    A polynomial is a chain of dependent operations, longer than what a processor looks ahead; LLVM splits values of two
    registers, and they share what they load. Only where there are many iterations: the machine code is twice as long.
    """
    if not _in_pairs(placement, target, lanes, widest):
        return 1
    return 4 if _in_fours(placement, target, lanes) else 2


def _in_pairs(placement: Placement, target: Target, lanes: int, widest: int) -> bool:
    extent, inside, loops = placement.extents[placement.inner], placement.levels[-1], placement.loops
    if lanes * widest != target.vector_bytes or widest < _SHORTEST or lanes == 1:
        return False
    if prod(placement.extents) < PAIRED_FROM * lanes or len(inside) > PAIRED_OPS:
        return False
    efforts = [effort(op) for op in inside if isinstance(op, ApplyOp)]
    if sum(each >= Effort.ROOT for each in efforts) > PAIRED_FUNCTIONS or Effort.SPECIAL in efforts:
        return False
    if extent % (2 * lanes) and extent < PAIRED_FROM * lanes:
        return False
    loads = [op for op in inside if isinstance(op, LoadOp)]
    if any(load.base is not None or guards_of(load) or not placement.is_straight(loops[load.at.data]) for load in loads):
        return False
    return all(write.base is None and placement.is_straight(loops[write.at]) for write in placement.writes)


def _in_fours(placement: Placement, target: Target, lanes: int) -> bool:
    """Whether an iteration that may compute two registers had better compute four.

    Some of sixteen registers are then spilled, which costs less than waiting. Sums of f32 over a short body are faster with two.
    """
    inside = placement.levels[-1]
    if prod(placement.extents) < FOURFOLD_FROM * lanes or placement.extents[placement.inner] % (4 * lanes):
        return False
    light = len(inside) <= FOURFOLD_OPS and lanes * _LONG != target.vector_bytes
    if light and any(r.in_registers for r in placement.reductions):
        return False
    return any(isinstance(op, ApplyOp) and effort(op) is Effort.ELEMENTARY for op in inside)


def choose_accumulators(placement: Placement, lanes: int, interleave: int, *, strict: bool) -> int:
    """Chooses how many accumulators a light body has. A special function takes longer than the addition that waits for the one before."""
    if placement.inner < 0 or not any(r.in_registers for r in placement.reductions):
        return 1
    count = ACCUMULATORS // interleave
    width = lanes * interleave
    iterations = placement.extents[placement.inner] // width
    special = interleave == 1 and any(isinstance(op, ApplyOp) and effort(op) >= Effort.ROOT for op in placement.ops)
    if special or len(placement.ops) > LIGHT_BODY or iterations < 2 * count or (strict and width == 1):
        return 1
    return count


def choose_remainder(placement: Placement, width: int, *, repeatable: bool) -> Remainder:
    """Chooses how a loop ends that is no multiple of a register: a long body is generated once, and some iterations run twice."""
    iterations, rest = divmod(placement.extents[placement.inner], width)
    return "repeated" if rest and iterations and repeatable and len(placement.ops) > LIGHT_BODY else "masked"
