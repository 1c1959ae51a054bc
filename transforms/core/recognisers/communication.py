"""Collectives at core level: one operand each, the kind as an attribute, groups as tables.

Before and after::

    %0:2 = "stablehlo.all_reduce"(%x, %y) <{G}> ({add})      %0 = core.all_reduce add %x, G
                                                             %1 = core.all_reduce add %y, G

A computation of no known kind is combined here: everybody's operands are gathered in front, and neighbours are combined in pairs by the computation as a
``stablehlo.map``, which keeps the order of the group. Groups of different sizes, and shares in groups that no exchange can say, stay as they are until they are
differentiated (:mod:`wengert.transforms.ad.rewrites.collective_regions`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import SymbolRefAttr, UnitAttr
from xdsl.ir import Attribute, Operation, SSAValue

from wengert.dialects import core
from wengert.dialects import stablehlo as hlo
from wengert.dialects.builder import OpBuilder
from wengert.dialects.core import Kind, KindAttr
from wengert.dialects.sdy_shardings import Axis, Mesh, gather_groups, meshes_of, problem_of_mesh
from wengert.dialects.stablehlo.attributes import ChannelHandleAttr, ReplicaGroupMeshAxesAttr
from wengert.dialects.stablehlo.process_groups import Mode, declared_grid, groups_of, known_groups, mode_of, rows
from wengert.ir.attributes import int_array, int_attr, int_of
from wengert.ir.elements import from_numpy
from wengert.ir.location.places import error_at
from wengert.ir.tensor_types import element, rank, shape, tensor
from wengert.ir.traversal import all_ops
from wengert.transforms.core.kinds import combiner_kinds, region_of

CHANNEL = ChannelHandleAttr(int_attr(1), int_attr(1))
"""What makes the numbers of a collective those of partitions, or of devices."""


def group_properties(op: Operation) -> dict[str, Attribute]:
    """The properties of a collective that say who takes part; a group of all by its numbers, where the module says how many there are."""
    properties = {name: op.properties[name] for name in ("replica_groups", "channel_handle", "use_global_device_ids") if name in op.properties}
    if rows(op.properties["replica_groups"]) == [] and (grid := declared_grid(module_of(op))) is not None:
        count = {Mode.PARTITIONS: grid.partitions, Mode.DEVICES: grid.size}.get(mode_of(op), grid.replicas)
        properties["replica_groups"] = table([range(count)])
    return properties


def number_groups(module: Operation) -> None:
    """Replaces groups that are named by the axes of a mesh by tables of device numbers, in place. Raises a DiagnosticError for an axis that is not there."""
    ops = [op for op in all_ops(module) if isinstance(op.properties.get("replica_groups"), ReplicaGroupMeshAxesAttr)]
    meshes = meshes_of(module) if ops else {}
    for op in ops:
        named = cast("ReplicaGroupMeshAxesAttr", op.properties["replica_groups"])
        symbol = named.mesh.string_value() if isinstance(named.mesh, SymbolRefAttr) else None
        mesh = _inline_mesh(str(named.mesh)) if symbol is None else meshes.get(symbol)
        axes = [_axis(str(axis)) for axis in named.axes.data]
        if mesh is None or any(axis.name not in dict(mesh.axes) for axis in axes):
            listed = ", ".join("@" + name for name in meshes) or "none"
            raise error_at(op, f"{op.name} is over axes that no mesh of this module has: {named} (meshes: {listed})")
        if problem := problem_of_mesh(mesh):
            raise error_at(op, f"{op.name}: the mesh {named.mesh} {problem}")
        op.properties.update(device_groups(gather_groups(axes, mesh)))


def _inline_mesh(text: str) -> Mesh | None:
    """The mesh that an attribute is by its text, None where its devices are not listed one by one."""
    axes = tuple((name, int(size)) for name, size in re.findall(r'name = "([^"]*)", size = (\d+)', text))
    ids = re.search(r"device_ids = dense<\[([\d, ]+)\]>", text)
    if not axes or ("device_ids" in text and ids is None):
        return None
    return Mesh(axes, tuple(int(n) for n in ids.group(1).split(",")) if ids else ())


def _axis(text: str) -> Axis:
    name, part = re.search(r'name = "([^"]*)"', text), re.search(r"\((\d+)\)\s*(\d+)", text)
    return Axis(name.group(1) if name else "", *((int(part.group(1)), int(part.group(2))) if part else ()))


def device_groups(groups: Sequence[Sequence[int]]) -> dict[str, Attribute]:
    """The properties of a collective within these groups of devices."""
    return {"replica_groups": table(groups), "channel_handle": CHANNEL, "use_global_device_ids": UnitAttr()}


def table(groups: Sequence[Sequence[int]]) -> Attribute:
    """Groups of device numbers as the attribute of a collective; shorter ones are filled up."""
    width = max((len(group) for group in groups), default=0)
    filled = [[*group, *[-1] * (width - len(group))] for group in groups]
    return from_numpy(np.array(filled, np.int64).reshape(len(groups), width))


def module_of(op: Operation) -> Operation:
    """The outermost op around an op."""
    while (parent := op.parent_op()) is not None:
        op = parent
    return op


def recognise_all_reduce(b: OpBuilder, op: hlo.AllReduceOp) -> Sequence[SSAValue] | None:
    """all_reduce by one op, operand by operand; by another computation, what is gathered is combined."""
    operands = [b.convert(x, element(y)) for x, y in zip(op.operands, op.results, strict=True)]
    kinds = combiner_kinds(op.computation.block, 1)
    if kinds is not None:
        return [all_reduce(b, kinds[0], x, group_properties(op)) for x in operands]
    size = even_size(op)
    if size is None:
        return None
    return [_combined(b, op, _stacked(b, x, size, group_properties(op))) for x in operands]


def recognise_reduce_scatter(b: OpBuilder, op: hlo.ReduceScatterOp) -> Sequence[SSAValue] | None:
    """reduce_scatter by one op; by another computation, everybody's share is exchanged and combined."""
    x, kinds = b.convert(op.operand, element(op.result)), combiner_kinds(op.computation.block, 1)
    if kinds is not None:
        return [reduce_scatter(b, kinds[0], x, int_of(op.scatter_dimension), group_properties(op), shape(op.result))]
    shares = exchanged(b, op, x)
    return None if shares is None else [_combined(b, op, shares)]


