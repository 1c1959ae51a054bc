"""Typing rules of ops whose result shape is computed at run time: what the types alone decide."""

from __future__ import annotations

from math import prod
from typing import cast

from xdsl.dialects.builtin import IndexType, TensorType
from xdsl.ir import Operation

from wengert.dialects.stablehlo import dynamic as ops
from wengert.dialects.stablehlo.attributes import GatherDimensionNumbersAttr
from wengert.dialects.stablehlo.typing.checks import (
    COMPLEX,
    FLOAT,
    INTEGER,
    Tensor,
    as_tensor,
    element_class,
    expect_dimensions,
    expect_elements,
    expect_in_range,
    expect_result,
    expect_scalar,
    fail,
    int_list,
    int_property,
    is_static,
    operand,
    same_element,
)
from wengert.dialects.stablehlo.typing.indexing import gathered_shape
from wengert.dialects.stablehlo.typing.shape import check_broadcast_dimensions
from wengert.ir.tensor_types import DYNAMIC, i32
from wengert.ir.typing_rules import typing_rule


def expect_shape_operand(op: Operation, index: int, role: str, length: int, what: str) -> None:
    """The operand is a list of integers, one for each dimension of something."""
    type = op.operands[index].type
    if not isinstance(type, TensorType):
        fail(f"{role} must be a ranked tensor, found {type}")
    found = cast(Tensor, type)
    if not isinstance(found.element_type, IndexType) and not element_class(found.element_type) & INTEGER:
        fail(f"{role} must hold integers, found {found}")
    if found.get_shape() != (length,):
        fail(f"{role} must be a list of {length} integers ({what}), found {found}")


@typing_rule(ops.GetDimensionSizeOp)
def check_get_dimension_size(op: ops.GetDimensionSizeOp) -> None:
    """A scalar i32."""
    x = operand(op, 0, "operand")
    expect_in_range("dimension", (int_property(op, "dimension"),), len(x.get_shape()))
    expect_result(op, (), i32)


@typing_rule(ops.SetDimensionSizeOp)
def check_set_dimension_size(op: ops.SetDimensionSizeOp) -> None:
    """The operand's type with one extent unknown."""
    x = operand(op, 0, "operand")
    expect_scalar("size", op.operands[1].type, i32)
    dimension = int_property(op, "dimension")
    expect_in_range("dimension", (dimension,), len(x.get_shape()))
    expect_result(op, [DYNAMIC if d == dimension else n for d, n in enumerate(x.get_shape())], x.element_type)


@typing_rule(ops.DynamicBroadcastInDimOp)
def check_dynamic_broadcast_in_dim(op: ops.DynamicBroadcastInDimOp) -> None:
    """As broadcast_in_dim, to a shape of known rank."""
    x, result = operand(op, 0, "operand"), as_tensor("result", op.results[0].type)
    expect_shape_operand(op, 1, "output_dimensions", len(result.get_shape()), "the result's rank")
    check_broadcast_dimensions(op, x, result)
    known = int_list(op, "known_expanding_dimensions") + int_list(op, "known_nonexpanding_dimensions")
    expect_dimensions("known_expanding_dimensions and known_nonexpanding_dimensions together", known, len(x.get_shape()))


@typing_rule(ops.DynamicIotaOp)
def check_dynamic_iota(op: ops.DynamicIotaOp) -> None:
    """A result of known rank."""
    result = as_tensor("result", op.results[0].type)
    expect_elements("result", result, INTEGER | FLOAT | COMPLEX)
    rank = len(result.get_shape())
    expect_shape_operand(op, 0, "output_shape", rank, "the result's rank")
    expect_in_range("iota_dimension", (int_property(op, "iota_dimension"),), rank, "the result's rank")


@typing_rule(ops.DynamicReshapeOp)
def check_dynamic_reshape(op: ops.DynamicReshapeOp) -> None:
    """Equally many elements, where both counts are known."""
    x, result = operand(op, 0, "operand"), as_tensor("result", op.results[0].type)
    same_element("operand", x, "result", result)
    shape, source = result.get_shape(), x.get_shape()
    expect_shape_operand(op, 1, "output_shape", len(shape), "the result's rank")
    if is_static(shape) and is_static(source) and prod(shape) != prod(source):
        fail(f"operand and result must have the same number of elements, found {x} with {prod(source)} and {result} with {prod(shape)}")


def check_result_of_rank(op: Operation, x: Tensor) -> None:
    """The result has the operand's rank and element type."""
    expect_result(op, [DYNAMIC] * len(x.get_shape()), x.element_type)


@typing_rule(ops.DynamicPadOp)
def check_dynamic_pad(op: ops.DynamicPadOp) -> None:
    """The result has the operand's rank."""
    x = operand(op, 0, "operand")
    expect_scalar("padding_value", op.operands[1].type, x.element_type)
    for i, role in enumerate(("edge_padding_low", "edge_padding_high", "interior_padding"), 2):
        expect_shape_operand(op, i, role, len(x.get_shape()), "the operand's rank")
    expect_one_type(op, 2)
    check_result_of_rank(op, x)


def expect_one_type(op: Operation, first: int) -> None:
    """The operands from the given one on have the same type."""
    for value in op.operands[first + 1 :]:
        if value.type != op.operands[first].type:
            fail(f"operands #{first} to #{len(op.operands) - 1} must have the same type, found {op.operands[first].type} and {value.type}")


@typing_rule(ops.DynamicGatherOp)
def check_dynamic_gather(op: ops.DynamicGatherOp) -> None:
    """As gather; the window's extents are unknown."""
    x, indices = operand(op, 0, "operand"), operand(op, 1, "start_indices")
    expect_shape_operand(op, 2, "slice_sizes", len(x.get_shape()), "the operand's rank")
    numbers = cast(GatherDimensionNumbersAttr, op.properties["dimension_numbers"])
    expect_result(op, gathered_shape(numbers, x, indices, None), x.element_type)


@typing_rule(ops.RealDynamicSliceOp)
def check_real_dynamic_slice(op: ops.RealDynamicSliceOp) -> None:
    """The result has the operand's rank."""
    x = operand(op, 0, "operand")
    for i, role in enumerate(("start_indices", "limit_indices", "strides"), 1):
        expect_shape_operand(op, i, role, len(x.get_shape()), "the operand's rank")
    expect_one_type(op, 1)
    check_result_of_rank(op, x)
