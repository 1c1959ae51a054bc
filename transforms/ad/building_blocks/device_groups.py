"""What derivatives of collectives are made of: reductions among the groups of another collective, everybody's value, one's own place in a group."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import UnitAttr
from xdsl.ir import Attribute, Operation

from wengert.dialects import stablehlo as hlo
from wengert.dialects.builder import OpBuilder, Value
from wengert.dialects.core import Kind
from wengert.dialects.stablehlo.process_groups import Grid, Mode, declared_grid, mode_of, rows
from wengert.ir.tensor_types import i64, shape, tensor, ui32
from wengert.transforms.ad.errors import refuse
from wengert.transforms.core.recognisers.communication import all_gather, all_reduce, even_size, group_properties, module_of, table


def reduction_groups(op: Operation) -> dict[str, Attribute]:
    """The groups of a collective as those of a reduction, whose channels number devices where other collectives number partitions."""
    properties = group_properties(op)
    if mode_of(op) is not Mode.PARTITIONS:
        return properties
    grid, groups = declared_grid(module_of(op)) or Grid(), rows(properties["replica_groups"]) or []
    spread = [[grid.device(r, p) for p in group] for r in range(grid.replicas) for group in groups]
    return {**properties, "replica_groups": table(spread), "use_global_device_ids": UnitAttr()}


def sum_of_group(b: OpBuilder, x: Value, groups: dict[str, Attribute]) -> Value:
    """The sum over a group, on each of its devices."""
    return all_reduce(b, Kind.add, x, groups)


def own_number(b: OpBuilder, op: Operation) -> Value:
    """The number by which ``replica_groups`` or pairs call the device (``ui32``). Where it calls devices, programs have one replica."""
    return b.create(hlo.ReplicaIdOp if mode_of(op) is Mode.REPLICAS else hlo.PartitionIdOp, (), (tensor((), ui32),))[0]


def _looked_up(b: OpBuilder, op: Operation, values: np.ndarray[tuple[int], np.dtype[np.int64]]) -> Value:
    """The entry of a table for the device (``i64``)."""
    return b.reshape(b.dynamic_slice(b.constant(values), [b.convert(own_number(b, op), i64)], [1]), [])


def is_one_of(b: OpBuilder, op: Operation, numbers: Sequence[int]) -> Value:
    """Whether the device is one of these (``i1``)."""
    flags = np.zeros(max(numbers, default=0) + 2, np.int64)
    flags[list(numbers)] = 1
    return b.compare("NE", _looked_up(b, op, flags), b.scalar(0, i64))


def gathered(b: OpBuilder, op: Operation, x: Value) -> Value:
    """The values of a group in front, ``[g, ...]``; of groups of different sizes, with zeros behind those of smaller ones."""
    size = even_size(op)
    if size is not None:
        return all_gather(b, b.reshape(x, [1, *shape(x)]), 0, size, group_properties(op))
    groups = _uneven(op)
    mine = b.compare("EQ", _numbers(b, groups), _spread(b, _looked_up(b, op, _places(groups)), groups))
    rows_of_x = b.broadcast_in_dim(x, range(1, len(shape(x)) + 1), [len(groups[0]), *shape(x)])
    placed = b.select(b.broadcast_in_dim(mine, [0], shape(rows_of_x)), rows_of_x, b.full_like(rows_of_x, 0))
    return sum_of_group(b, placed, group_properties(op))


def with_ones(b: OpBuilder, op: Operation, stacked: Value) -> Value:
    """What :func:`gathered` gives, with ones for zeros behind the values of smaller groups."""
    if even_size(op) is not None:
        return stacked
    groups = _uneven(op)
    sizes = np.zeros(_most(groups), np.int64)
    for group in groups:
        sizes[group] = len(group)
    inside = b.compare("LT", _numbers(b, groups), _spread(b, _looked_up(b, op, sizes), groups))
    return b.select(b.broadcast_in_dim(inside, [0], shape(stacked)), stacked, b.full_like(stacked, 1))


def own_row(b: OpBuilder, op: Operation, stacked: Value) -> Value:
    """The device's own row of a tensor ``[g, ...]`` of values of its group."""
    groups = sorted(rows(op.properties["replica_groups"]) or [], key=len, reverse=True)
    rest = shape(stacked)[1:]
    row = b.dynamic_slice(stacked, [_looked_up(b, op, _places(groups)), *[b.scalar(0, i64)] * len(rest)], [1, *rest])
    return b.reshape(row, rest)


def _uneven(op: Operation) -> list[list[int]]:
    """The groups, the largest first."""
    groups = rows(op.properties["replica_groups"]) or []
    if not groups:
        raise refuse(op, "has a group of all devices, and the program does not say how many there are", "mhlo.num_partitions of the module does")
    return sorted(groups, key=len, reverse=True)


def _most(groups: Sequence[Sequence[int]]) -> int:
    return 1 + max(number for group in groups for number in group)


def _places(groups: Sequence[Sequence[int]]) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    places = np.zeros(_most(groups), np.int64)
    for group in groups:
        places[list(group)] = np.arange(len(group))
    return places


def _numbers(b: OpBuilder, groups: Sequence[Sequence[int]]) -> Value:
    return b.iota(0, tensor([len(groups[0])], i64))


def _spread(b: OpBuilder, x: Value, groups: Sequence[Sequence[int]]) -> Value:
    return b.broadcast_in_dim(x, [], [len(groups[0])])