def exchanged(b: OpBuilder, op: hlo.ReduceScatterOp | core.ReduceScatterOp, x: SSAValue) -> SSAValue | None:
    """The device's share of everybody's x in front, ``[g, ...]``; None where no exchange can say the groups."""
    axis, groups = int_of(op.scatter_dimension), _exchange_groups(op)
    if groups is None:
        return None
    size = shape(x)[axis] // shape(op.result)[axis]
    parts = [*shape(x)[:axis], size, *shape(op.result)[axis:]]
    split = b.transpose(b.reshape(x, parts), [axis, *[d for d in range(len(parts)) if d != axis]])
    count = {"split_dimension": int_attr(0), "concat_dimension": int_attr(0), "split_count": int_attr(size)}
    return b.create(hlo.AllToAllOp, (split,), (split.type,), {**groups, **count})[0]


def _exchange_groups(op: Operation) -> dict[str, Attribute] | None:
    """The groups of a reduction as those of an exchange, which numbers replicas or partitions; None where it cannot say them."""
    grid = declared_grid(module_of(op))
    if grid is None:
        mode = mode_of(op)
        if mode is Mode.DEVICES:  # which are partitions of one replica then
            return {"replica_groups": op.properties["replica_groups"], "channel_handle": op.properties["channel_handle"]}
        return group_properties(op) if mode is Mode.REPLICAS else None
    if min(grid.replicas, grid.partitions) > 1:
        return group_properties(op) if mode_of(op) is Mode.REPLICAS else None
    groups = table(groups_of(op, grid))
    return {"replica_groups": groups} if grid.partitions == 1 else {"replica_groups": groups, "channel_handle": CHANNEL}


def even_size(op: Operation) -> int | None:
    """The number of devices in each group of a collective, if the text says it and all have one."""
    sizes = {len(group) for group in known_groups(op, module_of(op)) or []}
    return sizes.pop() if len(sizes) == 1 else None


def _stacked(b: OpBuilder, x: SSAValue, size: int, groups: dict[str, Attribute]) -> SSAValue:
    """The values of a group, one after the other in front."""
    return all_gather(b, b.reshape(x, [1, *shape(x)]), 0, size, groups)


