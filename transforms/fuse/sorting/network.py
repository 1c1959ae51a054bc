"""A sorting network on tensors: every stage compares each element with a partner, all at once.

The network is Batcher's bitonic sort ("Sorting networks and their applications", 1968) in the form in which the smaller element always goes to the smaller
position: merging two sorted runs of m elements begins with a comparison of i and 2 m - 1 - i, so that nothing ever runs downward::

    partner(i) = i xor mask         masks:  1 | 3 1 | 7 2 1 | 15 4 2 1 | ...

Positions behind the end of the dimension would hold elements that go after all others, and would keep them. So they need not exist: an
element whose partner lies there stays. Each element is carried with the position that it came from. Of two that are compared, the one that was behind goes
first only if the order says so, which makes the network stable, and a permutation whatever the order says, since both sides decide the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from msgspec import Struct
from xdsl.ir import Block, Region

from wengert.dialects import core
from wengert.dialects import stablehlo as hlo
from wengert.dialects.builder import OpBuilder, Value
from wengert.dialects.stablehlo.attributes import GatherDimensionNumbersAttr, dimensions
from wengert.ir.attributes import int_attr
from wengert.ir.tensor_types import dtype_of, element, i64, index_element, shape, tensor

UNROLLED = 10
"""Networks of up to so many stages (16 elements) are written out; longer ones are a loop over the stages."""

Values = Sequence[Value]


class Order(Protocol):
    """The order by which a network sorts."""

    @property
    def captured(self) -> Values:
        """Values that the order depends on and that are the same for all elements."""
        ...

    def goes_first(self, b: OpBuilder, behind: Values, ahead: Values, captured: Values) -> Value:
        """Whether elements go before others that were ahead of them: tensors of one shape, and what is captured at the insertion point; ``i1``."""
        ...


class Lines(Struct, frozen=True):
    """Keys that are sorted together along the second of three dimensions, and the positions that they came from.

    Positions from ``count`` on, if there is one, are of elements that only fill up the lines: these go after all others.
    """

    keys: Values
    positions: Value
    count: int | None = None

    @property
    def extents(self) -> tuple[int, ...]:
        """The three extents."""
        return shape(self.positions)

    def values(self) -> list[Value]:
        """All that moves."""
        return [*self.keys, self.positions]

    def moved(self, values: Values) -> Lines:
        """The same lines with their elements elsewhere."""
        return Lines(values[:-1], values[-1], self.count)


def lines_of(b: OpBuilder, keys: Values) -> Lines:
    """Keys of three dimensions as they stand."""
    extents = shape(keys[0])
    return Lines(keys, b.iota(1, tensor(extents, index_element(extents[1]))))


def sorted_lines(b: OpBuilder, lines: Lines, order: Order) -> Lines:
    """The keys in order along the second dimension, and the positions that they had."""
    masks = stage_masks(lines.extents[1])
    if len(masks) > UNROLLED:
        return _looped(b, lines, order, masks)
    for mask in masks:
        lines = _stage(b, lines, order, b.scalar(mask, element(lines.positions)), order.captured)
    return lines


def stage_masks(n: int) -> list[int]:
    """By which number the position of an element differs from that of its partner, bit by bit, in each stage of a network for n elements."""
    masks: list[int] = []
    for power in range(1, (n - 1).bit_length() + 1 if n > 1 else 0):
        masks += [(1 << power) - 1, *[1 << step for step in reversed(range(power - 1))]]
    return masks


def _looped(b: OpBuilder, lines: Lines, order: Order, masks: Sequence[int]) -> Lines:
    """The stages as a counted loop."""
    table = b.constant(np.array(masks, dtype_of(element(lines.positions))))
    constants, initial = [table, *order.captured], lines.values()
    block = Block(arg_types=[tensor((), i64), *(value.type for value in (*constants, *initial))])
    inner = OpBuilder(block, location=b.location, pass_name=b.pass_name)
    iteration, stages, *rest = block.args
    captured, carried = rest[: len(order.captured)], rest[len(order.captured) :]
    mask = inner.reshape(inner.dynamic_slice(stages, [iteration], [1]), [])
    after = _stage(inner, lines.moved(carried), order, mask, captured)
    block.add_op(hlo.ReturnOp.create(operands=after.values()))
    properties = {"constants": int_attr(len(constants))}
    operands = [b.scalar(len(masks), i64), *constants, *initial]
    return lines.moved(b.create(core.ForOp, operands, [value.type for value in initial], properties, [Region([block])]))


def _stage(b: OpBuilder, lines: Lines, order: Order, mask: Value, captured: Values) -> Lines:
    """One comparison of all elements with their partners."""
    n, extents = lines.extents[1], lines.extents
    here = b.iota(0, tensor([n], element(lines.positions)))
    partner = b.xor(here, b.broadcast_in_dim(mask, [], [n]))
    is_lower, exists = b.compare("LT", here, partner), b.compare("LT", partner, b.full_like(partner, n))
    values = lines.values()
    others = [_taken(b, x, partner) for x in values]
    other_is_ahead = b.compare("LT", others[-1], lines.positions)
    behind, ahead = ([b.select(other_is_ahead, x, y) for x, y in zip(*sides, strict=True)] for sides in ((values, others), (others, values)))
    behind_first = order.goes_first(b, behind[:-1], ahead[:-1], captured)
    if lines.count is not None:
        behind_first = b.and_(behind_first, b.compare("LT", behind[-1], b.full_like(behind[-1], lines.count)))
    other_first = b.xor(behind_first, other_is_ahead)
    moves = b.and_(b.broadcast_in_dim(exists, [1], extents), b.not_(b.xor(other_first, b.broadcast_in_dim(is_lower, [1], extents))))
    return lines.moved([b.select(moves, y, x) for x, y in zip(values, others, strict=True)])


def _taken(b: OpBuilder, x: Value, positions: Value) -> Value:
    """The elements at some positions along the second of three dimensions."""
    outer, n, inner = shape(x)
    numbers = GatherDimensionNumbersAttr(dimensions((0, 2)), dimensions((1,)), dimensions(()), dimensions(()), dimensions((1,)), int_attr(1))
    return b.gather(x, b.reshape(positions, [n, 1]), numbers, [outer, 1, inner], [outer, n, inner])


def moved_along(b: OpBuilder, x: Value, positions: Value) -> Value:
    """The element of x at each position along the second of three dimensions, which differ from line to line."""
    (outer, _, inner), n = shape(x), shape(positions)[1]
    batch = dimensions((0, 2))
    numbers = GatherDimensionNumbersAttr(dimensions(()), dimensions((1,)), batch, batch, dimensions((1,)), int_attr(3))
    return b.gather(x, b.reshape(positions, [outer, n, inner, 1]), numbers, [1, 1, 1], [outer, n, inner])
