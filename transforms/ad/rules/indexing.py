"""Derivatives of ops that read and write at computed positions. The transpose of a read is an addition, and vice versa."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from wengert.dialects import core
from wengert.dialects import stablehlo as hlo
from wengert.dialects.builder import OpBuilder, Value
from wengert.dialects.core import Kind
from wengert.dialects.stablehlo.attributes import GatherDimensionNumbersAttr, ScatterDimensionNumbersAttr, dimensions
from wengert.ir.attributes import int_attr, int_of, ints
from wengert.ir.tensor_types import dtype_of, element, i32, i64, is_unsigned, largest_integer, shape, size, tensor, type_of
from wengert.transforms.ad.building_blocks.scatter_numbers import gather_numbers, scatter_numbers
from wengert.transforms.ad.building_blocks.scatter_products import product_of_others
from wengert.transforms.ad.case import Arg, Case
from wengert.transforms.ad.errors import refuse
from wengert.transforms.ad.rule import InPlaceAdd, LinearMap, Tangent, derivative, same_op, transpose, where
from wengert.transforms.analysis.ranges import interval

# -- slices


@transpose(hlo.DynamicSliceOp)
def dynamic_slice(b: OpBuilder, op: hlo.DynamicSliceOp, linear: Sequence[bool], y_bars: Sequence[Value]) -> Sequence[Tangent | InPlaceAdd]:
    # both ops clamp their start in the same way
    def accumulate(so_far: Tangent) -> Value:
        if so_far is None:
            return b.dynamic_update_slice(b.zeros(type_of(op.operand)), y_bars[0], op.start_indices)
        current = b.dynamic_slice(so_far, op.start_indices, shape(y_bars[0]))
        return b.dynamic_update_slice(so_far, b.add(current, y_bars[0]), op.start_indices)

    return [InPlaceAdd(accumulate), *[None] * len(op.start_indices)]


@transpose(hlo.DynamicUpdateSliceOp)
def dynamic_update_slice(b: OpBuilder, op: hlo.DynamicUpdateSliceOp, linear: Sequence[bool], y_bars: Sequence[Value]) -> Sequence[Tangent]:
    y_bar, starts = y_bars[0], op.start_indices
    x_bar = b.dynamic_update_slice(y_bar, b.zeros(type_of(op.update)), starts) if linear[0] else None
    update_bar = b.dynamic_slice(y_bar, starts, shape(op.update)) if linear[1] else None
    return [x_bar, update_bar, *[None] * len(starts)]


# -- gather


@transpose(hlo.GatherOp)
def gather(b: OpBuilder, op: hlo.GatherOp, linear: Sequence[bool], y_bars: Sequence[Value]) -> Sequence[Tangent | InPlaceAdd]:
    # gather clamps its start indices, and scatter drops out-of-bounds windows; so clamp, then add
    numbers = scatter_numbers(op.dimension_numbers)
    starts = clamped_starts(b, op.start_indices, op.dimension_numbers, shape(op.operand), ints(op.slice_sizes))
    is_sorted = op.indices_are_sorted is not None and bool(int_of(op.indices_are_sorted))

    def accumulate(so_far: Tangent) -> Value:
        base = b.zeros(type_of(op.operand)) if so_far is None else so_far
        return b.scatter(Kind.add, base, starts, y_bars[0], numbers, sorted=is_sorted)

    return [InPlaceAdd(accumulate), None]


def clamped_starts(b: OpBuilder, starts: Value, numbers: GatherDimensionNumbersAttr, extents: Sequence[int], sizes: Sequence[int]) -> Value:
    """Clamps start indices as gather does: to [0, extent - size] of the dimension that each one indexes."""
    largest = largest_integer(element(starts))  # an 8-bit index may be smaller than the extent
    limits = [min(extents[d] - sizes[d], largest) for d in numbers.dims("start_index_map")]
    vector_dim = numbers.index_vector_dim.value.data
    per_component = np.array(limits, dtype_of(element(starts)))
    if vector_dim < len(shape(starts)):
        high = b.broadcast_in_dim(b.constant(per_component), [vector_dim], shape(starts))
    else:
        high = b.full(limits[0], type_of(starts))
    low, high_limit = interval(starts) or (None, None)
    if not is_unsigned(element(starts)) and (low is None or low < 0):
        starts = b.maximum(starts, b.full_like(starts, 0))
    return starts if high_limit is not None and high_limit <= min(limits) else b.minimum(starts, high)


# -- scatter


@derivative(core.ScatterOp)
def scatter(b: OpBuilder, op: core.ScatterOp) -> LinearMap:
    """Sum: dy = dx + scatter(du). Replaced: du where it is written, else dx. Product, extremum: by the factors, or what attains it."""
    kind = op.kind.data
    if is_out_of_bounds(op):
        return lambda lb, tangents: [tangents[0]]
    if kind is Kind.add or (kind is Kind.set and _has_distinct_positions(op)):
        return same_op(op, [0, 2])
    if kind is Kind.set:
        return _scatter_set(b, op)
    if kind is Kind.mul:
        return _scatter_mul(b, op)
    if kind in (Kind.max, Kind.min):
        return _scatter_extremum(b, op)
    raise refuse(op, f"of kind {kind} has no derivative")


def _has_distinct_positions(op: core.ScatterOp) -> bool:
    """Whether no position is written twice: the op declares it, or there is only one index vector."""
    components = len(op.scatter_dimension_numbers.dims("scatter_dims_to_operand_dims"))
    return bool(int_of(op.unique_indices)) or size(op.scatter_indices) <= components


def _gather_back(b: OpBuilder, op: core.ScatterOp, x: Value) -> Value:
    """The elements of x at the positions that the scatter writes to, in the shape of the updates (clamped if out of bounds)."""
    numbers = gather_numbers(op.scatter_dimension_numbers)
    return b.gather(x, op.scatter_indices, numbers, window_sizes(op), shape(op.updates))


def is_out_of_bounds(op: core.ScatterOp) -> bool:
    """Whether the operand is smaller than an update window (it may be empty), so that the result is the operand."""
    return any(window > n for window, n in zip(window_sizes(op), shape(op.operand), strict=True))


def window_sizes(op: core.ScatterOp) -> list[int]:
    """The extents of an update window in the operand's dimensions."""
    numbers = op.scatter_dimension_numbers
    absent = {*numbers.dims("inserted_window_dims"), *numbers.dims("input_batching_dims")}
    window = iter(shape(op.updates)[d] for d in numbers.dims("update_window_dims"))
    return [1 if d in absent else next(window) for d in range(len(shape(op.operand)))]


