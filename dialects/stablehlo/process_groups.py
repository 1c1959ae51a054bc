"""The devices that take part in a communication: a program's devices as replicas times partitions, and who is in a group with whom.

A program of R replicas and P partitions runs on R P devices; device number ``r P + p`` is partition p of replica r. The attributes of a collective
say whether its groups number replicas (each partition for itself), partitions (each replica for itself), replicas with all their partitions, or devices
(StableHLO specification, "Processes and process groups").
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import Enum, auto
from typing import Any, cast

from msgspec import Struct
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, IntegerAttr
from xdsl.ir import Attribute, Operation

from wengert.dialects.sdy_shardings import MOST_DEVICES
from wengert.dialects.stablehlo import collective as ops
from wengert.dialects.stablehlo.attributes import ChannelHandleAttr
from wengert.ir.attributes import int_of
from wengert.ir.elements import to_numpy
from wengert.ir.location.places import error_at

Group = tuple[int, ...]
"""Device numbers, in the order in which their values are concatenated and combined."""


class Grid(Struct, frozen=True):
    """The devices of a program: ``replicas`` times ``partitions``."""

    replicas: int = 1
    partitions: int = 1

    @property
    def size(self) -> int:
        """The number of devices."""
        return self.replicas * self.partitions

    def device(self, replica: int, partition: int) -> int:
        """The number of the device of a replica's partition."""
        return replica * self.partitions + partition


class Mode(Enum):
    """The meaning of the numbers in ``replica_groups``."""

    REPLICAS = auto()
    """Replicas; every partition is for itself."""
    PARTITIONS = auto()
    """Partitions; every replica is for itself."""
    REPLICAS_WITH_PARTITIONS = auto()
    """Replicas, with all partitions of each."""
    DEVICES = auto()
    """Devices."""


_OF_ALL = (ops.AllReduceOp, ops.AllGatherOp, ops.ReduceScatterOp)


def mode_of(op: Operation) -> Mode:
    """The mode of a collective, by its channel and its kind."""
    handle = op.properties.get("channel_handle")
    channel = int_of(handle.handle) if isinstance(handle, ChannelHandleAttr) else 0
    if "use_global_device_ids" in op.properties:
        return Mode.DEVICES
    if channel <= 0:
        return Mode.REPLICAS
    joins_partitions = isinstance(op, _OF_ALL) or op.name in ("core.all_reduce", "core.reduce_scatter")
    return Mode.REPLICAS_WITH_PARTITIONS if joins_partitions else Mode.PARTITIONS


def rows(attribute: Attribute | None) -> list[list[int]] | None:
    """A table of numbers as rows, without the -1 that fill up shorter ones; None where groups are given in another way."""
    if not isinstance(attribute, DenseIntOrFPElementsAttr):
        return None
    table = to_numpy(cast("DenseIntOrFPElementsAttr[Any]", attribute))
    return [[int(number) for number in row if number >= 0] for row in table]


def groups_of(op: Operation, grid: Grid) -> list[Group]:
    """The groups of a collective as devices. A table without groups means one group of all, but for ``collective_broadcast``."""
    listed = rows(op.properties["replica_groups"])
    if listed is None:
        raise ValueError(f"the groups of {op.name} are named by a mesh: to-core numbers them")
    mode, table = mode_of(op), [row for row in listed if row]
    if not table and not isinstance(op, ops.CollectiveBroadcastOp):
        count = {Mode.PARTITIONS: grid.partitions, Mode.DEVICES: grid.size}.get(mode, grid.replicas)
        table = [list(range(count))]
    return list(_devices(mode, table, grid))


def _devices(mode: Mode, table: Sequence[Sequence[int]], grid: Grid) -> Iterable[Group]:
    for row in table:
        if mode is Mode.DEVICES:
            yield tuple(row)
        elif mode is Mode.REPLICAS_WITH_PARTITIONS:
            yield tuple(grid.device(r, p) for p in range(grid.partitions) for r in row)
        elif mode is Mode.REPLICAS:
            yield from (tuple(grid.device(r, p) for r in row) for p in range(grid.partitions))
        else:
            yield from (tuple(grid.device(r, p) for p in row) for r in range(grid.replicas))


