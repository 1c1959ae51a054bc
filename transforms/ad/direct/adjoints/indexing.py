"""Adjoints of ops that read and write at computed positions.

A read adds to where it read from; it does so in place, so that reading a row of a large tensor in every trip of a loop costs
a row per trip in the reverse sweep too.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from wengert.dialects import core
from wengert.dialects import stablehlo as hlo
from wengert.dialects.builder import OpBuilder, Value
from wengert.dialects.core import Kind
from wengert.dialects.stablehlo.attributes import GatherDimensionNumbersAttr, ScatterDimensionNumbersAttr
from wengert.ir.attributes import int_of, ints
from wengert.ir.tensor_types import dtype_of, element, i32, i64, is_unsigned, rank, shape, size, tensor, type_of
from wengert.transforms.ad.building_blocks.scatter_products import product_of_others
from wengert.transforms.ad.direct.adjoint import Bars, adjoint
from wengert.transforms.ad.errors import refuse
from wengert.transforms.ad.rule import Into
from wengert.transforms.ad.rules.indexing import fits_nowhere

# -- slices at positions


@adjoint(hlo.DynamicSliceOp)
def dynamic_slice(b: OpBuilder, op: hlo.DynamicSliceOp, y_bars: Sequence[Value], needed: Sequence[bool]) -> Bars:
    # reading and writing clamp the position in the same way
    def accumulate(held: Value | None) -> Value:
        if held is None:
            return b.dynamic_update_slice(b.zeros(type_of(op.operand)), y_bars[0], op.start_indices)
        so_far = b.dynamic_slice(held, op.start_indices, shape(op.result))
        return b.dynamic_update_slice(held, b.add(so_far, y_bars[0]), op.start_indices)

    return [Into(accumulate), *[None] * len(op.start_indices)]


@adjoint(hlo.DynamicUpdateSliceOp)
def dynamic_update_slice(b: OpBuilder, op: hlo.DynamicUpdateSliceOp, y_bars: Sequence[Value], needed: Sequence[bool]) -> Bars:
    # the update has what was written; the operand has the rest
    starts = op.start_indices
    update_bar = b.dynamic_slice(y_bars[0], starts, shape(op.update)) if needed[1] else None
    x_bar = b.dynamic_update_slice(y_bars[0], b.zeros(type_of(op.update)), starts) if needed[0] else None
    return [x_bar, update_bar, *[None] * len(starts)]


# -- gather


@adjoint(hlo.GatherOp)
def gather(b: OpBuilder, op: hlo.GatherOp, y_bars: Sequence[Value], needed: Sequence[bool]) -> Bars:
    # a gather moves windows inside, a scatter drops them: so they are moved first
    numbers = op.dimension_numbers
    written = ScatterDimensionNumbersAttr(
        numbers.offset_dims,
        numbers.collapsed_slice_dims,
        numbers.operand_batching_dims,
        numbers.start_indices_batching_dims,
        numbers.start_index_map,
        numbers.index_vector_dim,
    )
    sizes = ints(op.slice_sizes)
    room = [shape(op.operand)[d] - sizes[d] for d in numbers.dims("start_index_map")]
    starts = _moved_inside(b, op.start_indices, numbers.index_vector_dim.value.data, room)
    is_sorted = op.indices_are_sorted is not None and bool(int_of(op.indices_are_sorted))

    def accumulate(held: Value | None) -> Value:
        whole = b.zeros(type_of(op.operand)) if held is None else held
        return b.scatter(Kind.add, whole, starts, y_bars[0], written, sorted=is_sorted)

    return [Into(accumulate), None]


def _moved_inside(b: OpBuilder, starts: Value, vector_dim: int, room: Sequence[int]) -> Value:
    """Starts moved into [0, room], where ``room`` is given per component of the index vector."""
    dtype = dtype_of(element(starts))
    limits = np.array([min(n, int(np.iinfo(dtype).max)) for n in room], dtype)  # narrow indices reach less far than the operand
    if vector_dim == rank(starts):
        high = b.full(int(limits[0]), type_of(starts))
    else:
        high = b.broadcast_in_dim(b.constant(limits), [vector_dim], shape(starts))
    positive = starts if is_unsigned(element(starts)) else b.maximum(b.full_like(starts, 0), starts)
    return b.minimum(high, positive)


# -- scatter


class _Places:
    """Where a scatter writes: reads of the same places, in the shape of its updates."""

    def __init__(self, b: OpBuilder, op: core.ScatterOp):
        self.b, self.op = b, op
        self.numbers = op.scatter_dimension_numbers
        window = iter(self.numbers.dims("update_window_dims"))
        outside = {*self.numbers.dims("inserted_window_dims"), *self.numbers.dims("input_batching_dims")}
        self.sizes = [1 if d in outside else shape(op.updates)[next(window)] for d in range(rank(op.operand))]

    @property
    def distinct(self) -> bool:
        """Whether no place is written twice for sure: it says so, or there is one window only."""
        components = len(self.numbers.dims("scatter_dims_to_operand_dims"))
        return bool(int_of(self.op.unique_indices)) or size(self.op.scatter_indices) <= components

    def read(self, x: Value) -> Value:
        """What x holds there (for a window that does not fit, somewhere else)."""
        numbers = self.numbers
        read = GatherDimensionNumbersAttr(
            numbers.update_window_dims,
            numbers.inserted_window_dims,
            numbers.input_batching_dims,
            numbers.scatter_indices_batching_dims,
            numbers.scatter_dims_to_operand_dims,
            numbers.index_vector_dim,
        )
        return self.b.gather(x, self.op.scatter_indices, read, self.sizes, shape(self.op.updates))

    def write(self, kind: Kind, x: Value, updates: Value, unique: bool = False) -> Value:
        """Other values combined into another tensor at the same places."""
        return self.b.scatter(kind, x, self.op.scatter_indices, updates, self.numbers, unique=unique or bool(int_of(self.op.unique_indices)))

    def fitting(self, u_bar: Value, otherwise: Value | None = None) -> Value:
        """Zero, or another value, for the updates that were dropped, because their window does not fit."""
        b, op, numbers = self.b, self.op, self.numbers
        room = [shape(op.operand)[d] - self.sizes[d] for d in numbers.dims("scatter_dims_to_operand_dims")]
        vector_dim = numbers.index_vector_dim.value.data
        same = b.compare("EQ", op.scatter_indices, _moved_inside(b, op.scatter_indices, vector_dim, room))
        if vector_dim < rank(op.scatter_indices):
            same = b.reduce(Kind.and_, same, [vector_dim])
        lines = [d for d in range(rank(op.updates)) if d not in numbers.dims("update_window_dims")]
        return b.select(b.broadcast_in_dim(same, lines, shape(op.updates)), u_bar, b.full_like(u_bar, 0) if otherwise is None else otherwise)


@adjoint(core.ScatterOp)
def scatter(b: OpBuilder, op: core.ScatterOp, y_bars: Sequence[Value], needed: Sequence[bool]) -> Bars:
    by_kind = {Kind.add: _add, Kind.set: _set, Kind.mul: _mul, Kind.max: _extremum, Kind.min: _extremum}
    if op.kind.data not in by_kind:
        raise refuse(op, f"of kind {op.kind.data} has no adjoint")
    if fits_nowhere(op):
        return [y_bars[0], None, None]
    x_bar, u_bar = by_kind[op.kind.data](b, op, _Places(b, op), y_bars[0], needed)
    return [x_bar, None, u_bar]


Pair = tuple[Value | None, Value | None]


def _add(b: OpBuilder, op: core.ScatterOp, places: _Places, y_bar: Value, needed: Sequence[bool]) -> Pair:
    return y_bar, places.fitting(places.read(y_bar)) if needed[2] else None


def _set(b: OpBuilder, op: core.ScatterOp, places: _Places, y_bar: Value, needed: Sequence[bool]) -> Pair:
    # the operand has what was not written
    x_bar = places.write(Kind.set, y_bar, b.zeros(type_of(op.updates)), unique=places.distinct) if needed[0] else None
    if not needed[2]:
        return x_bar, None
    if places.distinct:
        return x_bar, places.fitting(places.read(y_bar))
    # of several updates of a place the last one counts: the one whose number is there if numbers are written in their place
    # (the number of an update that was dropped is nowhere)
    held = i32 if size(op.updates) < 2**31 - 1 else i64
    counted = b.iota(0, tensor([size(op.updates)], held))
    numbers = b.reshape(b.add(counted, b.full_like(counted, 1)), shape(op.updates))
    left = places.write(Kind.set, b.zeros(tensor(shape(op.operand), held)), numbers)
    counts = b.compare("EQ", places.read(left), numbers)
    return x_bar, b.select(counts, places.read(y_bar), b.zeros(type_of(op.updates)))


def _mul(b: OpBuilder, op: core.ScatterOp, places: _Places, y_bar: Value, needed: Sequence[bool]) -> Pair:
    # y = x times the updates of the place
    x_bar = b.multiply(y_bar, places.write(Kind.mul, b.full_like(op.operand, 1), op.updates)) if needed[0] else None
    if not needed[2]:
        return x_bar, None
    if places.distinct:
        return x_bar, places.fitting(places.read(b.multiply(y_bar, op.operand)))
    # an update gets the product of everything else at its place; what is dropped is a group apart
    held = i32 if size(op.operand) < 2**31 - 1 else i64
    places_of = places.read(b.reshape(b.iota(0, tensor([size(op.operand)], held)), shape(op.operand)))
    apart = b.full_like(places_of, size(op.operand))
    others = product_of_others(b, op.updates, places.fitting(places_of, apart))
    return x_bar, places.fitting(b.multiply(places.read(b.multiply(y_bar, op.operand)), others))


def _extremum(b: OpBuilder, op: core.ScatterOp, places: _Places, y_bar: Value, needed: Sequence[bool]) -> Pair:
    # equal shares to the operand's element and those updates that attain the extremum
    zero, nothing = b.full_like(op.operand, 0), b.full_like(op.updates, 0)
    stays = b.compare("EQ", op.operand, op.result)
    attains = b.compare("EQ", op.updates, places.read(op.result))
    count = places.write(Kind.add, b.select(stays, b.full_like(zero, 1), zero), b.select(attains, b.full_like(nothing, 1), nothing))
    share = b.divide(y_bar, count)
    x_bar = b.select(stays, share, zero) if needed[0] else None
    return x_bar, places.fitting(b.select(attains, places.read(share), nothing)) if needed[2] else None
