"""Typing rules of communication among devices: what holds for any number of devices."""

from __future__ import annotations

from typing import Any, cast

from xdsl.dialects.builtin import DenseIntOrFPElementsAttr
from xdsl.ir import Operation

from wengert.dialects.stablehlo import collective as ops
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
from wengert.ir.elements import to_numpy
from wengert.ir.tensor_types import DYNAMIC, i64, tensor, ui32
from wengert.ir.typing_rules import typing_rule


def device_table(op: Operation, name: str) -> list[list[int]]:
    """A matrix of device numbers as rows."""
    attribute = cast("DenseIntOrFPElementsAttr[Any]", op.properties[name])
    type = cast(Tensor, attribute.type)
    if len(type.get_shape()) != 2 or type.element_type != i64:
        fail(f"{name} must be a matrix of device numbers of i64, found {type}")
    return [[int(device) for device in row] for row in to_numpy(attribute)]


def expect_groups(op: Operation) -> None:
    """replica_groups divides the devices 0, 1, ... among groups (-1 fills up shorter ones)."""
    devices = sorted(d for row in device_table(op, "replica_groups") for d in row if d != -1)
    if devices != list(range(len(devices))):
        fail(f"replica_groups must contain each of the devices 0 to {len(devices) - 1} once, found {devices}")


def expect_pairs(op: Operation) -> None:
    """source_target_pairs sends from every device and to every device at most once."""
    pairs = device_table(op, "source_target_pairs")
    if any(len(pair) != 2 for pair in pairs):
        fail(f"source_target_pairs must have two columns, found {len(pairs[0])}")
    for role, devices in (("sources", [pair[0] for pair in pairs]), ("targets", [pair[1] for pair in pairs])):
        if any(d < 0 for d in devices):
            fail(f"the {role} of source_target_pairs must not be negative, found {devices}")
        expect_unique(f"the {role} of source_target_pairs", devices, "device")


def expect_same_but(op: Operation, index: int, x: Tensor, changed: tuple[int, ...]) -> None:
    """Result ``index`` differs from the operand in the extents of some dimensions only."""
    expect_result(op, [DYNAMIC if d in changed else n for d, n in enumerate(x.get_shape())], x.element_type, index)


def expect_result_per_operand(op: Operation, operands: list[Tensor]) -> None:
    """As many results as operands, at least one."""
    if not operands or len(op.results) != len(operands):
        fail(f"there must be at least one operand and a result for each, found {len(operands)} operands and {len(op.results)} results")


@typing_rule(ops.AllGatherOp)
def check_all_gather(op: ops.AllGatherOp) -> None:
    """Each result is its operand, longer along all_gather_dim."""
    operands = tensors((v.type for v in op.operands), "operand")
    expect_result_per_operand(op, operands)
    expect_groups(op)
    axis = int_property(op, "all_gather_dim")
    for i, x in enumerate(operands):
        expect_in_range("all_gather_dim", (axis,), len(x.get_shape()))
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
    expect_groups(op)
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
    expect_multiple(op, 0, x, op.results[0].type, axis)


@typing_rule(ops.AllToAllOp)
def check_all_to_all(op: ops.AllToAllOp) -> None:
    """split_dimension shrinks and concat_dimension grows by split_count."""
    operands = tensors((v.type for v in op.operands), "operand")
    expect_result_per_operand(op, operands)
    expect_groups(op)
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
        expect_result(op, shape, x.element_type, i)


@typing_rule(ops.CollectivePermuteOp)
def check_collective_permute(op: ops.CollectivePermuteOp) -> None:
    """The result has the operand's type."""
    x = operand(op, 0, "operand")
    expect_pairs(op)
    expect_result(op, x.get_shape(), x.element_type)


@typing_rule(ops.PartitionIdOp, ops.ReplicaIdOp)
def check_device_number(op: Operation) -> None:
    """A scalar ui32."""
    expect_result(op, (), ui32)
