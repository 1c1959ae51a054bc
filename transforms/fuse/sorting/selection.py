"""The first k elements of an order (``chlo.top_k``) by sorting networks.

A long line is cut into blocks, which are sorted side by side; what may be among the first k of all is among the first k of its block. That goes on until one
block is left. The order is the total one of floats, in which NaN has a place, and of equal elements the first one comes first.
"""

from __future__ import annotations

from math import prod

from msgspec import Struct

from wengert.dialects import chlo
from wengert.dialects.builder import OpBuilder, Value
from wengert.ir.attributes import int_of
from wengert.ir.tensor_types import element, is_float, shape, type_of
from wengert.transforms.fuse.sorting.network import Lines, Values, lines_of, sorted_lines

SHORTEST_BLOCK = 256
"""Lines of up to twice as many elements are sorted as a whole."""
BLOCK_SHARE = 8
"""A block has at least so many times k elements, so that each round leaves so many times fewer."""


def top_k(b: OpBuilder, op: chlo.TopKOp) -> Values:
    """The results of the op: ``x[..., n]`` to values and positions ``[..., k]``."""
    extents, k = shape(op.operand), int_of(op.k)
    if 0 in shape(op.values):
        return [b.zeros(type_of(op.values)), b.zeros(type_of(op.indices))]
    order = _Extreme(op.largest is None or bool(int_of(op.largest)))
    outer, block = prod(extents[:-1]), block_length(k)
    lines = lines_of(b, [b.reshape(op.operand, [outer, extents[-1], 1])])
    while lines.extents[1] > 2 * block:
        blocks = _cut(b, lines, block, extents[-1])
        lines = _folded(b, _first(b, sorted_lines(b, blocks, order), k), outer)
    lines = _first(b, sorted_lines(b, lines, order), k)
    return [b.reshape(lines.keys[0], shape(op.values)), b.convert(b.reshape(lines.positions, shape(op.indices)), element(op.indices))]


def block_length(k: int) -> int:
    """The elements of a block, a power of two."""
    return max(SHORTEST_BLOCK, 1 << (BLOCK_SHARE * k - 1).bit_length())


def _cut(b: OpBuilder, lines: Lines, block: int, count: int) -> Lines:
    """Lines as more and shorter ones; the last block of each line is filled up with elements that go after all others."""
    outer, n, _ = lines.extents
    blocks = -(-n // block)

    def cut(x: Value, filler: int) -> Value:
        filled = b.pad(x, b.scalar(filler, element(x)), [0, 0, 0], [0, blocks * block - n, 0])
        return b.reshape(filled, [outer * blocks, block, 1])

    return Lines([cut(x, 0) for x in lines.keys], cut(lines.positions, count), count)


def _first(b: OpBuilder, lines: Lines, k: int) -> Lines:
    """The first k elements of each line."""
    outer, _, inner = lines.extents
    return lines.moved([b.slice(x, [0, 0, 0], [outer, k, inner]) for x in lines.values()])


def _folded(b: OpBuilder, lines: Lines, outer: int) -> Lines:
    """The blocks of each line behind one another."""
    blocks, k, _ = lines.extents
    return lines.moved([b.reshape(x, [outer, blocks // outer * k, 1]) for x in lines.values()])


class _Extreme(Struct, frozen=True):
    """The order by size of one key, the largest first or the smallest."""

    largest: bool
    captured: Values = ()

    def goes_first(self, b: OpBuilder, behind: Values, ahead: Values, captured: Values) -> Value:
        """Whether the element behind is beyond the other."""
        total = "TOTALORDER" if is_float(element(behind[0])) else None
        return b.compare("GT" if self.largest else "LT", behind[0], ahead[0], total)
