"""Derivatives of reductions and cumulative ops along dimensions."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec import Struct

from wengert.dialects import core
from wengert.dialects.builder import OpBuilder, Value
from wengert.dialects.core import Extreme, Kind
from wengert.ir.attributes import bool_attr, int_of, ints
from wengert.ir.tensor_types import element, i32, shape, tensor
from wengert.transforms.ad.building_blocks.associative_scan import Direction, along, interleaved
from wengert.transforms.ad.case import Arg, Case
from wengert.transforms.ad.errors import refuse
from wengert.transforms.ad.rule import LinearMap, Partial, Tangent, derivative, same_op, sum_of, transpose, where


def restore(b: OpBuilder, reduced: Value, dims: Sequence[int], extents: Sequence[int]) -> Value:
    """Broadcasts a reduced tensor along the reduced dimensions."""
    return b.broadcast_in_dim(reduced, [d for d in range(len(extents)) if d not in dims], extents)


@derivative(core.ReduceOp)
def reduce(b: OpBuilder, op: core.ReduceOp) -> LinearMap:
    """Sum: dy = sum dx. Extremum: dy = the mean of dx over the elements that attain it. Product: dy = sum_i (product of the others) dx_i."""
    dims, kind = ints(op.dimensions), op.kind.data
    if kind is Kind.add:
        return same_op(op, [0])
    if kind in (Kind.max, Kind.min):
        # dy = the mean of dx over the elements that attain the extremum; others are selected away, not multiplied by 0
        attains = b.compare("EQ", op.operand, restore(b, op.result, dims, shape(op.operand)))
        count = b.reduce_sum(b.select(attains, b.full_like(op.operand, 1), b.full_like(op.operand, 0)), dims)
        chosen = where(attains)
        return sum_of([lambda lb, x_dot: lb.divide(lb.reduce_sum(chosen(lb, x_dot), dims), count)])
    if kind is Kind.mul:
        # dy = sum_i (product of the others) dx_i, which is correct for zero elements too
        return sum_of([weighted_sum(product_of_others(b, op.operand, dims), dims)])
    raise refuse(op, f"of kind {kind} has no derivative")


def weighted_sum(weights: Value, dims: Sequence[int]) -> Partial:
    """Scaling by weights, then summation along dimensions."""
    return lambda lb, x_dot: lb.reduce_sum(lb.multiply(x_dot, weights), dims)


def product_of_others(b: OpBuilder, x: Value, dims: Sequence[int]) -> Value:
    """At each position, the product of all other elements along the dimensions (without division, for zeros)."""
    extents = shape(x)
    others = [d for d in range(len(extents)) if d not in dims]
    order = [*others, *sorted(dims)]
    count = 1
    for d in dims:
        count *= extents[d]
    rows = b.reshape(b.transpose(x, order), [*(extents[d] for d in others), count])
    line = len(others)
    before = _shifted(b, b.cumulative(Kind.mul, rows, line), line, 1, 1)
    after = _shifted(b, b.cumulative(Kind.mul, rows, line, reverse=True), line, -1, 1)
    product = b.reshape(b.multiply(before, after), [extents[d] for d in order])
    return b.transpose(product, [order.index(d) for d in range(len(extents))])


def _shifted(b: OpBuilder, x: Value, dim: int, by: int, fill: float) -> Value:
    """Shifts x along a dimension (toward higher positions if positive), and fills with a value."""
    low, high = [0] * len(shape(x)), [0] * len(shape(x))
    low[dim], high[dim] = by, -by
    return b.pad(x, b.scalar(fill, element(x)), low, high)


@transpose(core.ReduceOp)
def reduce_transpose(b: OpBuilder, op: core.ReduceOp, linear: Sequence[bool], y_bars: Sequence[Value]) -> Sequence[Tangent]:
    # summation <-> broadcast
    return [restore(b, y_bars[0], ints(op.dimensions), shape(op.operand))]


@derivative(core.ArgReduceOp)
def argreduce(b: OpBuilder, op: core.ArgReduceOp) -> LinearMap:
    # d value = dx at the position of the extremum; the position itself is an integer
    dim, extents = int_of(op.dimension), shape(op.operand)
    index = restore(b, op.index, [dim], extents)
    chosen = b.compare("EQ", b.iota(dim, tensor(extents, element(op.index))), index)

    def apply(lb: OpBuilder, tangents: Sequence[Tangent]) -> Sequence[Tangent]:
        x_dot = tangents[0]
        assert x_dot is not None
        return [lb.reduce_sum(lb.select(chosen, x_dot, lb.full_like(x_dot, 0)), [dim]), None]

    return apply


@derivative(core.CumulativeOp)
def cumulative(b: OpBuilder, op: core.CumulativeOp) -> LinearMap:
    """Sum: dy = the running sum of dx. Others: dy by the derivative of each step of a scan over a tree."""
    kind = op.kind.data
    if kind is Kind.add:
        return same_op(op, [0])
    combine = {Kind.mul: _product_step, Kind.max: _extremum_step, Kind.min: _extremum_step}.get(kind)
    if combine is None:
        raise refuse(op, f"of kind {kind} has no derivative")
    return sum_of([_scan(b, op, combine)])


Step = Callable[[OpBuilder, Kind, Value, Value], tuple[Value, Value, Value]]
"""Combines an element with the previous partial result: the new partial result, and its derivatives by the two."""


def _product_step(b: OpBuilder, kind: Kind, current: Value, previous: Value) -> tuple[Value, Value, Value]:
    return b.multiply(current, previous), previous, current


def _extremum_step(b: OpBuilder, kind: Kind, current: Value, previous: Value) -> tuple[Value, Value, Value]:
    y = b.maximum(current, previous) if kind is Kind.max else b.minimum(current, previous)
    one, half, zero = (b.full_like(y, v) for v in (1, 0.5, 0))
    tie = b.compare("EQ", current, previous)

    def share(x: Value) -> Value:
        return b.select(tie, half, b.select(b.compare("EQ", x, y), one, zero))

    return y, share(current), share(previous)


class _Level(Struct, frozen=True):
    """The derivatives of one level of a scan's tree.

    pair: of ``x[2i] x[2i+1]`` by its second and its first side. rest: of ``y[2i-1] x[2i]``, for 0 < 2i < n; None if there are none.
    """

    pair: tuple[Value, Value]
    rest: tuple[Value, Value] | None


def _scan(b: OpBuilder, op: core.CumulativeOp, step: Step) -> Partial:
    """The derivative of a scan over the tree of :mod:`wengert.transforms.ad.building_blocks.associative_scan`.

    So tied elements get the same shares as in JAX, which differentiates this tree. The partial results are those of the op itself.
    """
    direction, kind, levels = Direction(int_of(op.dimension), bool(int_of(op.reverse))), op.kind.data, list[_Level]()
    x, y = direction.forward(b, op.operand), direction.forward(b, op.result)
    while (n := shape(x)[0]) > 1:
        x_next, by_right, by_left = step(b, kind, along(b, x, 0, 1, n // 2, 2), along(b, x, 0, 0, n // 2, 2))
        odd, rest = along(b, y, 0, 1, n // 2, 2), None
        if count := (n - 1) // 2:
            _, by_here, by_back = step(b, kind, along(b, x, 0, 2, count, 2), along(b, odd, 0, 0, count))
            rest = by_here, by_back
        levels.append(_Level((by_right, by_left), rest))
        x, y = x_next, odd

    def tangents(lb: OpBuilder, x_dot: Value, level: int) -> Value:
        if level == len(levels):
            return x_dot
        n, at = shape(x_dot)[0], levels[level]
        pairs = _combined(lb, at.pair, along(lb, x_dot, 0, 1, n // 2, 2), along(lb, x_dot, 0, 0, n // 2, 2))
        odd, even = tangents(lb, pairs, level + 1), along(lb, x_dot, 0, 0, 1)
        if at.rest is not None:
            count = (n - 1) // 2
            later = _combined(lb, at.rest, along(lb, x_dot, 0, 2, count, 2), along(lb, odd, 0, 0, count))
            even = lb.concatenate([even, later], 0)
        return interleaved(lb, even, odd)

    return lambda lb, x_dot: direction.restored(lb, tangents(lb, direction.forward(lb, x_dot), 0))


def _combined(b: OpBuilder, by: tuple[Value, Value], current: Value, previous: Value) -> Value:
    return b.add(b.multiply(current, by[0]), b.multiply(previous, by[1]))


@transpose(core.CumulativeOp)
def cumulative_transpose(b: OpBuilder, op: core.CumulativeOp, linear: Sequence[bool], y_bars: Sequence[Value]) -> Sequence[Tangent]:
    # a running sum <-> a running sum from the other end
    properties = {**op.properties, "reverse": bool_attr(not int_of(op.reverse))}
    return b.create(core.CumulativeOp, (y_bars[0],), (y_bars[0].type,), properties)


CASES = [
    Case("sum", lambda b, x: b.reduce(Kind.add, x, [0, 2]), (Arg((2, 3, 4)),)),
    Case("sum of all", lambda b, x: b.reduce(Kind.add, x, [0, 1]), (Arg((2, 3)),)),
    Case("max", lambda b, x: b.reduce(Kind.max, x, [1]), (Arg((3, 4)),)),
    Case("min", lambda b, x: b.reduce(Kind.min, x, [0]), (Arg((3, 4)),)),
    Case("product", lambda b, x: b.reduce(Kind.mul, x, [0, 2]), (Arg((2, 3, 2), 0.5, 2),)),
    Case("product with zeros", lambda b, x: b.reduce(Kind.mul, x, [1]), (Arg((3, 3), values=(1, 2, 3, 0, 5, 6, 0, 0, 7)),)),
    Case("argmax value", lambda b, x: b.argreduce(Extreme.max, x, 1, i32)[0], (Arg((3, 4)),)),
    Case("running sum", lambda b, x: b.cumulative(Kind.add, x, 1), (Arg((2, 5)),)),
    Case("running sum from the end", lambda b, x: b.cumulative(Kind.add, x, 0, reverse=True), (Arg((5,)),)),
    Case("running product", lambda b, x: b.cumulative(Kind.mul, x, 0), (Arg((6, 2), 0.5, 2),)),
    Case("running product with a zero", lambda b, x: b.cumulative(Kind.mul, x, 0), (Arg((4,), values=(2, 0, 3, 4)),)),
    Case("running product from the end", lambda b, x: b.cumulative(Kind.mul, x, 0, reverse=True), (Arg((5,), 0.5, 2),)),
    Case("running maximum", lambda b, x: b.cumulative(Kind.max, x, 0), (Arg((7,)),)),
    Case("running minimum from the end", lambda b, x: b.cumulative(Kind.min, x, 1, reverse=True), (Arg((2, 7)),)),
]
