"""Says in which loops of a nest all iterations write different elements: those that threads may share.

Two iterations conflict where they may write one element. By contract a nest stores an element once, if the position is not computed. Where it is,
a divisor of it is known: rows of a table, which begin at multiples of their length, conflict in the same columns only.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import gcd

from xdsl.ir import Block, SSAValue

from wengert.dialects.kernel import STORE, ApplyOp, ConstantOp, IndexOp, LoadOp, NestOp, WithinOp, Write
from wengert.dialects.kernel.iterators import apart_loops, stored_apart
from wengert.dialects.kernel.positions import dimensions, span
from wengert.ir.elements import splat_value
from wengert.ir.tensor_types import is_integer
from wengert.ir.traversal import operands_of

EXACT = ("add", "max", "min", "and", "or")
"""Kinds that give the same integers in any order, and that devices have atomic operations for."""


def is_exact(write: Write) -> bool:
    """Whether a write combines values to the same bits in any order, and can do so by atomic operations, which are on 32 or 64 bits."""
    type = write.value.type
    return write.kind in EXACT and is_integer(type) and type.width.data in (32, 64)


def apart(op: NestOp, *, atomic: bool = False) -> set[int]:
    """The loops of which no two iterations write one element, whatever the other loops do.

    Args:
        op: the nest.
        atomic: writes that combine exactly may conflict.
    """
    every = set(range(len(op.extents)))
    writes = [write for write in op.writes if not (atomic and is_exact(write))]
    for target in {write.target for write in writes}:
        every &= apart_in([write for write in writes if write.target == target], op.extents)
    return every


def apart_of(op: NestOp, write: Write) -> set[int]:
    """The loops of which no two iterations meet in the result that a write goes to."""
    return apart_in([other for other in op.writes if other.target == write.target], op.extents)


def apart_in(writes: Sequence[Write], extents: Sequence[int]) -> set[int]:
    """The same for the writes to one result of a nest."""
    every = set(range(len(extents)))
    if all(write.kind == STORE and not _varies(write) for write in writes):
        return every.intersection(*[stored_apart(write.at, extents) for write in writes])
    if any(write.at != writes[0].at for write in writes):
        if any(write.base is not None for write in writes) or not _disjoint(writes, extents):
            return set()
        return every.intersection(*[apart_loops(write.at, extents) for write in writes])
    if any(write.base is not None for write in writes):
        block = gcd(*[divisor(write.base) for write in writes if write.base is not None])
        low, high = span(writes[0].at, extents)
        if len(writes) == 1 and not _varies(writes[0]):
            return apart_loops(writes[0].at, extents)
        if block and low // block != high // block:
            return set()
    return apart_loops(writes[0].at, extents)


def _disjoint(writes: Sequence[Write], extents: Sequence[int]) -> bool:
    """Whether each write has a range of positions for itself."""
    ranges = sorted(span(write.at, extents) for write in writes)
    return all(before[1] < after[0] for before, after in pairwise(ranges))


def _varies(write: Write) -> bool:
    return write.base is not None and bool(loops_of(write.base))


def loops_of(value: SSAValue) -> set[int]:
    """The loops that a scalar of a nest's body depends on."""
    owner, loops = value.owner, set[int]()
    if isinstance(owner, Block):
        return loops
    if isinstance(owner, LoadOp | IndexOp):
        loops |= dimensions(owner.at.data)
    if isinstance(owner, LoadOp | WithinOp) and owner.where is not None:
        for at, _, _ in owner.where.data:
            loops |= dimensions(at)
    return loops.union(*[loops_of(operand) for operand in operands_of(owner)])


def divisor(value: SSAValue) -> int:
    """A divisor of an integer of a nest's body, whatever its operands are; 0 for zero, which all numbers divide."""
    owner = value.owner
    if isinstance(owner, ConstantOp):
        return abs(int(splat_value(owner.value)))
    if isinstance(owner, IndexOp):
        return gcd(owner.at.data.offset, *[c for _, c in owner.at.data.terms])
    if not isinstance(owner, ApplyOp):
        return 1
    operands = operands_of(owner)
    name = owner.function.data
    if name == "multiply":
        return divisor(operands[0]) * divisor(operands[1])
    if name in ("add", "subtract", "maximum", "minimum", "clamp"):
        return gcd(*[divisor(operand) for operand in operands])
    if name == "select":
        return gcd(divisor(operands[1]), divisor(operands[2]))
    if name == "negate" or (name == "convert" and is_integer(operands[0].type)):
        return divisor(operands[0])
    return 1
