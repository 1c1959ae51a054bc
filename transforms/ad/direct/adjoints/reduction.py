"""Adjoints of reductions and cumulative ops along dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from wengert.dialects import core
from wengert.dialects.builder import OpBuilder, Value
from wengert.dialects.core import Kind
from wengert.ir.attributes import int_of, ints
from wengert.ir.tensor_types import element, rank, shape, tensor
from wengert.transforms.ad.building_blocks.associative_scan import Direction, along, interleaved
from wengert.transforms.ad.direct.adjoint import Bars, adjoint
from wengert.transforms.ad.errors import refuse


def broadcast_reduced(b: OpBuilder, y: Value, dims: Sequence[int], like: Value) -> Value:
    """Broadcasts a reduced tensor along the reduced dimensions."""
    return b.broadcast_in_dim(y, [d for d in range(rank(like)) if d not in dims], shape(like))


@adjoint(core.ReduceOp)
def reduce(b: OpBuilder, op: core.ReduceOp, y_bars: Sequence[Value], needed: Sequence[bool]) -> Bars:
    x, dims, kind, y_bar = op.operand, ints(op.dimensions), op.kind.data, y_bars[0]
    if kind is Kind.add:
        return [broadcast_reduced(b, y_bar, dims, x)]
    if kind in (Kind.max, Kind.min):
        # equal shares to the elements that attain the extremum
        attains = b.compare("EQ", x, broadcast_reduced(b, op.result, dims, x))
        zero = b.full_like(x, 0)
        count = b.reduce_sum(b.select(attains, b.full_like(x, 1), zero), dims)
        return [b.select(attains, broadcast_reduced(b, b.divide(y_bar, count), dims, x), zero)]
    if kind is Kind.mul:
        return [b.multiply(broadcast_reduced(b, y_bar, dims, x), _others(b, x, dims))]
    raise refuse(op, f"of kind {kind} has no adjoint")


def _others(b: OpBuilder, x: Value, dims: Sequence[int]) -> Value:
    """For each element the product of the others along dims: those before times those after, without division."""
    kept = [d for d in range(rank(x)) if d not in dims]
    order = [*kept, *dims]
    transposed = b.transpose(x, order)
    count = prod(shape(x)[d] for d in dims)
    line = b.reshape(transposed, [*(shape(x)[d] for d in kept), count])
    at = len(kept)
    before = shifted(b, b.cumulative(Kind.mul, line, at), at, 1, 1)
    after = shifted(b, b.cumulative(Kind.mul, line, at, reverse=True), at, -1, 1)
    product = b.reshape(b.multiply(before, after), shape(transposed))
    return b.transpose(product, sorted(range(rank(x)), key=lambda i: order[i]))


def shifted(b: OpBuilder, x: Value, dim: int, by: int, fill: float) -> Value:
    """Shifts x along a dimension toward higher positions, and fills with a value."""
    low = [by if d == dim else 0 for d in range(rank(x))]
    return b.pad(x, b.scalar(fill, element(x)), low, [-edge for edge in low])


@adjoint(core.ArgReduceOp)
def argreduce(b: OpBuilder, op: core.ArgReduceOp, y_bars: Sequence[Value], needed: Sequence[bool]) -> Bars:
    # all to the position of the extremum
    x, dim = op.operand, int_of(op.dimension)
    places = b.iota(dim, tensor(shape(x), element(op.index)))
    chosen = b.compare("EQ", places, broadcast_reduced(b, op.index, [dim], x))
    return [b.select(chosen, broadcast_reduced(b, y_bars[0], [dim], x), b.full_like(x, 0))]


@adjoint(core.CumulativeOp)
def cumulative(b: OpBuilder, op: core.CumulativeOp, y_bars: Sequence[Value], needed: Sequence[bool]) -> Bars:
    kind, dim, backward = op.kind.data, int_of(op.dimension), bool(int_of(op.reverse))
    if kind is Kind.add:
        # x_i is in every sum from i on
        return [b.cumulative(Kind.add, y_bars[0], dim, reverse=not backward)]
    if kind in (Kind.mul, Kind.max, Kind.min):
        direction = Direction(dim, backward)
        x, y, y_bar = [direction.forward(b, v) for v in (op.operand, op.result, y_bars[0])]
        return [direction.restored(b, _tree(b, kind, x, y, y_bar))]
    raise refuse(op, f"of kind {kind} has no adjoint")


def _tree(b: OpBuilder, kind: Kind, x: Value, y: Value, y_bar: Value) -> Value:
    """The adjoint of the scan ``y`` of ``x`` along the first dimension, level by level of the tree."""
    n, half, rest = shape(x)[0], shape(x)[0] // 2, (shape(x)[0] - 1) // 2
    if n < 2:
        return y_bar
    first, second, odd = along(b, x, 0, 0, half, 2), along(b, x, 0, 1, half, 2), along(b, y, 0, 1, half, 2)
    even_bar, odd_bar = along(b, y_bar, 0, 0, rest + 1, 2), along(b, y_bar, 0, 1, half, 2)
    if rest:
        # y[2i] = y[2i-1] x[2i] for 0 < 2i < n, and y[0] = x[0]
        current_bar, previous_bar = _split(b, kind, along(b, x, 0, 2, rest, 2), along(b, odd, 0, 0, rest), along(b, even_bar, 0, 1, rest))
        even_bar = b.concatenate([along(b, even_bar, 0, 0, 1), current_bar], 0)
        odd_bar = b.add(odd_bar, _with_zero_rows(b, previous_bar, half - rest))
    pairs_bar = _tree(b, kind, combine(b, kind, second, first), odd, odd_bar)
    second_bar, first_bar = _split(b, kind, second, first, pairs_bar)
    return interleaved(b, b.add(even_bar, _with_zero_rows(b, first_bar, rest + 1 - half)), second_bar)


def _with_zero_rows(b: OpBuilder, x: Value, by: int) -> Value:
    """Appends rows of zeros."""
    none = [0] * (rank(x) - 1)
    return b.pad(x, b.scalar(0, element(x)), [0, *none], [by, *none]) if by else x


def combine(b: OpBuilder, kind: Kind, x: Value, y: Value) -> Value:
    """Combines two elements."""
    return b.multiply(x, y) if kind is Kind.mul else b.maximum(x, y) if kind is Kind.max else b.minimum(x, y)


def _split(b: OpBuilder, kind: Kind, current: Value, previous: Value, bar: Value) -> tuple[Value, Value]:
    if kind is Kind.mul:
        return b.multiply(bar, previous), b.multiply(bar, current)
    wins = b.compare("GT" if kind is Kind.max else "LT", current, previous)
    loses = b.compare("LT" if kind is Kind.max else "GT", current, previous)
    # half to each at a tie, none if one is NaN
    otherwise = b.select(b.compare("EQ", current, previous), b.multiply(bar, b.full_like(bar, 0.5)), b.full_like(bar, 0))
    return b.select(wins, bar, otherwise), b.select(loses, bar, otherwise)