def _scatter_set(b: OpBuilder, op: core.ScatterOp) -> LinearMap:
    """Positions may repeat, and the last update wins: number the updates, scatter the numbers like the updates, and
    compare which number is at each position."""
    index = i32 if size(op.updates) < 2**31 - 1 else i64
    count = size(op.updates)
    numbered = b.reshape(b.iota(0, tensor([count], index)), shape(op.updates))
    numbered = b.add(numbered, b.full_like(numbered, 1))
    winners = b.one(
        core.ScatterOp, (b.zeros(tensor(shape(op.operand), index)), op.scatter_indices, numbered), tensor(shape(op.operand), index), **op.properties
    )
    untouched = b.compare("EQ", winners, b.full_like(winners, 0))
    wins = b.and_(b.compare("EQ", _gather_back(b, op, winners), numbered), _in_bounds(b, op))

    def apply(lb: OpBuilder, tangents: Sequence[Tangent]) -> Sequence[Tangent]:
        x_dot, _, update_dot = tangents
        kept = None if x_dot is None else lb.select(untouched, x_dot, lb.full_like(x_dot, 0))
        if update_dot is None:
            return [kept]
        winning = lb.select(wins, update_dot, lb.full_like(update_dot, 0))
        base = lb.zeros(type_of(op.operand)) if kept is None else kept
        return [lb.scatter(Kind.add, base, op.scatter_indices, winning, op.scatter_dimension_numbers)]

    return apply


def _in_bounds(b: OpBuilder, op: core.ScatterOp) -> Value:
    """Which updates are written: those whose window is in bounds."""
    numbers = op.scatter_dimension_numbers
    starts = op.scatter_indices
    clamped = clamped_starts(b, starts, gather_numbers(numbers), shape(op.operand), window_sizes(op))
    fits = b.compare("EQ", starts, clamped)
    vector_dim = numbers.index_vector_dim.value.data
    if vector_dim < len(shape(starts)):
        fits = b.reduce(Kind.and_, fits, [vector_dim])
    scatter_dims = [d for d in range(len(shape(op.updates))) if d not in numbers.dims("update_window_dims")]
    return b.broadcast_in_dim(fits, scatter_dims, shape(op.updates))


def _scatter_mul(b: OpBuilder, op: core.ScatterOp) -> LinearMap:
    """y = x * product of the updates at each position, so an update's factor is x * product of the others there."""
    ones = b.full_like(op.operand, 1)
    factor = b.one(core.ScatterOp, (ones, op.scatter_indices, op.updates), op.operand.type, **op.properties)

    def apply(lb: OpBuilder, tangents: Sequence[Tangent]) -> Sequence[Tangent]:
        x_dot, _, update_dot = tangents
        y_dot = None if x_dot is None else lb.multiply(x_dot, factor)
        if update_dot is None:
            return [y_dot]
        others = _gather_back(b, op, op.operand) if _has_distinct_positions(op) else _other_factors(b, op)
        # a dropped update has no derivative, even if the element that was gathered for it is NaN
        others = b.select(_in_bounds(b, op), others, b.full_like(others, 0))
        term = lb.multiply(update_dot, others)
        base = lb.zeros(type_of(op.operand)) if y_dot is None else y_dot
        return [lb.scatter(Kind.add, base, op.scatter_indices, term, op.scatter_dimension_numbers)]

    return apply


