"""Derivatives of collectives: a program on n devices is one map of all devices' inputs to all devices' outputs.

What moves values is linear and transposes to what moves them back; sums are linear too. Extremes have a coefficient on each device, so
that their tangent is the group's sum of weighted tangents. Every device runs the same text, so structural zeros are the same on all of them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.ir import Attribute

from wengert.dialects import core
from wengert.dialects import stablehlo as hlo
from wengert.dialects.builder import OpBuilder, Value
from wengert.dialects.core import Kind, KindAttr
from wengert.ir.attributes import int_attr, int_of
from wengert.ir.elements import from_numpy
from wengert.ir.tensor_types import element, shape, tensor, type_of, ui32
from wengert.transforms.ad.building_blocks.device_groups import is_source, sources_of, sum_for_source
from wengert.transforms.ad.case import Arg, Case
from wengert.transforms.ad.errors import refuse
from wengert.transforms.ad.rule import LinearMap, Tangent, derivative, inactive, same_op, sum_of, transpose, where
from wengert.transforms.core.recognisers.communication import all_gather, all_reduce, group_properties, reduce_scatter, reversed_pairs

inactive(hlo.PartitionIdOp, hlo.ReplicaIdOp)


@derivative(hlo.AllGatherOp, hlo.AllToAllOp, hlo.CollectivePermuteOp, hlo.CollectiveBroadcastOp)
def movement(b: OpBuilder, op: hlo.AllGatherOp) -> LinearMap:
    # dy = the same movement of dx
    return same_op(op, range(len(op.operands)))


@derivative(core.AllReduceOp, core.ReduceScatterOp)
def group_reduction(b: OpBuilder, op: core.AllReduceOp | core.ReduceScatterOp) -> LinearMap:
    """Sum: dy = sum dx. Extremum: dy = the mean of dx over the devices that attain it. (Products are written out before.)"""
    kind, x = op.kind.data, op.operand
    if kind is Kind.add:
        return same_op(op, [0])
    if kind in (Kind.max, Kind.min):
        y = op.result if isinstance(op, core.AllReduceOp) else all_reduce(b, kind, x, group_properties(op))
        attains = b.compare("EQ", x, y)
        count = _summed(b, op, b.select(attains, b.full_like(x, 1), b.full_like(x, 0)))
        chosen = where(attains)
        return sum_of([lambda lb, x_dot: lb.divide(_summed(lb, op, chosen(lb, x_dot)), count)])
    raise refuse(op, f"of kind {kind} has no derivative")


def _summed(b: OpBuilder, op: core.AllReduceOp | core.ReduceScatterOp, x: Value) -> Value:
    """The same reduction as a sum."""
    return b.create(type(op), (x,), (op.result.type,), {**op.properties, "kind": KindAttr(Kind.add)})[0]


@transpose(core.AllReduceOp)
def all_reduce_transpose(b: OpBuilder, op: core.AllReduceOp, linear: Sequence[bool], y_bars: Sequence[Value]) -> Sequence[Tangent]:
    # everybody's x is in everybody's y: the sum of all y_bar
    return [all_reduce(b, Kind.add, y_bars[0], group_properties(op))]


@transpose(core.ReduceScatterOp)
def reduce_scatter_transpose(b: OpBuilder, op: core.ReduceScatterOp, linear: Sequence[bool], y_bars: Sequence[Value]) -> Sequence[Tangent]:
    # a sum that is shared out <-> what was gathered
    axis = int_of(op.scatter_dimension)
    return [all_gather(b, y_bars[0], axis, shape(op.operand)[axis] // shape(op.result)[axis], group_properties(op))]


@transpose(hlo.AllGatherOp)
def all_gather_transpose(b: OpBuilder, op: hlo.AllGatherOp, linear: Sequence[bool], y_bars: Sequence[Tangent]) -> Sequence[Tangent]:
    # what is gathered <-> the sum of everybody's cotangents, shared out
    axis, groups = int_of(op.all_gather_dim), group_properties(op)
    return [None if y_bar is None else reduce_scatter(b, Kind.add, y_bar, axis, groups, shape(x)) for x, y_bar in zip(op.operands, y_bars, strict=True)]


@transpose(hlo.AllToAllOp)
def all_to_all_transpose(b: OpBuilder, op: hlo.AllToAllOp, linear: Sequence[bool], y_bars: Sequence[Tangent]) -> Sequence[Tangent]:
    # the exchange back: split <-> concatenate
    properties = {**op.properties, "split_dimension": op.concat_dimension, "concat_dimension": op.split_dimension}
    return [None if y_bar is None else b.create(hlo.AllToAllOp, (y_bar,), (x.type,), properties)[0] for x, y_bar in zip(op.operands, y_bars, strict=True)]


@transpose(hlo.CollectivePermuteOp)
def collective_permute_transpose(b: OpBuilder, op: hlo.CollectivePermuteOp, linear: Sequence[bool], y_bars: Sequence[Value]) -> Sequence[Tangent]:
    # sources and targets exchanged: nothing comes back to a device that sent nothing
    return [b.create(hlo.CollectivePermuteOp, (y_bars[0],), (y_bars[0].type,), {**op.properties, "source_target_pairs": reversed_pairs(op)})[0]]


@transpose(hlo.CollectiveBroadcastOp)
def collective_broadcast_transpose(b: OpBuilder, op: hlo.CollectiveBroadcastOp, linear: Sequence[bool], y_bars: Sequence[Value]) -> Sequence[Tangent]:
    # the sum of all y_bar to the source, nothing to the others
    if not sources_of(op):
        return [b.zeros(type_of(op.operand))]
    total = sum_for_source(b, op, y_bars[0])
    sends = b.broadcast_in_dim(is_source(b, op), [], shape(total))
    return [b.select(sends, total, b.full_like(total, 0))]


_ALONE = from_numpy(np.zeros((1, 1), np.int64))
_ITSELF = from_numpy(np.zeros((1, 2), np.int64))
_SPLIT = {"split_dimension": int_attr(0), "concat_dimension": int_attr(1), "split_count": int_attr(1)}


def _all(kind: Kind) -> Case:
    return Case(f"all_reduce {kind}", lambda b, x: b.sine(all_reduce(b, kind, x, {"replica_groups": _ALONE})), (Arg((2, 3), 0.5, 2),))


def _scattered(kind: Kind) -> Case:
    return Case(f"reduce_scatter {kind}", lambda b, x: b.sine(reduce_scatter(b, kind, x, 0, {"replica_groups": _ALONE}, shape(x))), (Arg((2, 3), 0.5, 2),))


def _moved(name: str, op: type[hlo.AllToAllOp | hlo.CollectivePermuteOp | hlo.CollectiveBroadcastOp], **properties: Attribute) -> Case:
    return Case(name, lambda b, x: b.sine(b.create(op, (x,), (x.type,), properties)[0]), (Arg((2, 3)),))


def _numbered(b: OpBuilder, x: Value) -> Value:
    number = b.add(*[b.create(op, (), (tensor((), ui32),))[0] for op in (hlo.PartitionIdOp, hlo.ReplicaIdOp)])
    return b.multiply(x, b.add(x, b.broadcast_in_dim(b.convert(number, element(x)), [], shape(x))))


CASES = [
    *(_all(kind) for kind in (Kind.add, Kind.mul, Kind.max, Kind.min)),
    *(_scattered(kind) for kind in (Kind.add, Kind.mul, Kind.max, Kind.min)),
    Case("all_gather", lambda b, x: b.sine(all_gather(b, x, 0, 1, {"replica_groups": _ALONE})), (Arg((2, 3)),)),
    _moved("all_to_all", hlo.AllToAllOp, replica_groups=_ALONE, **_SPLIT),
    _moved("collective_permute", hlo.CollectivePermuteOp, source_target_pairs=_ITSELF),
    _moved("collective_broadcast", hlo.CollectiveBroadcastOp, replica_groups=_ALONE),
    Case("the number of a device", _numbered, (Arg((3,)),)),
]
