"""Building blocks for derivatives of collectives: everybody's value, one's own place in a group, what goes back to the source of a broadcast.

An op that is differentiated may stand in no module yet, and so not know how many devices there are; what needs to know is written out before
(:mod:`wengert.transforms.ad.rewrites.collective_regions`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from xdsl.ir import Operation

from wengert.dialects import stablehlo as hlo
from wengert.dialects.builder import OpBuilder, Value
from wengert.dialects.core import Kind
from wengert.dialects.stablehlo.process_groups import Group, Mode, declared_grid, known_groups, mode_of, rows
from wengert.ir.tensor_types import i64, shape, tensor, ui32
from wengert.transforms.ad.errors import refuse
from wengert.transforms.core.recognisers.communication import all_gather, all_reduce, even_size, group_properties, module_of, table

# -- the source of a broadcast, by the numbers of its table


def sources_of(op: hlo.CollectiveBroadcastOp) -> list[int]:
    """The first number of each group."""
    return [group[0] for group in rows(op.replica_groups) or [] if group]


def is_source(b: OpBuilder, op: hlo.CollectiveBroadcastOp) -> Value:
    """Whether the device sends (``i1``)."""
    numbers = sources_of(op)
    flags = np.zeros(max(numbers) + 2, np.int64)
    flags[numbers] = 1
    number = b.create(hlo.ReplicaIdOp if mode_of(op) is Mode.REPLICAS else hlo.PartitionIdOp, (), (tensor((), ui32),))[0]
    return b.compare("NE", _entry(b, number, flags), b.scalar(0, i64))


def sum_for_source(b: OpBuilder, op: hlo.CollectiveBroadcastOp, x: Value) -> Value:
    """The sum over a group of what its devices have, on the device that sends; part of it on others.

    It goes up the tree that a broadcast goes down. A device of no group receives zeros, as everyone does to whom nobody sends in a permutation.
    """
    groups = [group for group in rows(op.replica_groups) or [] if group]
    channel = {name: op.properties[name] for name in ("channel_handle",) if name in op.properties}
    steps = [1 << level for level in range((max(map(len, groups)) - 1).bit_length())]
    for step in reversed(steps):
        pairs = [[group[i], group[i - step]] for group in groups for i in range(step, min(2 * step, len(group)))]
        x = b.add(x, b.create(hlo.CollectivePermuteOp, (x,), (x.type,), {"source_target_pairs": table(pairs), **channel})[0])
    return x


# -- groups of devices, of an op in its module


def members(op: Operation) -> list[Group]:
    """The groups of a collective as devices. Raises a DiagnosticError where the program does not say who is in them."""
    groups = known_groups(op, module_of(op))
    if groups is None:
        counts = {Mode.REPLICAS: "mhlo.num_replicas", Mode.PARTITIONS: "mhlo.num_partitions"}.get(mode_of(op), "mhlo.num_replicas and mhlo.num_partitions")
        reason = "has a group of all devices, and the program does not say how many there are"
        raise refuse(
            op,
            reason,
            f"StableHLO leaves their number to whatever runs the program; give the module the {'attributes' if ' and ' in counts else 'attribute'} {counts}",
        )
    return groups


def _own_number(b: OpBuilder, op: Operation) -> Value:
    """The number by which :func:`members` calls the device (``ui32``)."""
    grid = declared_grid(module_of(op))
    if grid is not None and min(grid.replicas, grid.partitions) > 1:
        replica, partition = (b.create(kind, (), (tensor((), ui32),))[0] for kind in (hlo.ReplicaIdOp, hlo.PartitionIdOp))
        return b.add(b.multiply(replica, b.scalar(grid.partitions, ui32)), partition)
    counts_replicas = grid.partitions == 1 if grid is not None else mode_of(op) is Mode.REPLICAS
    return b.create(hlo.ReplicaIdOp if counts_replicas else hlo.PartitionIdOp, (), (tensor((), ui32),))[0]


def own_place(b: OpBuilder, op: Operation) -> Value:
    """The place of the device in its group (``i64``)."""
    return _entry(b, _own_number(b, op), _by_device(members(op), lambda group: range(len(group))))


def inside(b: OpBuilder, op: Operation) -> Value:
    """The mask of the rows of :func:`gathered` that are those of a device (``i1[g]``)."""
    groups = members(op)
    sizes = _entry(b, _own_number(b, op), _by_device(groups, lambda group: [len(group)] * len(group)))
    return b.compare("LT", *_numbered(b, sizes, groups))


def gathered(b: OpBuilder, op: Operation, x: Value) -> Value:
    """The values of a group in front, ``[g, ...]``; of groups of different sizes, with zeros behind those of smaller ones."""
    size = even_size(op)
    if size is not None:
        return all_gather(b, b.reshape(x, [1, *shape(x)]), 0, size, group_properties(op))
    groups = members(op)
    mine = b.compare("EQ", *_numbered(b, own_place(b, op), groups))
    rows_of_x = b.broadcast_in_dim(x, range(1, len(shape(x)) + 1), [shape(mine)[0], *shape(x)])
    placed = b.select(b.broadcast_in_dim(mine, [0], shape(rows_of_x)), rows_of_x, b.full_like(rows_of_x, 0))
    return all_reduce(b, Kind.add, placed, group_properties(op))


def _numbered(b: OpBuilder, x: Value, groups: Sequence[Group]) -> tuple[Value, Value]:
    """The numbers of the places of the largest group, and as many times x."""
    count = max(map(len, groups))
    return b.iota(0, tensor([count], i64)), b.broadcast_in_dim(x, [], [count])


def _entry(b: OpBuilder, number: Value, values: np.ndarray[tuple[int], np.dtype[np.int64]]) -> Value:
    """The entry of a table (``i64``)."""
    return b.reshape(b.dynamic_slice(b.constant(values), [b.convert(number, i64)], [1]), [])


def _by_device(groups: Sequence[Group], values: Callable[[Group], Sequence[int]]) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """A table with what a function of a group gives each of its devices."""
    entries = np.zeros(1 + max(device for group in groups for device in group), np.int64)
    for group in groups:
        entries[list(group)] = values(group)
    return entries
