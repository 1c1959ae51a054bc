"""Running combinations along a dimension (``core.cumulative``) as nests.

A short dimension is one nest: element i combines all k <= i, so a dimension of n elements takes n^2 steps that are all independent but for their
sum. A long one is cut into blocks of B elements (Blelloch, "Prefix sums and their applications", 1990)::

    local[j, i] = x[j B] + ... + x[j B + i]          inside of blocks
    before[j]   = total[0] + ... + total[j - 1]      of the totals of blocks, local[., B - 1], in the same way
    y[j B + i]  = before[j] + local[j, i]

That reassociates; what does not reassociate in floating-point numbers (maximum, minimum) and integers may always do so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import NamedTuple

from xdsl.ir import Attribute, SSAValue

from wengert.dialects import core
from wengert.dialects.core import Kind
from wengert.dialects.kernel import STORE, Write
from wengert.dialects.kernel.positions import Position, flatten
from wengert.ir.attributes import int_of
from wengert.ir.tensor_types import element, is_complex, is_float, shape, tensor
from wengert.transforms.core.kinds import neutral
from wengert.transforms.fuse.roles import combination_kind, combines
from wengert.transforms.kernel.native_nests.body import FUNCTIONS, Body
from wengert.transforms.kernel.native_nests.place import Place, accumulator

BLOCK = 32
"""Elements that are combined all with all."""
LONGEST_IN_ORDER = 512
"""The length up to which sums that keep their order are taken anew for every element."""


def cumulative(place: Place, op: core.CumulativeOp, operands: Sequence[SSAValue], *, reassociate: bool) -> Sequence[SSAValue]:
    """Nests for a running combination; nothing if it must keep its order and is long, or if elements of the type do not combine in nests."""
    type, kind, dim = element(op.operand), op.kind.data, int_of(op.dimension)
    extents = shape(op.operand)
    free = reassociate or kind not in (Kind.add, Kind.mul) or not (is_float(type) or is_complex(type))
    if not combines(type, kind) or (not free and extents[dim] > LONGEST_IN_ORDER):
        return []
    wide = accumulator(type)
    scan = _Scan(place, kind, wide, prod(extents[:dim]), prod(extents[dim + 1 :]), BLOCK if free else LONGEST_IN_ORDER)
    step, whole = scan.inner, extents[dim] * scan.inner
    line = _Line(extents[dim], whole, -step, whole - step) if int_of(op.reverse) else _Line(extents[dim], whole, step, 0)
    running = scan.running(place.converted(operands[0], wide), line, line, tensor(extents, wide))
    return [place.converted(running, type)]


class _Line(NamedTuple):
    """The places of a line's elements in a flat tensor: how many there are, how far lines and elements lie apart, and where the first one is."""

    length: int
    between: int
    step: int
    start: int

    def at(self, line: Position, number: Position, inner: Position) -> Position:
        """The position of an element of a line."""
        return line.times(self.between).plus(number.times(self.step)).plus(inner).shifted(self.start)


@dataclass(frozen=True)
class _Scan:
    """Running combinations of a kind along lines, of which there are ``outer * inner``; the inner ones lie side by side."""

    place: Place
    kind: Kind
    type: Attribute
    outer: int
    inner: int
    block: int

    def running(self, x: SSAValue, read: _Line, written: _Line, result: Attribute) -> SSAValue:
        """The running combinations of the elements of x at ``read``, at ``written`` of a tensor of the result's type."""
        return self._whole(x, read, written, result) if read.length <= self.block else self._by_blocks(x, read, written, result)

    def _whole(self, x: SSAValue, read: _Line, written: _Line, result: Attribute) -> SSAValue:
        """Each element from all those before it."""
        body = Body([self.outer, read.length, self.inner, read.length], [x])
        outer, i, inner, k = body.loops()
        value = body.load_or(0, read.at(outer, k, inner), [(_difference(i, k), 0, read.length)], neutral(self.kind, self.type))
        return self._put(body, value, written.at(outer, i, inner), combination_kind(self.kind, self.type), result)

    def _by_blocks(self, x: SSAValue, read: _Line, written: _Line, result: Attribute) -> SSAValue:
        blocks = -(-read.length // self.block)
        local = self._inside_blocks(x, read, blocks)
        size = self.block * self.inner
        totals, packed = _Line(blocks, blocks * size, size, size - self.inner), _Line(blocks, blocks * self.inner, self.inner, 0)
        before = self.running(local, totals, packed, tensor((self.outer, blocks, self.inner), self.type))
        body = Body([self.outer, read.length, self.inner], [local, before])
        outer, i, inner = body.loops()
        number, _ = body.divided(i, self.block)
        here = body.load(0, _Line(read.length, blocks * size, self.inner, 0).at(outer, i, inner))
        so_far = body.load_or(1, packed.at(outer, number.shifted(-1), inner), [(number, 1, blocks)], neutral(self.kind, self.type))
        function = FUNCTIONS[combination_kind(self.kind, self.type)]
        return self._put(body, body.apply(function, self.type, so_far, here), written.at(outer, i, inner), STORE, result)

    def _inside_blocks(self, x: SSAValue, read: _Line, blocks: int) -> SSAValue:
        """The running combinations of each block from its first element on; neutral elements fill the last block."""
        body = Body([self.outer, blocks, self.block, self.inner, self.block], [x])
        outer, j, i, inner, k = body.loops()
        number = j.times(self.block).plus(k)
        guards = [(_difference(i, k), 0, self.block), (number, 0, read.length)]
        value = body.load_or(0, read.at(outer, number, inner), guards, neutral(self.kind, self.type))
        shape = (self.outer, blocks, self.block, self.inner)
        return self._put(body, value, flatten([outer, j, i, inner], shape), combination_kind(self.kind, self.type), tensor(shape, self.type))

    def _put(self, body: Body, value: SSAValue, at: Position, kind: str, result: Attribute) -> SSAValue:
        return self.place.put(body.nest([Write(value, at, kind, 0)], [result]))[0]


def _difference(x: Position, y: Position) -> Position:
    return x.plus(y.times(-1))