def _other_factors(b: OpBuilder, op: core.ScatterOp) -> Value:
    """For each update, the operand times all other updates at its position."""
    index = i32 if size(op.operand) < 2**31 - 1 else i64
    numbers = b.reshape(b.iota(0, tensor([size(op.operand)], index)), shape(op.operand))
    positions = _gather_back(b, op, numbers)
    written = b.select(_in_bounds(b, op), positions, b.full_like(positions, size(op.operand)))  # dropped updates are a group of their own
    return b.multiply(_gather_back(b, op, op.operand), product_of_others(b, op.updates, written))


def _scatter_extremum(b: OpBuilder, op: core.ScatterOp) -> LinearMap:
    """dy = the mean of the tangents of the operand's element and those updates that attain the extremum."""
    y, numbers = op.result, op.scatter_dimension_numbers
    update_wins = b.and_(b.compare("EQ", op.updates, _gather_back(b, op, y)), _in_bounds(b, op))
    operand_wins = b.compare("EQ", op.operand, y)

    def ones(won: Value, like: Value) -> Value:
        return b.select(won, b.full_like(like, 1), b.full_like(like, 0))

    count = b.scatter(Kind.add, ones(operand_wins, y), op.scatter_indices, ones(update_wins, op.updates), numbers)

    def apply(lb: OpBuilder, tangents: Sequence[Tangent]) -> Sequence[Tangent]:
        x_dot, _, update_dot = tangents
        total = None if x_dot is None else where(operand_wins)(lb, x_dot)
        if update_dot is not None:
            base = lb.zeros(type_of(y)) if total is None else total
            total = lb.scatter(Kind.add, base, op.scatter_indices, where(update_wins)(lb, update_dot), numbers)
        assert total is not None
        return [lb.divide(total, count)]

    return apply


@transpose(core.ScatterOp)
def scatter_transpose(b: OpBuilder, op: core.ScatterOp, linear: Sequence[bool], y_bars: Sequence[Value]) -> Sequence[Tangent]:
    y_bar, kind = y_bars[0], op.kind.data
    if is_out_of_bounds(op):
        return [y_bar, None, b.zeros(type_of(op.updates)) if linear[2] else None]
    x_bar: Tangent = None
    if linear[0]:
        zeros = b.zeros(type_of(op.updates))
        x_bar = y_bar if kind is Kind.add else b.scatter(Kind.set, y_bar, op.scatter_indices, zeros, op.scatter_dimension_numbers, unique=True)
    if not linear[2]:
        return [x_bar, None, None]
    # the gather clamps where the scatter dropped the update: mask these
    picked = _gather_back(b, op, y_bar)
    return [x_bar, None, b.select(_in_bounds(b, op), picked, b.full_like(picked, 0))]


def _index(*values: int) -> Arg:
    return Arg((len(values), 1), values=values, dtype="int32")


_ROWS = GatherDimensionNumbersAttr(dimensions((1,)), dimensions((0,)), dimensions(()), dimensions(()), dimensions((0,)), int_attr(1))
_PLACES = ScatterDimensionNumbersAttr(dimensions((1,)), dimensions((0,)), dimensions(()), dimensions(()), dimensions((0,)), int_attr(1))


def _scatter_case(kind: Kind, name: str, low: float, high: float, *places: int) -> Case:
    def build(b: OpBuilder, x: Value, u: Value, i: Value) -> Value:
        return b.scatter(kind, x, i, u, _PLACES)

    return Case(name, build, (Arg((4, 3), low, high), Arg((len(places), 3), low, high), _index(*places)))


CASES = [
    Case("dynamic slice", lambda b, x, i: b.dynamic_slice(x, [i, b.full_like(i, 9)], [2, 2]), (Arg((4, 5)), Arg((), values=(1,), dtype="int32"))),
    Case("dynamic update", lambda b, x, u, i: b.dynamic_update_slice(x, u, [i]), (Arg((5,)), Arg((2,)), Arg((), values=(9,), dtype="int32"))),
    Case("gather rows", lambda b, x, i: b.gather(x, i, _ROWS, [1, 3], [4, 3]), (Arg((4, 3)), _index(2, 0, 2, 99))),
    _scatter_case(Kind.add, "scatter add", -1, 1, 2, 0, 2, 9),
    _scatter_case(Kind.set, "scatter set with duplicates", -1, 1, 2, 0, 2, 9),
    _scatter_case(Kind.set, "scatter set once", -1, 1, 2),
    _scatter_case(Kind.mul, "scatter mul", 0.5, 2, 2, 0, 2, 9),
    _scatter_case(Kind.mul, "scatter mul once", -1, 1, 2),
    _scatter_case(Kind.mul, "scatter mul of zeros", 0, 0, 2, 0, 2, 9, 2),
    _scatter_case(Kind.max, "scatter max", -1, 1, 2, 0, 2, 9),
    _scatter_case(Kind.min, "scatter min", -1, 1, 1, 1, 3),
]
