"""Adjoints of collectives: what a device's value went into on other devices comes back from there."""

from __future__ import annotations

from collections.abc import Sequence

from wengert.dialects import core
from wengert.dialects import stablehlo as hlo
from wengert.dialects.builder import OpBuilder, Value
from wengert.dialects.core import Kind
from wengert.ir.attributes import int_of
from wengert.ir.tensor_types import shape, type_of
from wengert.transforms.ad.building_blocks.device_groups import is_source, sources_of, sum_for_source
from wengert.transforms.ad.direct.adjoint import Bars, adjoint, inactive
from wengert.transforms.ad.errors import refuse
from wengert.transforms.core.recognisers.communication import all_gather, all_reduce, group_properties, reduce_scatter, reversed_pairs

inactive(hlo.PartitionIdOp, hlo.ReplicaIdOp)


@adjoint(core.AllReduceOp)
def all_reduced(b: OpBuilder, op: core.AllReduceOp, y_bars: Sequence[Value], needed: Sequence[bool]) -> Bars:
    groups, kind, x = group_properties(op), op.kind.data, op.operand
    if kind is Kind.add:
        return [all_reduce(b, Kind.add, y_bars[0], groups)]
    if kind in (Kind.max, Kind.min):
        # equal shares to the devices that attain the extremum
        attains = b.compare("EQ", op.result, x)
        count = all_reduce(b, Kind.add, b.select(attains, b.full_like(x, 1), b.full_like(x, 0)), groups)
        return [b.select(attains, b.divide(all_reduce(b, Kind.add, y_bars[0], groups), count), b.full_like(x, 0))]
    raise refuse(op, f"of kind {kind} has no adjoint")


@adjoint(core.ReduceScatterOp)
def reduce_scattered(b: OpBuilder, op: core.ReduceScatterOp, y_bars: Sequence[Value], needed: Sequence[bool]) -> Bars:
    groups, kind, x, axis = group_properties(op), op.kind.data, op.operand, int_of(op.scatter_dimension)
    count = shape(x)[axis] // shape(op.result)[axis]
    if kind is Kind.add:
        return [all_gather(b, y_bars[0], axis, count, groups)]
    if kind in (Kind.max, Kind.min):
        attains = b.compare("EQ", all_gather(b, op.result, axis, count, groups), x)
        ones = b.select(attains, b.full_like(x, 1), b.full_like(x, 0))
        share = b.divide(y_bars[0], reduce_scatter(b, Kind.add, ones, axis, groups, shape(op.result)))
        return [b.select(attains, all_gather(b, share, axis, count, groups), b.full_like(x, 0))]
    raise refuse(op, f"of kind {kind} has no adjoint")


@adjoint(hlo.AllGatherOp)
def all_gathered(b: OpBuilder, op: hlo.AllGatherOp, y_bars: Sequence[Value], needed: Sequence[bool]) -> Bars:
    # each device's part of the sum of what all devices have for it
    (y_bar,), axis = y_bars, int_of(op.all_gather_dim)
    return [reduce_scatter(b, Kind.add, y_bar, axis, group_properties(op), shape(op.operands[0]))]


@adjoint(hlo.AllToAllOp)
def all_to_all(b: OpBuilder, op: hlo.AllToAllOp, y_bars: Sequence[Value], needed: Sequence[bool]) -> Bars:
    back = {**op.properties, "split_dimension": op.concat_dimension, "concat_dimension": op.split_dimension}
    return list(b.create(hlo.AllToAllOp, (y_bars[0],), (op.operands[0].type,), back))


@adjoint(hlo.CollectivePermuteOp)
def permuted(b: OpBuilder, op: hlo.CollectivePermuteOp, y_bars: Sequence[Value], needed: Sequence[bool]) -> Bars:
    back = {**op.properties, "source_target_pairs": reversed_pairs(op)}
    return list(b.create(hlo.CollectivePermuteOp, (y_bars[0],), (op.operand.type,), back))


@adjoint(hlo.CollectiveBroadcastOp)
def broadcast(b: OpBuilder, op: hlo.CollectiveBroadcastOp, y_bars: Sequence[Value], needed: Sequence[bool]) -> Bars:
    # the sum over the group, for the device that sent
    if not sources_of(op):
        return [b.zeros(type_of(op.operand))]
    total = sum_for_source(b, op, y_bars[0])
    return [b.select(b.broadcast_in_dim(is_source(b, op), [], shape(total)), total, b.full_like(total, 0))]
