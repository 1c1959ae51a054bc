"""Typing rules of communication among devices: what holds for any number of devices."""

from __future__ import annotations

from math import prod
from typing import Any, cast

from xdsl.dialects.builtin import DenseIntOrFPElementsAttr
from xdsl.ir import Operation

from wengert.dialects.sdy_shardings import MOST_DEVICES
from wengert.dialects.stablehlo import collective as ops
from wengert.dialects.stablehlo.attributes import ChannelHandleAttr, ReplicaGroupMeshAxesAttr
from wengert.dialects.stablehlo.bounds import bounds_of
from wengert.dialects.stablehlo.typing.checks import (
    Tensor,
    expect_in_range,
    expect_result,
    expect_unique,
    fail,
    int_property,
    operand,
    result_name,
    tensors,
)
from wengert.dialects.stablehlo.typing.regions import check_reducer, expect_results
from wengert.ir.attributes import int_of
from wengert.ir.elements import to_numpy
from wengert.ir.tensor_types import DYNAMIC, i64, tensor, ui32
from wengert.ir.verification.typing_rules import typing_rule


def device_table(op: Operation, name: str) -> list[list[int]]:
    """A matrix of device numbers as rows."""
    attribute = op.properties[name]
    if not isinstance(attribute, DenseIntOrFPElementsAttr):
        fail(f"{name} must be a matrix of device numbers of i64, found {attribute}")
    attribute = cast("DenseIntOrFPElementsAttr[Any]", attribute)
    type = cast(Tensor, attribute.type)
    if len(type.get_shape()) != 2 or type.element_type != i64:
        fail(f"{name} must be a matrix of device numbers of i64, found {type}")
    if prod(type.get_shape()) > MOST_DEVICES:
        fail(f"{name} must list {MOST_DEVICES} device numbers at most, found {type}")
    return [[int(device) for device in row] for row in to_numpy(attribute)]


def expect_groups(op: Operation, *, uneven: bool = False, size: int | None = None, least: int = 1) -> None:
    """replica_groups divides the devices 0, 1, ... among groups (-1 fills up shorter ones where groups may be ``uneven``).

    Ids that are global need a channel of the handle ``least`` or above, and at least one group. Groups may also be named by the axes of a mesh.
    """
    by_id = "use_global_device_ids" in op.properties
    if by_id and (handle := channel(op)) < least:
        fail(f"use_global_device_ids needs a channel_handle with a {'positive handle' if least else 'handle that is not negative'}, found {handle}")
    if isinstance(op.properties["replica_groups"], ReplicaGroupMeshAxesAttr):
        return
    groups = device_table(op, "replica_groups")
    if by_id and not any(groups):
        fail("replica_groups must not be empty where use_global_device_ids is set")
    if not uneven and any(device == -1 for row in groups for device in row):
        fail(f"all groups of replica_groups must have the same size, without -1, found {groups}")
    devices = sorted(device for row in groups for device in row if device != -1)
    if devices != list(range(len(devices))):
        fail(f"replica_groups must contain each of the devices 0 to {len(devices) - 1} once, found {devices}")
    if size is not None and groups and len(groups[0]) != size:
        fail(f"the groups of replica_groups must have split_count = {size} devices, found {len(groups[0])}")


def channel(op: Operation) -> int:
    """The handle of the op's channel, 0 where it has none."""
    handle = op.properties.get("channel_handle")
    return int_of(handle.handle) if isinstance(handle, ChannelHandleAttr) else 0


def expect_pairs(op: Operation) -> None:
    """source_target_pairs sends from every device and to every device at most once."""
    pairs = device_table(op, "source_target_pairs")
    if any(len(pair) != 2 for pair in pairs):
        fail(f"source_target_pairs must have two columns, found {len(pairs[0])}")
    if not pairs and cast(Tensor, cast("Any", op.properties["source_target_pairs"]).type).get_shape()[1] != 2:
        fail("source_target_pairs must have two columns, found none")
    for role, devices in (("sources", [pair[0] for pair in pairs]), ("targets", [pair[1] for pair in pairs])):
        if any(d < 0 for d in devices):
            fail(f"the {role} of source_target_pairs must not be negative, found {devices}")
        expect_unique(f"the {role} of source_target_pairs", devices, "device")


def expect_same_but(op: Operation, index: int, x: Tensor, changed: tuple[int, ...]) -> None:
    """Result ``index`` differs from the operand in the extents of some dimensions only."""
    expect_result(op, [DYNAMIC if d in changed else n for d, n in enumerate(x.get_shape())], x.element_type, index)


def expect_result_per_operand(op: Operation, operands: list[Tensor]) -> None:
    """Checks that there are as many results as operands."""
    if len(op.results) != len(operands):
        fail(f"there must be a result for each operand, found {len(operands)} operands and {len(op.results)} results")


@typing_rule(ops.AllGatherOp)
def check_all_gather(op: ops.AllGatherOp) -> None:
    """Each result is its operand, longer along all_gather_dim."""
    operands = tensors((v.type for v in op.operands), "operand")
    expect_result_per_operand(op, operands)
    expect_groups(op, least=0)
    axis = int_property(op, "all_gather_dim")
    for i, x in enumerate(operands):
        expect_in_range("all_gather_dim", (axis,), len(x.get_shape()))
        if x.get_shape()[axis] == 0:
            fail(f"dimension {axis} of operand #{i}, along which is gathered, must not be empty, found {x}")
        expect_same_but(op, i, x, (axis,))
        expect_multiple(op, i, op.results[i].type, x, axis)


