"""Adjoints of ops that read and write at computed positions.

The adjoint of a read adds where it read from, in place, so that reading a row of a large tensor in every iteration of a loop costs
one row per iteration in the reverse sweep too.
"""

from __future__ import annotations

from collections.abc import Sequence

import ml_dtypes
import numpy as np

from wengert.dialects import core
from wengert.dialects import stablehlo as hlo
from wengert.dialects.builder import OpBuilder, Value
from wengert.dialects.core import Kind
from wengert.ir.attributes import int_of, ints
from wengert.ir.tensor_types import dtype_of, element, i32, i64, is_unsigned, rank, shape, size, tensor, type_of
from wengert.transforms.ad.building_blocks.scatter_numbers import gather_numbers, scatter_numbers
from wengert.transforms.ad.building_blocks.scatter_products import product_of_others
from wengert.transforms.ad.direct.adjoint import Bars, adjoint
from wengert.transforms.ad.errors import refuse
from wengert.transforms.ad.rule import InPlaceAdd
from wengert.transforms.ad.rules.indexing import is_out_of_bounds

# -- slices at positions


@adjoint(hlo.DynamicSliceOp)
def dynamic_slice(b: OpBuilder, op: hlo.DynamicSliceOp, y_bars: Sequence[Value], needed: Sequence[bool]) -> Bars:
    # reading and writing clamp the position in the same way
    def accumulate(total: Value | None) -> Value:
        if total is None:
            return b.dynamic_update_slice(b.zeros(type_of(op.operand)), y_bars[0], op.start_indices)
        so_far = b.dynamic_slice(total, op.start_indices, shape(op.result))
        return b.dynamic_update_slice(total, b.add(so_far, y_bars[0]), op.start_indices)

    return [InPlaceAdd(accumulate), *[None] * len(op.start_indices)]


@adjoint(hlo.DynamicUpdateSliceOp)
def dynamic_update_slice(b: OpBuilder, op: hlo.DynamicUpdateSliceOp, y_bars: Sequence[Value], needed: Sequence[bool]) -> Bars:
    # the update gets the cotangent of the slice that it replaced, the operand that of all other elements
    starts = op.start_indices
    update_bar = b.dynamic_slice(y_bars[0], starts, shape(op.update)) if needed[1] else None
    x_bar = b.dynamic_update_slice(y_bars[0], b.zeros(type_of(op.update)), starts) if needed[0] else None
    return [x_bar, update_bar, *[None] * len(starts)]


# -- gather


@adjoint(hlo.GatherOp)
def gather(b: OpBuilder, op: hlo.GatherOp, y_bars: Sequence[Value], needed: Sequence[bool]) -> Bars:
    # a gather clamps windows to bounds, a scatter drops them: so they are clamped first
    numbers = op.dimension_numbers
    written = scatter_numbers(numbers)
    sizes = ints(op.slice_sizes)
    room = [shape(op.operand)[d] - sizes[d] for d in numbers.dims("start_index_map")]
    starts = _clamped(b, op.start_indices, numbers.index_vector_dim.value.data, room)
    is_sorted = op.indices_are_sorted is not None and bool(int_of(op.indices_are_sorted))

    def accumulate(total: Value | None) -> Value:
        whole = b.zeros(type_of(op.operand)) if total is None else total
        return b.scatter(Kind.add, whole, starts, y_bars[0], written, sorted=is_sorted)

    return [InPlaceAdd(accumulate), None]


def _clamped(b: OpBuilder, starts: Value, vector_dim: int, room: Sequence[int]) -> Value:
    """Clamps start indices to [0, room], with one ``room`` per component of the index vector."""
    dtype = dtype_of(element(starts))
    limits = np.array([min(n, int(ml_dtypes.iinfo(dtype).max)) for n in room], dtype)  # a narrow index may be smaller than the extent
    if vector_dim == rank(starts):
        high = b.full(int(limits[0]), type_of(starts))
    else:
        high = b.broadcast_in_dim(b.constant(limits), [vector_dim], shape(starts))
    positive = starts if is_unsigned(element(starts)) else b.maximum(b.full_like(starts, 0), starts)
    return b.minimum(high, positive)


# -- scatter