def all_gather(b: OpBuilder, x: SSAValue, axis: int, size: int, groups: dict[str, Attribute]) -> SSAValue:
    """The values of a group of this size, concatenated along a dimension."""
    extents = [n * size if d == axis else n for d, n in enumerate(shape(x))]
    return b.create(hlo.AllGatherOp, (x,), (tensor(extents, element(x)),), {**groups, "all_gather_dim": int_attr(axis)})[0]


def all_reduce(b: OpBuilder, kind: Kind, x: SSAValue, groups: dict[str, Attribute]) -> SSAValue:
    """The values of a group combined elementwise."""
    return b.create(core.AllReduceOp, (x,), (x.type,), {**groups, "kind": KindAttr(kind)})[0]


def reduce_scatter(b: OpBuilder, kind: Kind, x: SSAValue, axis: int, groups: dict[str, Attribute], extents: Sequence[int]) -> SSAValue:
    """A device's share, of these extents, of the values of a group combined elementwise."""
    properties = {**groups, "kind": KindAttr(kind), "scatter_dimension": int_attr(axis)}
    return b.create(core.ReduceScatterOp, (x,), (tensor(extents, element(x)),), properties)[0]


def _combined(b: OpBuilder, op: hlo.AllReduceOp | hlo.ReduceScatterOp, parts: SSAValue) -> SSAValue:
    """The values in front combined by the computation of a collective, neighbours in pairs."""
    while (n := shape(parts)[0]) > 1:
        rest = [0] * (rank(parts) - 1)
        left, right = (_rows(b, parts, first, n - n % 2, 2) for first in (0, 1))
        properties: dict[str, Attribute] = {"dimensions": int_array(range(rank(left)))}
        pairs = b.create(hlo.MapOp, (left, right), (left.type,), properties, (op.computation.clone(),))[0]
        parts = pairs if n % 2 == 0 else b.concatenate([pairs, b.slice(parts, [n - 1, *rest], shape(parts))], 0)
    return b.reshape(parts, shape(parts)[1:])


def _rows(b: OpBuilder, x: SSAValue, start: int, limit: int, stride: int) -> SSAValue:
    rest = shape(x)[1:]
    return b.slice(x, [start, *[0] * len(rest)], [limit, *rest], [stride, *[1] * len(rest)])


def recognise_cross_replica_sum(b: OpBuilder, op: hlo.CrossReplicaSumOp) -> Sequence[SSAValue]:
    """cross-replica-sum = all_reduce add"""
    return [all_reduce(b, Kind.add, op.operand, {"replica_groups": op.replica_groups})]


def one_by_one(b: OpBuilder, op: Operation) -> Sequence[SSAValue] | None:
    """all_gather or all_to_all of several operands, operand by operand."""
    if len(op.operands) == 1:
        return None
    return [b.create(type(op), (x,), (y.type,), op.properties)[0] for x, y in zip(op.operands, op.results, strict=True)]


RECOGNISERS: dict[type[Operation], tuple[Callable[[OpBuilder, Any], Sequence[SSAValue] | None], ...]] = {
    hlo.AllReduceOp: (recognise_all_reduce,),
    hlo.ReduceScatterOp: (recognise_reduce_scatter,),
    hlo.CrossReplicaSumOp: (recognise_cross_replica_sum,),
    hlo.AllGatherOp: (one_by_one,),
    hlo.AllToAllOp: (one_by_one,),
}


def expand_all_reduce(b: OpBuilder, op: core.AllReduceOp) -> list[SSAValue]:
    """core.all_reduce with the kind's op as computation"""
    return list(b.create(hlo.AllReduceOp, (op.operand,), (op.result.type,), group_properties(op), (region_of(op.kind.data, element(op.operand)),)))


def expand_reduce_scatter(b: OpBuilder, op: core.ReduceScatterOp) -> list[SSAValue]:
    """core.reduce_scatter with the kind's op as computation"""
    properties = {**group_properties(op), "scatter_dimension": op.scatter_dimension}
    return list(b.create(hlo.ReduceScatterOp, (op.operand,), (op.result.type,), properties, (region_of(op.kind.data, element(op.operand)),)))


def reversed_pairs(op: hlo.CollectivePermuteOp) -> Attribute:
    """The pairs of a collective_permute with sources and targets exchanged."""
    pairs = np.array(rows(op.source_target_pairs), np.int64).reshape(-1, 2)[:, ::-1]
    return from_numpy(np.ascontiguousarray(pairs))
