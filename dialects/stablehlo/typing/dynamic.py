"""Typing rules of ops whose result shape is computed at run time: what the types alone decide, and what constant operands do.

Where the operands that give a shape are constants, the result type is known; it must not say otherwise. These are the constant
rules, which the verifier asks after the typing rules. ``refine-shapes`` infers result types by the same two.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, IndexType, TensorType
from xdsl.ir import Operation, SSAValue

from wengert.dialects.stablehlo import dynamic as ops
from wengert.dialects.stablehlo.attributes import ConvDimensionNumbersAttr, GatherDimensionNumbersAttr
from wengert.dialects.stablehlo.bounds import bounds_of
from wengert.dialects.stablehlo.random import RngOp
from wengert.dialects.stablehlo.shape import ConstantOp
from wengert.dialects.stablehlo.typing.checks import (
    Shape,
    Tensor,
    as_tensor,
    element_class,
    expect_dimensions,
    expect_elements,
    expect_in_range,
    expect_result,
    expect_scalar,
    expect_static,
    extents,
    fail,
    infer,
    int_list,
    int_property,
    is_static,
    operand,
    same_element,
    same_shape,
)
from wengert.dialects.stablehlo.typing.contraction import convolved_element, convolved_shape
from wengert.dialects.stablehlo.typing.indexing import gathered_shape
from wengert.dialects.stablehlo.typing.shape import check_broadcast_dimensions, padded_extent
from wengert.ir.element_classes import COMPLEX, FLOAT, INTEGER, QUANTIZED
from wengert.ir.elements import to_numpy
from wengert.ir.tensor_types import DYNAMIC, i32, tensor
from wengert.ir.verification.typing_rules import constant_rule, typing_rule


def expect_shape_operand(op: Operation, index: int, role: str, length: int, what: str, *, indices: bool = True) -> None:
    """The operand is a list of integers (or, with ``indices``, of the type ``index``), one for each dimension of something."""
    type = op.operands[index].type
    if not isinstance(type, TensorType):
        fail(f"{role} must be a ranked tensor, found {type}")
    tensor_type = cast(Tensor, type)
    if not (indices and isinstance(tensor_type.element_type, IndexType)) and not element_class(tensor_type.element_type) & INTEGER:
        fail(f"{role} must hold integers, found {tensor_type}")
    if tensor_type.get_shape() != (length,):
        fail(f"{role} must be a list of {length} integers ({what}), found {tensor_type}")


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
    shape = x.get_shape()
    bounds = list(bounds_of(x) or [DYNAMIC] * len(shape))
    if shape[dimension] != DYNAMIC:
        bounds[dimension] = shape[dimension]
    expect_result(op, [DYNAMIC if d == dimension else n for d, n in enumerate(shape)], x.element_type, bounds=bounds)


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
    expect_elements("result", result, INTEGER | FLOAT | COMPLEX | QUANTIZED)
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
    expect_shape_operand(op, 2, "slice_sizes", len(x.get_shape()), "the operand's rank", indices=False)
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


@typing_rule(ops.DynamicConvOp)
def check_dynamic_conv(op: ops.DynamicConvOp) -> None:
    """As convolution; how many windows there are is unknown."""
    lhs, rhs, padding = operand(op, 0, "lhs"), operand(op, 1, "rhs"), operand(op, 2, "padding")
    expect_elements("padding", padding, INTEGER)
    expect_static("padding", padding)
    spatial = max(0, len(lhs.get_shape()) - 2)
    if not same_shape(padding.get_shape(), (spatial, 2)):
        fail(f"padding must hold a low and a high edge for each of the {spatial} spatial dimensions, found {padding}")
    shape = convolved_shape(op, lhs, rhs, ((0, 0),) * spatial)
    for d in cast(ConvDimensionNumbersAttr, op.properties["dimension_numbers"]).roles[2][2]:
        shape[d] = DYNAMIC
    expect_result(op, shape, convolved_element(op, lhs, rhs))


# -- what constant operands say


def constant_value(value: SSAValue) -> np.ndarray[Any, np.dtype[Any]] | None:
    """The array that a constant op makes, or None for any other value."""
    owner = value.owner
    constant = owner.properties.get("value") if isinstance(owner, ConstantOp) else None
    return to_numpy(cast("DenseIntOrFPElementsAttr[Any]", constant)) if isinstance(constant, DenseIntOrFPElementsAttr) else None


def constant_list(op: Operation, index: int, role: str, least: int | None = None) -> Shape | None:
    """The integers of an operand that is a constant, none of them below ``least``; None for any other operand."""
    value = constant_value(op.operands[index])
    if value is None:
        return None
    numbers = tuple(int(n) for n in value.reshape(-1))
    if least is not None and any(n < least for n in numbers):
        fail(f"{role} must not hold numbers below {least}, found the constant {list(numbers)}")
    return numbers


def expect_given(op: Operation, shape: Sequence[int], given: str) -> None:
    """The result has the shape that constants say."""
    result = as_tensor("result", op.results[0].type)
    if not same_shape(result.get_shape(), tuple(shape)):
        fail(f"result type {result} contradicts {given}, by which its shape is {extents(shape)}")
    infer(0, tensor(shape, result.element_type))


_SHAPE_OPERANDS: dict[type[Operation], tuple[int, str]] = {
    ops.DynamicBroadcastInDimOp: (1, "output_dimensions"),
    ops.DynamicIotaOp: (0, "output_shape"),
    ops.DynamicReshapeOp: (1, "output_shape"),
    RngOp: (2, "shape"),
}
"""The operand that is the result's shape."""