def pairs_of(op: Operation, grid: Grid) -> list[tuple[int, int]]:
    """The pairs (source, target) of a ``collective_permute`` as devices."""
    table = rows(op.properties["source_target_pairs"]) or []
    if mode_of(op) is Mode.PARTITIONS:
        return [(grid.device(r, s), grid.device(r, t)) for r in range(grid.replicas) for s, t in table]
    return [(grid.device(s, p), grid.device(t, p)) for p in range(grid.partitions) for s, t in table]


def group_of(groups: Iterable[Group], device: int) -> Group | None:
    """The group that a device is in."""
    return next((group for group in groups if device in group), None)


def declared_grid(module: Operation) -> Grid | None:
    """The devices that a module says it is for (``mhlo.num_replicas``, ``mhlo.num_partitions``); None where it does not, or says that it is for one.

    Raises a DiagnosticError where they are too many to be listed, or fewer than none.
    """
    counts = [_count(module.attributes.get(f"mhlo.num_{what}")) or 1 for what in ("replicas", "partitions")]
    grid = Grid(*counts)
    if min(counts) < 1 or grid.size > MOST_DEVICES:
        raise error_at(
            module,
            f"the module is for {counts[0]} x {counts[1]} devices (mhlo.num_replicas x mhlo.num_partitions), of which there may be 1 to {MOST_DEVICES}",
        )
    return None if counts == [1, 1] else grid


def known_groups(op: Operation, module: Operation) -> list[Group] | None:
    """The groups of a collective as devices, where the text says all of them: its module says how many devices there are, or its table is complete."""
    grid = declared_grid(module)
    if grid is not None:
        return groups_of(op, grid)
    named = [tuple(row) for row in rows(op.properties["replica_groups"]) or [] if row]
    return named if named and mode_of(op) is not Mode.REPLICAS_WITH_PARTITIONS else None


def _count(attribute: Attribute | None) -> int | None:
    return int_of(cast("IntegerAttr[Any]", attribute)) if isinstance(attribute, IntegerAttr) else None


COLLECTIVES = (
    *(ops.AllGatherOp, ops.AllReduceOp, ops.AllToAllOp, ops.CollectiveBroadcastOp, ops.CollectivePermuteOp),
    *(ops.CrossReplicaSumOp, ops.ReduceScatterOp),
)
NUMBERS = (ops.PartitionIdOp, ops.ReplicaIdOp)


def is_collective(op: Operation) -> bool:
    """Whether an op communicates, at any level of IR above kernels."""
    return isinstance(op, COLLECTIVES) or op.name in ("core.all_reduce", "core.reduce_scatter")


def inferred_grid(ops_: Iterable[Operation]) -> Grid | None:
    """The least number of devices that the tables of collectives name; None where no table names any.

    They are partitions where an op has a channel, or asks for its partition, else replicas.
    """
    most, partitioned = 0, False
    for op in ops_:
        if isinstance(op, ops.PartitionIdOp):
            partitioned = True
        elif is_collective(op):
            table = rows(op.properties.get("replica_groups") or op.properties.get("source_target_pairs")) or []
            most = max([most, *(1 + number for row in table for number in row)])
            partitioned = partitioned or mode_of(op) is not Mode.REPLICAS
    if not most:
        return None
    return Grid(1, most) if partitioned else Grid(most, 1)


def grid_for(ops_: Sequence[Operation], module: Operation, devices: int | None) -> Grid:
    """The grid of a program on so many devices: as the module says, else replicas unless an op speaks of partitions.

    Raises ValueError where the module is for another number of devices.
    """
    declared = declared_grid(module)
    if declared is not None:
        if devices is not None and declared.size != devices:
            raise ValueError(f"the program is for {declared.size} devices (mhlo.num_replicas x mhlo.num_partitions), not for {devices}")
        return declared
    named = inferred_grid(ops_)
    count = devices if devices is not None else named.size if named else 1
    if named is not None and named.size > count:
        raise ValueError(f"the program names device {named.size - 1} and so needs {named.size} devices, not {count}")
    partitioned = any(isinstance(op, ops.PartitionIdOp) or (is_collective(op) and mode_of(op) is not Mode.REPLICAS) for op in ops_)
    return Grid(1, count) if partitioned else Grid(count, 1)
