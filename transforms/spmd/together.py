"""All devices of a manual computation on one: the values of the devices are the rows of one value, as those of a batch are.

What every device computes for itself is batched; a collective is an op along the rows. So a program with ``sdy.manual_computation`` runs anywhere, and its
derivatives, batches and costs are those of the whole tensors.

Before and after, on a mesh of 4 devices::

    %0 = sdy.manual_computation(%x) in [<@m, [{"x"}]>] out [<@m, []>] (%b: tensor<2xf64>) {      %b = stablehlo.reshape %x : 8xf64 -> 4x2xf64
      %s = core.reduce add %b                                                                    %s = core.reduce add %b, [1] : 4xf64
      %r = core.all_reduce add %s, [[0, 1, 2, 3]]                                                %r = core.reduce add %s, [0] : f64, broadcast
      sdy.return %r }                                                                            %0 = %r[0]
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Attribute, Operation

from wengert.dialects import core, sdy
from wengert.dialects import stablehlo as hlo
from wengert.dialects.builder import OpBuilder, Value
from wengert.dialects.sdy_shardings import Mesh, ShardingError, manual_axes_of, meshes_of, resolved, shardings_of
from wengert.dialects.stablehlo.process_groups import Grid, Group, group_of, groups_of, is_collective, pairs_of
from wengert.ir.attributes import int_array, int_of
from wengert.ir.location.places import error_at
from wengert.ir.tensor_types import element, shape, type_of
from wengert.ir.traversal import all_ops
from wengert.transforms.ad.batching.calls import call
from wengert.transforms.ad.batching.rule import Batching, Functions, Mapped, Operands
from wengert.transforms.core.closing import free_values
from wengert.transforms.core.one_device import is_communication
from wengert.transforms.core.symbol_dce import references
from wengert.transforms.rewriter import Rewriter
from wengert.transforms.spmd.blocks import along, blocks_of_all, places, rows, whole_of_blocks
from wengert.transforms.spmd.uniformity import Known, Uniformity, numbered, refuse_divergent


def join_devices(module: ModuleOp) -> None:
    """Replaces manual computations by what all devices compute together, in place, from the inside out.

    Raises a DiagnosticError for a collective under a condition that differs between devices, and for one without a group for a device.
    """
    meshes = meshes_of(module)
    for op in reversed([op for op in all_ops(module) if isinstance(op, sdy.ManualComputationOp)]):
        rewriter = Rewriter("join-devices")
        rewriter.move_to(op)
        try:
            mesh = _mesh(meshes, [*shardings_of(op.in_shardings), *shardings_of(op.out_shardings)])
        except ShardingError as error:
            raise error_at(op, f"sdy.manual_computation: {error}") from None
        rewriter.replace(op, _joined(rewriter, module, op, mesh))


def _mesh(meshes: dict[str, Mesh], shardings: Sequence[Any]) -> Mesh:
    """The mesh of a manual computation: the one of its shardings that has axes."""
    listed = [resolved(sharding, meshes) for sharding in shardings]
    return next((mesh for mesh in listed if mesh.axes), Mesh(()))


def _joined(b: OpBuilder, module: ModuleOp, op: sdy.ManualComputationOp, mesh: Mesh) -> list[Value]:
    axes, grid, block = manual_axes_of(op.manual_axes), Grid(1, mesh.size), op.body.block
    inputs = [along(sharding.spec, axes) for sharding in shardings_of(op.in_shardings)]
    outputs = [along(sharding.spec, axes) for sharding in shardings_of(op.out_shardings)]
    arguments = [Known(numbered(places(spec, mesh)), any(spec)) for spec in inputs]
    uniformity = Uniformity(grid)
    captured = free_values([op.body])
    uniformity.known.update((value, uniformity.uniform) for value in captured)
    uniformity.run(block, arguments)
    refuse_divergent(uniformity)
    functions = Functions(module, mesh.size, instead=lambda batch, inner, operands: _along_rows(batch, inner, operands, grid))
    walk = Batching(b, mesh.size, functions)
    walk.values.update((value, Mapped(value, False)) for value in captured)
    given = [Mapped(blocks_of_all(b, x, spec, mesh), True) for x, spec in zip(op.tensors, inputs, strict=True)]
    returned = walk.run(block, given)
    return [whole_of_blocks(b, walk.broadcast(y), spec, mesh) for y, spec in zip(returned, outputs, strict=True)]


def _along_rows(batch: Batching, op: Operation, operands: Operands, grid: Grid) -> list[Mapped] | None:
    """What an op that communicates gives all devices; None for other ops."""
    if isinstance(op, hlo.PartitionIdOp | hlo.ReplicaIdOp):
        numbers = np.arange(grid.size, dtype=np.uint32) if isinstance(op, hlo.PartitionIdOp) else np.zeros(grid.size, np.uint32)
        return [Mapped(batch.b.constant(numbers), True)]
    if isinstance(op, CallOp) and _communicates(batch.functions.module, op.callee.string_value()):
        return [y if isinstance(y, Mapped) else Mapped(y, True) for y in call(batch, op, operands)]
    if not is_collective(op):
        return None
    rule = _RULES[type(op)]
    return [Mapped(rule(batch.b, op, batch.broadcast(x), grid), True) for x in operands]


def _communicates(module: ModuleOp, name: str) -> bool:
    """Whether a function, one that it calls, or one that is its derivative depends on the device, or on others."""
    functions, seen, pending = {op.sym_name.data: op for op in module.ops if isinstance(op, FuncOp)}, set[str](), [name]
    while pending:
        if (now := pending.pop()) in seen or now not in functions:
            continue
        seen.add(now)
        if any(is_communication(op) for op in all_ops(functions[now])):
            return True
        pending.extend(references(functions[now]))
    return False


def _sorted_by_group(b: OpBuilder, op: Operation, x: Value, grid: Grid) -> tuple[Value, list[Group]]:
    """The rows of each group behind each other, ``[groups, size, ...]``, of groups of one size."""
    groups = groups_of(op, grid)
    ordered = rows(b, x, [device for group in groups for device in group])
    return b.reshape(ordered, [len(groups), len(groups[0]), *shape(x)[1:]]), groups


def _to_devices(b: OpBuilder, op: Operation, by_group: Value, groups: Sequence[Group], grid: Grid) -> Value:
    """Gives every device the row of its group."""
    return rows(b, by_group, [groups.index(_of(op, groups, device)) for device in range(grid.size)])


def _of(op: Operation, groups: Sequence[Group], device: int) -> Group:
    group = group_of(groups, device)
    if group is None:
        raise error_at(op, f"{op.name.replace('core.', 'stablehlo.')} has no group with device {device} in replica_groups")
    return group


def _all_reduce(b: OpBuilder, op: core.AllReduceOp, x: Value, grid: Grid) -> Value:
    groups = groups_of(op, grid)
    if len({len(group) for group in groups}) == 1:
        stacked, groups = _sorted_by_group(b, op, x, grid)
        return _to_devices(b, op, b.reduce(op.kind.data, stacked, [1]), groups, grid)
    totals = [b.reshape(b.reduce(op.kind.data, rows(b, x, group), [0]), [1, *shape(x)[1:]]) for group in groups]
    return _to_devices(b, op, b.concatenate(totals, 0), groups, grid)


def _all_reduce_by_region(b: OpBuilder, op: hlo.AllReduceOp, x: Value, grid: Grid) -> Value:
    """A computation of no known kind in groups of any sizes: each is gone over in its order, as the engines do."""
    groups = groups_of(op, grid)
    x = b.convert(x, element(op.results[0]))
    return _to_devices(b, op, b.concatenate([_folded(b, op, x, group) for group in groups], 0), groups, grid)


def _reduce_scatter_by_region(b: OpBuilder, op: hlo.ReduceScatterOp, x: Value, grid: Grid) -> Value:
    groups = groups_of(op, grid)
    x = b.convert(x, element(op.result))
    total = b.concatenate([_folded(b, op, x, group) for group in groups], 0)
    return _shared_out(b, op, _split(b, total, int_of(op.scatter_dimension) + 1, len(groups[0]), 1), groups, grid)


def _folded(b: OpBuilder, op: hlo.AllReduceOp | hlo.ReduceScatterOp, x: Value, group: Group) -> Value:
    """The rows of a group combined by the computation of an op, one after the other: ``[1, ...]``."""
    total = rows(b, x, [group[0]])
    dimensions: dict[str, Attribute] = {"dimensions": int_array(range(len(shape(total))))}
    for device in group[1:]:
        total = b.create(hlo.MapOp, (total, rows(b, x, [device])), (total.type,), dimensions, (op.computation.clone(),))[0]
    return total


def _all_gather(b: OpBuilder, op: hlo.AllGatherOp, x: Value, grid: Grid) -> Value:
    stacked, groups = _sorted_by_group(b, op, x, grid)
    return _to_devices(b, op, _merged(b, stacked, 1, int_of(op.all_gather_dim) + 1), groups, grid)


def _merged(b: OpBuilder, x: Value, dim: int, into: int) -> Value:
    """x with dimension ``dim`` in front of what is then dimension ``into``, and the two of them one."""
    rest = [d for d in range(len(shape(x))) if d != dim]
    moved = b.transpose(x, [*rest[:into], dim, *rest[into:]])
    extents = shape(moved)
    return b.reshape(moved, [*extents[:into], extents[into] * extents[into + 1], *extents[into + 2 :]])


def _split(b: OpBuilder, x: Value, dim: int, count: int, to: int) -> Value:
    """x with a dimension split in ``count`` parts, which are dimension ``to``."""
    extents = shape(x)
    divided = b.reshape(x, [*extents[:dim], count, extents[dim] // count, *extents[dim + 1 :]])
    rest = [d for d in range(len(extents) + 1) if d != dim]
    return b.transpose(divided, [*rest[:to], dim, *rest[to:]])


def _shared_out(b: OpBuilder, op: Operation, by_place: Value, groups: Sequence[Group], grid: Grid) -> Value:
    """Gives every device the row ``[its group, its place in it]``."""
    flat, size = b.reshape(by_place, [len(groups) * len(groups[0]), *shape(by_place)[2:]]), len(groups[0])
    own = [_of(op, groups, device) for device in range(grid.size)]
    return rows(b, flat, [groups.index(group) * size + group.index(device) for device, group in enumerate(own)])


def _reduce_scatter(b: OpBuilder, op: core.ReduceScatterOp, x: Value, grid: Grid) -> Value:
    stacked, groups = _sorted_by_group(b, op, x, grid)
    total = b.reduce(op.kind.data, stacked, [1])
    return _shared_out(b, op, _split(b, total, int_of(op.scatter_dimension) + 1, len(groups[0]), 1), groups, grid)


def _all_to_all(b: OpBuilder, op: hlo.AllToAllOp, x: Value, grid: Grid) -> Value:
    stacked, groups = _sorted_by_group(b, op, x, grid)  # [group, source, ...]
    parts = _split(b, stacked, int_of(op.split_dimension) + 2, len(groups[0]), 1)  # [group, target, source, ...]
    return _shared_out(b, op, _merged(b, parts, 2, int_of(op.concat_dimension) + 2), groups, grid)


def _received(b: OpBuilder, x: Value, sources: Sequence[int | None]) -> Value:
    """The row of each device's source; zeros where there is none."""
    taken = rows(b, x, [0 if source is None else source for source in sources])
    if None not in sources:
        return taken
    has = b.constant(np.array([source is not None for source in sources]))
    return b.select(b.broadcast_in_dim(has, [0], shape(taken)), taken, b.zeros(type_of(taken)))


def _permute(b: OpBuilder, op: hlo.CollectivePermuteOp, x: Value, grid: Grid) -> Value:
    sources = {target: source for source, target in pairs_of(op, grid)}
    return _received(b, x, [sources.get(device) for device in range(grid.size)])


def _broadcast(b: OpBuilder, op: hlo.CollectiveBroadcastOp, x: Value, grid: Grid) -> Value:
    groups = [group_of(groups_of(op, grid), device) for device in range(grid.size)]
    return _received(b, x, [None if group is None else group[0] for group in groups])


_RULES: dict[type[Operation], Callable[[OpBuilder, Any, Value, Grid], Value]] = {
    core.AllReduceOp: _all_reduce,
    hlo.AllReduceOp: _all_reduce_by_region,
    core.ReduceScatterOp: _reduce_scatter,
    hlo.ReduceScatterOp: _reduce_scatter_by_region,
    hlo.AllGatherOp: _all_gather,
    hlo.AllToAllOp: _all_to_all,
    hlo.CollectivePermuteOp: _permute,
    hlo.CollectiveBroadcastOp: _broadcast,
}
