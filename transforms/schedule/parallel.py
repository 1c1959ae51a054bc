"""Which loop of a nest is dealt out in chunks: the outermost one, or a new one around all others.

The trips of the chosen loop must write different elements. A nest of one loop, or with few trips in the outermost, is cut: the
range of its longest loop becomes ranges that a new outermost loop goes through. Ranges have one length, since the text of a loop is
written for it; where no divisor of the loop's length is near what is wanted, the last range overlaps the one before, if
elements may be computed twice. A sum over all trips is not this file's concern: whoever fuses nests gives each chunk a sum
of its own (:mod:`wengert.transforms.kernel.split_reductions`).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.ir import Operation, SSAValue

from wengert.dialects.facts import Effort
from wengert.dialects.kernel import STORE, ApplyOp, LoadOp, NestOp, Write
from wengert.dialects.kernel.positions import Position, dimensions, span
from wengert.dialects.scalar_functions import effort
from wengert.ir.tensor_types import size
from wengert.ir.traversal import ops_in
from wengert.transforms.codegen.llvm.types import Element, element_of
from wengert.transforms.fuse.views import result
from wengert.transforms.schedule.chunks import Split, single, split, wanted_chunks
from wengert.transforms.schedule.loops import Loops
from wengert.transforms.schedule.target import Target

_VECTOR_NS = 0.2
_COSTLY_NS = 4.0
_NS = {Effort.CHEAP: _VECTOR_NS, Effort.DIVISION: 2.0, Effort.ROOT: _COSTLY_NS, Effort.ELEMENTARY: _COSTLY_NS, Effort.SPECIAL: _COSTLY_NS}
"""A scalar function on one vector register."""
_BYTE_NS = 0.02
"""Moving one byte, from a cache that is not the first."""
_LONE_NS = 0.5
"""Moving one element that has no neighbour in the register."""
FEW_TRIPS = 8
UNIT = 64
"""Ranges of the innermost loop are multiples of so many elements where that can be: whole registers, whole cache lines."""


def most_work(op: NestOp) -> float:
    """Nanoseconds that the nest takes at most, quickly found."""
    ops = ops_in(op.body.block)
    costly = sum([isinstance(inner, ApplyOp) and effort(inner) is not Effort.CHEAP for inner in ops])
    return prod(op.extents) * (costly * _COSTLY_NS / 2 + len(ops) * _LONE_NS)


def op_ns(op: Operation, inner_step: int | None, vectorised: bool, target: Target) -> float:
    """About how long one op takes for one element; ``inner_step`` is that of a load along the innermost loop (None: computed)."""
    held: Element = element_of(result(op).type)
    share = held.size / target.vector_bytes if vectorised else 1.0
    if isinstance(op, LoadOp):
        return _LONE_NS if inner_step not in (-1, 0, 1) else _BYTE_NS * held.size * abs(inner_step) if vectorised else _VECTOR_NS
    if isinstance(op, ApplyOp):
        return share * _NS[effort(op)]
    return 0.0


def strips_ns(nests: Sequence[NestOp], iterations: int, target: Target) -> float:
    """About how long so many strips take, each of which these nests compute."""
    total = 0.0
    for nest in nests:
        ops = [inner for inner in nest.body.block.ops if inner is not nest.terminator]
        total += prod(nest.extents) * sum(op_ns(inner, 1, True, target) for inner in ops)
    return total * iterations


class NestWork:
    """The loops of a nest, and what each op costs at its place in them."""

    def __init__(self, op: NestOp, ops: list[Operation], writes: list[Write], loops: Loops, depth: dict[SSAValue, int], target: Target):
        self.op = op
        self.writes = writes
        self.loops = loops
        self.target = target
        inner = len(loops.extents) - 1
        total = 0.0
        for one in ops:
            level = depth[result(one)]
            step: int | None = 0
            if isinstance(one, LoadOp):
                step = None if one.base is not None and depth[one.base] == inner else loops[one.at.data].coefficient(inner)
            total += prod(loops.extents[: level + 1]) * op_ns(one, step, level == inner, target)
        for write in writes:
            total += prod(loops.extents) * _BYTE_NS * element_of(write.value.type).size
        self.nanoseconds = total
        self.depth = depth

    def deal(self, *, tiled: bool, in_place: bool) -> Split | None:
        """How the trips of the outermost loop are dealt out, after a new one was put around the others if need be."""
        wanted = wanted_chunks(self.nanoseconds)
        if wanted < 2 or 0 in self.loops.extents or not all(self._is_plain(write) for write in self.writes):
            return None
        extents = self.loops.extents
        outer_loops = len(extents) - (2 if tiled else 1)
        if outer_loops >= 1 and self._is_disjoint(0) and extents[0] >= min(FEW_TRIPS, wanted):
            return split(extents[0], self.nanoseconds)
        found = self._cut(wanted, in_place=in_place)
        if found is None and outer_loops >= 1 and self._is_disjoint(0) and extents[0] > 1:
            return split(extents[0], self.nanoseconds)
        return found

    def _is_plain(self, write: Write) -> bool:
        """Whether nothing but the loops' indices decides which element is written (or a number that is the same for all)."""
        if write.kind == STORE:
            return write.base is None or self.depth[write.base] < 0
        return write.base is None and self.op.tied[write.target] < 0

    def _is_disjoint(self, d: int) -> bool:
        """Whether the trips of a loop write different elements; those of combined results in blocks one after another."""
        return all(write.kind == STORE or self._block(write, d) is not None for write in self.writes)

    def _block(self, write: Write, d: int) -> int | None:
        """The length of the block of its result that a write fills in each trip of a loop."""
        return block_length(self.loops[write.at], d, self.loops.extents, size(self.op.outputs[write.target]))

    def _cut(self, wanted: int, *, in_place: bool) -> Split | None:
        """Puts a new loop around all others that goes through ranges of the longest loop."""
        extents = self.loops.extents
        able = [d for d in range(len(extents)) if extents[d] >= 2 * UNIT and self._is_disjoint(d) and not self.loops.is_divided(d)]
        if not able:
            return None
        d = max(able, key=lambda n: (extents[n], n))
        count = best_divisor(extents[d], wanted)
        repeatable = not in_place and all(write.kind == STORE for write in self.writes)
        if count is None and not repeatable:
            return None
        if count is None or (2 * count < wanted and repeatable):
            grain = extents[d] // wanted // UNIT * UNIT + UNIT
            last = extents[d] - grain
            self.loops.cut(d, grain, overlapping=True)
            return Split(-(-(last + grain) // grain), 1, int(self.nanoseconds), grain, last)
        self.loops.cut(d, extents[d] // count)
        return single(count, self.nanoseconds)


def block_length(at: Position, d: int, extents: list[int], elements: int) -> int | None:
    """The c for which trip i of loop d writes within elements [c i, c (i + 1)) of so many; None if there is none."""
    c = at.coefficient(d)
    rest = Position(at.offset, tuple([term for term in at.terms if term[0] != d]))
    if c <= 0 or c * extents[d] != elements or d in dimensions(rest):
        return None
    low, high = span(rest, extents)
    return c if low >= 0 and high < c else None


def best_divisor(extent: int, wanted: int) -> int | None:
    """The number of ranges, at most as many as wanted and not much fewer, that divides the extent; ranges of whole units first."""
    divisors = [n for n in range(wanted, max(wanted // 4, 1), -1) if extent % n == 0]
    return next((n for n in divisors if extent // n % UNIT == 0), divisors[0] if divisors else None)