class _Positions:
    """The positions that a scatter writes to, and reads of them in the shape of its updates."""

    def __init__(self, b: OpBuilder, op: core.ScatterOp):
        self.b, self.op = b, op
        self.numbers = op.scatter_dimension_numbers
        window = iter(self.numbers.dims("update_window_dims"))
        outside = {*self.numbers.dims("inserted_window_dims"), *self.numbers.dims("input_batching_dims")}
        self.sizes = [1 if d in outside else shape(op.updates)[next(window)] for d in range(rank(op.operand))]

    @property
    def distinct(self) -> bool:
        """Whether no position is written twice: the op declares it, or there is only one window."""
        components = len(self.numbers.dims("scatter_dims_to_operand_dims"))
        return bool(int_of(self.op.unique_indices)) or size(self.op.scatter_indices) <= components

    def read(self, x: Value) -> Value:
        """The elements of x at these positions (for a window that is out of bounds, at other ones)."""
        return self.b.gather(x, self.op.scatter_indices, gather_numbers(self.numbers), self.sizes, shape(self.op.updates))

    def write(self, kind: Kind, x: Value, updates: Value, unique: bool = False) -> Value:
        """Scatters other updates into another tensor at the same positions."""
        return self.b.scatter(kind, x, self.op.scatter_indices, updates, self.numbers, unique=unique or bool(int_of(self.op.unique_indices)))

    def fitting(self, u_bar: Value, otherwise: Value | None = None) -> Value:
        """Replaces the cotangents of dropped updates, whose window is out of bounds, by zero or another value."""
        b, op, numbers = self.b, self.op, self.numbers
        room = [shape(op.operand)[d] - self.sizes[d] for d in numbers.dims("scatter_dims_to_operand_dims")]
        vector_dim = numbers.index_vector_dim.value.data
        same = b.compare("EQ", op.scatter_indices, _clamped(b, op.scatter_indices, vector_dim, room))
        if vector_dim < rank(op.scatter_indices):
            same = b.reduce(Kind.and_, same, [vector_dim])
        lines = [d for d in range(rank(op.updates)) if d not in numbers.dims("update_window_dims")]
        return b.select(b.broadcast_in_dim(same, lines, shape(op.updates)), u_bar, b.full_like(u_bar, 0) if otherwise is None else otherwise)


@adjoint(core.ScatterOp)
def scatter(b: OpBuilder, op: core.ScatterOp, y_bars: Sequence[Value], needed: Sequence[bool]) -> Bars:
    by_kind = {Kind.add: _add, Kind.set: _set, Kind.mul: _mul, Kind.max: _extremum, Kind.min: _extremum}
    if op.kind.data not in by_kind:
        raise refuse(op, f"of kind {op.kind.data} has no adjoint")
    if is_out_of_bounds(op):
        return [y_bars[0], None, None]
    x_bar, u_bar = by_kind[op.kind.data](b, op, _Positions(b, op), y_bars[0], needed)
    return [x_bar, None, u_bar]


Pair = tuple[Value | None, Value | None]


def _add(b: OpBuilder, op: core.ScatterOp, targets: _Positions, y_bar: Value, needed: Sequence[bool]) -> Pair:
    return y_bar, targets.fitting(targets.read(y_bar)) if needed[2] else None


def _set(b: OpBuilder, op: core.ScatterOp, targets: _Positions, y_bar: Value, needed: Sequence[bool]) -> Pair:
    # the operand gets the cotangents of the elements that were not written
    x_bar = targets.write(Kind.set, y_bar, b.zeros(type_of(op.updates)), unique=targets.distinct) if needed[0] else None
    if not needed[2]:
        return x_bar, None
    if targets.distinct:
        return x_bar, targets.fitting(targets.read(y_bar))
    # of several updates of one position the last one wins: the one whose number is there after a scatter of the updates' numbers
    # (the number of a dropped update is nowhere)
    index_type = i32 if size(op.updates) < 2**31 - 1 else i64
    counted = b.iota(0, tensor([size(op.updates)], index_type))
    numbers = b.reshape(b.add(counted, b.full_like(counted, 1)), shape(op.updates))
    winners = targets.write(Kind.set, b.zeros(tensor(shape(op.operand), index_type)), numbers)
    counts = b.compare("EQ", targets.read(winners), numbers)
    return x_bar, b.select(counts, targets.read(y_bar), b.zeros(type_of(op.updates)))


def _mul(b: OpBuilder, op: core.ScatterOp, targets: _Positions, y_bar: Value, needed: Sequence[bool]) -> Pair:
    # y = x times the updates of its position
    x_bar = b.multiply(y_bar, targets.write(Kind.mul, b.full_like(op.operand, 1), op.updates)) if needed[0] else None
    if not needed[2]:
        return x_bar, None
    if targets.distinct:
        return x_bar, targets.fitting(targets.read(b.multiply(y_bar, op.operand)))
    # an update gets the product of all other factors of its position; dropped updates are a group of their own
    index_type = i32 if size(op.operand) < 2**31 - 1 else i64
    positions = targets.read(b.reshape(b.iota(0, tensor([size(op.operand)], index_type)), shape(op.operand)))
    own_group = b.full_like(positions, size(op.operand))
    others = product_of_others(b, op.updates, targets.fitting(positions, own_group))
    return x_bar, targets.fitting(b.multiply(targets.read(b.multiply(y_bar, op.operand)), others))


def _extremum(b: OpBuilder, op: core.ScatterOp, targets: _Positions, y_bar: Value, needed: Sequence[bool]) -> Pair:
    # equal shares to the operand's element and those updates that attain the extremum
    zero, zero_updates = b.full_like(op.operand, 0), b.full_like(op.updates, 0)
    stays = b.compare("EQ", op.operand, op.result)
    attains = b.compare("EQ", op.updates, targets.read(op.result))
    count = targets.write(Kind.add, b.select(stays, b.full_like(zero, 1), zero), b.select(attains, b.full_like(zero_updates, 1), zero_updates))
    share = b.divide(y_bar, count)
    x_bar = b.select(stays, share, zero) if needed[0] else None
    return x_bar, targets.fitting(b.select(attains, targets.read(share), zero_updates)) if needed[2] else None
