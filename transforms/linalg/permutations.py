"""``core.pivots_to_permutation`` as selections, and the inverse of a permutation as a reduction.

Exchanging rows one after the other is a chain of dependences, but each row of the result can be followed by itself: backwards through the exchanges, from
the place where it ends to the place where it began.
"""

from __future__ import annotations

from collections.abc import Sequence

from wengert.dialects import core
from wengert.dialects.builder import OpBuilder, Value
from wengert.dialects.core import Kind
from wengert.ir.tensor_types import i32, shape, tensor
from wengert.transforms.linalg.counted_loop import counted_loop
from wengert.transforms.linalg.matrices import Grid, batched, is_empty

CHUNK = 16
"""Exchanges that one iteration follows."""


def pivots_to_permutation(b: OpBuilder, op: core.PivotsToPermutationOp) -> Sequence[Value]:
    """Exchanges followed backwards, :data:`CHUNK` in an iteration, for all rows at once."""
    batch_extents, m = shape(op.permutation)[:-1], shape(op.permutation)[-1]
    places = tensor((*batch_extents, m), i32)
    if is_empty(op.pivots, op.permutation):
        return [b.iota(len(batch_extents), places)]
    pivots = batched(b, op.pivots, 1)
    batch, k = shape(pivots)
    rows = b.clamp(b.full_like(pivots, 0), b.subtract(pivots, b.full_like(pivots, 1)), b.full_like(pivots, m - 1))
    position = b.iota(1, tensor((batch, m), i32))
    if k <= CHUNK:
        for i in reversed(range(k)):
            position = _exchanged(b, position, b.full_like(position, i), b.slice(rows, (0, i), (batch, i + 1)))
        return [b.reshape(position, places.get_shape())]
    count = -(-k // CHUNK)

    def step(b: OpBuilder, number: Value, constants: Sequence[Value], carried: Sequence[Value]) -> Sequence[Value]:
        (position,) = carried
        first = b.multiply(b.subtract(b.scalar(count - 1, i32), number), b.scalar(CHUNK, i32))
        for i in reversed(range(CHUNK)):
            at = b.add(first, b.scalar(i, i32))
            exchanged = _exchanged(b, position, b.broadcast_in_dim(at, [], shape(position)), b.dynamic_slice(constants[0], [b.scalar(0, i32), at], (batch, 1)))
            position = exchanged
        return [position]

    padded = _padded(b, rows, count * CHUNK)
    return [b.reshape(counted_loop(b, count, [padded], [position], step)[0], places.get_shape())]


def _padded(b: OpBuilder, rows: Value, count: int) -> Value:
    """As many exchanges, of which those at the end are of a row with itself."""
    batch, k = shape(rows)
    if k == count:
        return rows
    rest = b.add(b.iota(1, tensor((batch, count - k), i32)), b.full(k, tensor((batch, count - k), i32)))
    return b.concatenate([rows, rest], 1)


def _exchanged(b: OpBuilder, position: Value, i: Value, row: Value) -> Value:
    """Where what is at a position was before row i was exchanged with another one (``[batch, 1]``)."""
    other = b.broadcast_in_dim(row, (0, 1), shape(position))
    moved = b.select(b.compare("EQ", position, other), i, position)
    return b.select(b.compare("EQ", position, i), other, moved)


def inverse(b: OpBuilder, permutation: Value) -> Value:
    """The position of each number in a permutation: ``[batch, n]`` of i32. Of a number that is there several times the last position, of one that is not, 0."""
    batch, n = shape(permutation)
    grid = Grid(b, (batch, n, n))
    here = b.compare("EQ", grid.across(permutation), grid.rows)
    return b.reduce(Kind.max, b.select(here, grid.columns, grid.full(0, i32)), (2,))