@constant_rule(*_SHAPE_OPERANDS)
def check_given_shape(op: Operation) -> None:
    """The result has the shape that an operand says."""
    index, role = _SHAPE_OPERANDS[type(op)]
    shape = constant_list(op, index, role, 0)
    if shape is None:
        return
    expect_given(op, shape, f"{role} = {list(shape)}")
    source = operand(op, 0, "operand")
    if isinstance(op, ops.DynamicReshapeOp) and is_static(source.get_shape()) and prod(source.get_shape()) != prod(shape):
        fail(f"output_shape = {list(shape)} has {prod(shape)} elements, but the operand {source} has {prod(source.get_shape())}")
    if isinstance(op, ops.DynamicBroadcastInDimOp):
        check_broadcast_dimensions(op, source, tensor(shape, source.element_type))


@constant_rule(ops.SetDimensionSizeOp)
def check_given_size(op: ops.SetDimensionSizeOp) -> None:
    """The extent that the operand says, no larger than what there is."""
    size = constant_list(op, 1, "size", 0)
    if size is None:
        return
    shape = list(operand(op, 0, "operand").get_shape())
    dimension = int_property(op, "dimension")
    if shape[dimension] != DYNAMIC and size[0] > shape[dimension]:
        fail(f"size must not be above the extent {shape[dimension]} of dimension {dimension}, found {size[0]}")
    shape[dimension] = size[0]
    expect_given(op, shape, f"size = {size[0]}")


@constant_rule(ops.DynamicPadOp)
def check_given_padding(op: ops.DynamicPadOp) -> None:
    """low + n + (n - 1) * interior + high in each dimension."""
    x = operand(op, 0, "operand")
    low, high = constant_list(op, 2, "edge_padding_low"), constant_list(op, 3, "edge_padding_high")
    interior = constant_list(op, 4, "interior_padding", 0)
    if low is None or high is None or interior is None:
        return
    shape = [padded_extent(*amounts) for amounts in zip(x.get_shape(), low, high, interior, strict=True)]
    for d, (n, to) in enumerate(zip(x.get_shape(), shape, strict=True)):
        if n != DYNAMIC and to < 0:
            fail(f"padding of {low[d]}, {high[d]} and {interior[d]} leaves a negative extent of {to} in dimension {d} of the operand {x}")
    expect_given(op, shape, f"the padding {list(low)}, {list(high)}, {list(interior)}")


@constant_rule(ops.DynamicGatherOp)
def check_given_slice_sizes(op: ops.DynamicGatherOp) -> None:
    """As gather."""
    sizes = constant_list(op, 2, "slice_sizes", 0)
    if sizes is None:
        return
    x, indices = operand(op, 0, "operand"), operand(op, 1, "start_indices")
    numbers = cast(GatherDimensionNumbersAttr, op.properties["dimension_numbers"])
    expect_given(op, gathered_shape(numbers, x, indices, sizes), f"slice_sizes = {list(sizes)}")


@constant_rule(ops.RealDynamicSliceOp)
def check_given_bounds(op: ops.RealDynamicSliceOp) -> None:
    """ceil((limit - start) / stride) in each dimension."""
    starts, limits = constant_list(op, 1, "start_indices", 0), constant_list(op, 2, "limit_indices", 0)
    strides = constant_list(op, 3, "strides", 1)
    if starts is None or limits is None or strides is None:
        return
    shape: list[int] = []
    for d, (n, start, limit, stride) in enumerate(zip(operand(op, 0, "operand").get_shape(), starts, limits, strides, strict=True)):
        if start > limit or (n != DYNAMIC and limit > n):
            fail(f"start and limit must satisfy 0 <= start <= limit <= {'?' if n == DYNAMIC else n} in dimension {d}, found {start} and {limit}")
        shape.append(-((start - limit) // stride))
    expect_given(op, shape, f"the bounds {list(starts)}, {list(limits)}, {list(strides)}")


@constant_rule(ops.DynamicConvOp)
def check_given_edges(op: ops.DynamicConvOp) -> None:
    """As convolution."""
    edges = constant_value(op.operands[2])
    if edges is not None:
        padding = [(int(low), int(high)) for low, high in edges]
        expect_given(op, convolved_shape(op, operand(op, 0, "lhs"), operand(op, 1, "rhs"), padding), f"padding = {[list(pair) for pair in padding]}")
