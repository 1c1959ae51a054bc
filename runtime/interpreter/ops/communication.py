"""Communication among devices: what a collective gives on the device that runs it. Without a device, what it means on the only one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from xdsl.ir import Operation

from wengert.dialects import core, stablehlo
from wengert.dialects.stablehlo.process_groups import COLLECTIVES, Grid, Group, group_of, groups_of, pairs_of
from wengert.ir.attributes import int_of
from wengert.ir.location.places import describe
from wengert.ir.tensor_types import dtype_of, element, shape
from wengert.runtime.errors import UnsupportedOpError
from wengert.runtime.interpreter.numerics.combining import ufunc_of
from wengert.runtime.interpreter.numerics.precision import working_dtype
from wengert.runtime.interpreter.rules import Array, Nullary, Scope, Variadic, evaluates, evaluates_in_scope, one_or_tuple
from wengert.runtime.spmd import collectives
from wengert.runtime.spmd.device import Call, Device, current
from wengert.transforms.core import one_device

Action = Callable[[Device, Array], Array]
"""What a collective does with one operand on a device."""


@evaluates_in_scope(*COLLECTIVES, *core.COMMUNICATIONS)
def collective(op: Operation, scope: Scope) -> Variadic:
    """The collective, operand by operand, on the device of the thread."""
    act, alone = _ACTIONS[type(op)](op, scope), list[Variadic]()
    dtypes = [dtype_of(element(y)) for y in op.results]

    def run(*operands: Any) -> Any:
        device = current()
        if device is None:
            if not alone:
                alone.append(_alone(op))
            return alone[0](*operands)
        results = [act(device, np.asarray(x)) for x in operands]
        return one_or_tuple(op, tuple([np.asarray(y).astype(dtype, copy=False)[()] for y, dtype in zip(results, dtypes, strict=True)]))

    return run


def _alone(op: Operation) -> Variadic:
    """The collective on one device: the operands or zeros. Refused where other devices take part."""
    try:
        passed = one_device.passes_on(op)
    except one_device.NeedsOthersError as error:
        raise UnsupportedOpError(op, str(error)) from None
    kinds = [(shape(y), dtype_of(element(y))) for y in op.results]

    def run(*operands: Any) -> Any:
        given = [np.asarray(x) if passed else np.zeros(extents, dtype) for x, (extents, dtype) in zip(operands, kinds, strict=True)]
        return one_or_tuple(op, tuple([x.astype(dtype)[()] for x, (_, dtype) in zip(given, kinds, strict=True)]))

    return run


class _Members:
    """The group of a device, looked up once for each grid and device."""

    def __init__(self, op: Operation):
        self._op = op
        self._known: dict[tuple[Grid, int], Group | None] = {}

    def optional(self, device: Device) -> Group | None:
        """The group, or None for a device that is in none."""
        key = device.grid, device.number
        if key not in self._known:
            self._known[key] = group_of(groups_of(self._op, device.grid), device.number)
        return self._known[key]

    def __call__(self, device: Device) -> Group:
        """The group."""
        group = self.optional(device)
        if group is None:
            raise UnsupportedOpError(self._op, f"has no group with device {device.number} in replica_groups; all {device.grid.size} devices run it")
        if max(group) >= device.grid.size:
            raise UnsupportedOpError(self._op, f"needs device {max(group)} in replica_groups, and the program is run on {device.grid.size} devices")
        return group


def call_of(op: Operation) -> Call:
    """A collective as devices tell each other that they are at it."""
    kind = f" {op.kind.data}" if isinstance(op, core.GroupReduceOp) else ""
    return Call(f"{op.name.partition('.')[2]}{kind} of {', '.join(str(x.type) for x in op.operands)}", describe(op.location))


def _combine(op: Operation, scope: Scope) -> Callable[[Any, Any], Any]:
    if isinstance(op, core.GroupReduceOp):
        return ufunc_of(op.kind.data, element(op.operand))
    if isinstance(op, stablehlo.CrossReplicaSumOp):
        return ufunc_of(core.Kind.add, element(op.operand))
    body = scope.scalar_region(op.regions[0])
    return lambda x, y: body(x, y)[0]


def _reduction(op: Operation, scope: Scope) -> Action:
    """Sums of narrow floats are computed in their working type and rounded at the end, as those of one device are."""
    combine, members, call = _combine(op, scope), _Members(op), call_of(op)
    wide = working_dtype(element(op.results[0])) if isinstance(op, core.GroupReduceOp) else dtype_of(element(op.results[0]))
    axis = int_of(op.properties["scatter_dimension"]) if "scatter_dimension" in op.properties else None

    def run(device: Device, x: Array) -> Array:
        given, group = x.astype(wide, copy=False), members(device)
        if axis is None:
            return collectives.all_reduce(device, group, given, combine, call)
        return collectives.reduce_scatter(device, group, given, axis, combine, call)

    return run


def _gather(op: stablehlo.AllGatherOp, scope: Scope) -> Action:
    members, call, axis = _Members(op), call_of(op), int_of(op.all_gather_dim)
    return lambda device, x: collectives.all_gather(device, members(device), x, axis, call)


def _all_to_all(op: stablehlo.AllToAllOp, scope: Scope) -> Action:
    members, call, split, concat = _Members(op), call_of(op), int_of(op.split_dimension), int_of(op.concat_dimension)
    return lambda device, x: collectives.all_to_all(device, members(device), x, split, concat, call)


def _permute(op: stablehlo.CollectivePermuteOp, scope: Scope) -> Action:
    call, known = call_of(op), dict[Grid, list[tuple[int, int]]]()

    def run(device: Device, x: Array) -> Array:
        pairs = known.get(device.grid)
        if pairs is None:
            pairs = known[device.grid] = pairs_of(op, device.grid)
            if any(number >= device.grid.size for pair in pairs for number in pair):
                most = max(max(pair) for pair in pairs)
                raise UnsupportedOpError(op, f"needs device {most} in source_target_pairs, and the program is run on {device.grid.size} devices")
        return collectives.permute(device, pairs, x, call)

    return run


def _broadcast(op: stablehlo.CollectiveBroadcastOp, scope: Scope) -> Action:
    members, call = _Members(op), call_of(op)
    return lambda device, x: collectives.broadcast(device, members.optional(device), x, call)


_ACTIONS: dict[type[Operation], Callable[[Any, Scope], Action]] = {
    stablehlo.AllReduceOp: _reduction,
    stablehlo.ReduceScatterOp: _reduction,
    stablehlo.CrossReplicaSumOp: _reduction,
    core.AllReduceOp: _reduction,
    core.ReduceScatterOp: _reduction,
    stablehlo.AllGatherOp: _gather,
    stablehlo.AllToAllOp: _all_to_all,
    stablehlo.CollectivePermuteOp: _permute,
    stablehlo.CollectiveBroadcastOp: _broadcast,
}


@evaluates(stablehlo.PartitionIdOp)
def partition_id(op: stablehlo.PartitionIdOp) -> Nullary:
    """The number of the device's partition."""
    return lambda: np.uint32(0 if (device := current()) is None else device.number % device.grid.partitions)


@evaluates(stablehlo.ReplicaIdOp)
def replica_id(op: stablehlo.ReplicaIdOp) -> Nullary:
    """The number of the device's replica."""
    return lambda: np.uint32(0 if (device := current()) is None else device.number // device.grid.partitions)