def expect_multiple(op: Operation, index: int, whole: Any, part: Any, axis: int) -> None:
    """One extent is a whole number of another."""
    n, m = cast(Tensor, whole).get_shape()[axis], cast(Tensor, part).get_shape()[axis]
    if DYNAMIC not in (n, m) and (m == 0 or n % m):
        fail(f"{result_name(op, index)}: the extent {n} in dimension {axis} of {whole} must be a multiple of the extent {m} of {part}")


@typing_rule(ops.AllReduceOp)
def check_all_reduce(op: ops.AllReduceOp) -> None:
    """Each result has its operand's shape; elements are those of the computation."""
    operands = tensors((v.type for v in op.operands), "operand")
    expect_result_per_operand(op, operands)
    expect_groups(op, uneven=True)
    results = [tensor(x.get_shape(), check_reducer(op.regions[0], "computation", [x], [x])[0].element_type) for x in operands]
    expect_results(op, results, "inferred from the operand and the computation")


@typing_rule(ops.ReduceScatterOp)
def check_reduce_scatter(op: ops.ReduceScatterOp) -> None:
    """The operand's type, shorter along scatter_dimension."""
    x = operand(op, 0, "operand")
    axis = int_property(op, "scatter_dimension")
    expect_in_range("scatter_dimension", (axis,), len(x.get_shape()))
    expect_groups(op)
    (accumulator,) = check_reducer(op.regions[0], "computation", [x], [x])
    expect_same_but(op, 0, tensor(x.get_shape(), accumulator.element_type), (axis,))
    for role, type in (("operand", x), (result_name(op, 0), cast(Tensor, op.results[0].type))):
        if type.get_shape()[axis] == 0:
            fail(f"dimension {axis} of the {role}, which is scattered, must not be empty, found {type}")
    expect_multiple(op, 0, x, op.results[0].type, axis)


@typing_rule(ops.AllToAllOp)
def check_all_to_all(op: ops.AllToAllOp) -> None:
    """split_dimension shrinks and concat_dimension grows by split_count."""
    operands = tensors((v.type for v in op.operands), "operand")
    expect_result_per_operand(op, operands)
    split, concat, count = (int_property(op, name) for name in ("split_dimension", "concat_dimension", "split_count"))
    if count <= 0:
        fail(f"split_count must be positive, found {count}")
    for i, x in enumerate(operands):
        shape = list(x.get_shape())
        expect_in_range("split_dimension", (split,), len(shape))
        expect_in_range("concat_dimension", (concat,), len(shape))
        if shape[split] != DYNAMIC:
            if shape[split] % count:
                fail(f"split_count = {count} must divide the extent {shape[split]} of dimension {split} of the operand {x}")
            shape[split] //= count
        if shape[concat] != DYNAMIC:
            shape[concat] *= count
        expect_result(op, shape, x.element_type, i, exchanged_bounds(x, split, concat, count))
    expect_groups(op, size=count)


def exchanged_bounds(x: Tensor, split: int, concat: int, count: int) -> list[int] | None:
    """The bounds after one dimension was split among ``count`` devices and another one put together from them."""
    if (known := bounds_of(x)) is None:
        return None
    bounds = list(known)
    if bounds[split] != DYNAMIC:
        bounds[split] //= count
    if bounds[concat] != DYNAMIC:
        bounds[concat] *= count
    return bounds


@typing_rule(ops.CollectivePermuteOp)
def check_collective_permute(op: ops.CollectivePermuteOp) -> None:
    """The result has the operand's type."""
    x = operand(op, 0, "operand")
    expect_pairs(op)
    expect_result(op, x.get_shape(), x.element_type, bounds=bounds_of(x))


@typing_rule(ops.CollectiveBroadcastOp)
def check_collective_broadcast(op: ops.CollectiveBroadcastOp) -> None:
    """The result has the operand's type; a group may leave devices out."""
    x = operand(op, 0, "operand")
    if not isinstance(op.properties["replica_groups"], ReplicaGroupMeshAxesAttr):
        devices = [device for row in device_table(op, "replica_groups") for device in row]
        if any(device < 0 for device in devices):
            fail(f"replica_groups must not hold negative devices, found {devices}")
        expect_unique("replica_groups", devices, "device")
    expect_result(op, x.get_shape(), x.element_type, bounds=bounds_of(x))


@typing_rule(ops.CrossReplicaSumOp)
def check_cross_replica_sum(op: ops.CrossReplicaSumOp) -> None:
    """The result has the operand's type; what groups there are is not looked at, as upstream."""
    x = operand(op, 0, "operand")
    device_table(op, "replica_groups")
    expect_result(op, x.get_shape(), x.element_type, bounds=bounds_of(x))


@typing_rule(ops.PartitionIdOp, ops.ReplicaIdOp)
def check_device_number(op: Operation) -> None:
    """A scalar ui32."""
    expect_result(op, (), ui32)
