"""Typing rules of ops that make tensors or move elements."""

from __future__ import annotations

from math import prod
from typing import Any, cast

from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, IntegerType
from xdsl.ir import Operation

from wengert.dialects.quant import quantized
from wengert.dialects.stablehlo import shape as ops
from wengert.dialects.stablehlo.bounds import bounds_of
from wengert.dialects.stablehlo.typing.checks import (
    Shape,
    Tensor,
    as_tensor,
    common_bounds,
    compatible,
    expect_dimensions,
    expect_elements,
    expect_in_range,
    expect_result,
    expect_scalar,
    expect_static,
    fail,
    int_list,
    int_property,
    is_static,
    operand,
    same_element,
    same_extent,
    tensors,
)
from wengert.ir.element_classes import COMPLEX, FLOAT, INTEGER, QUANTIZED
from wengert.ir.tensor_types import DYNAMIC, tensor
from wengert.ir.verification.typing_rules import typing_rule


@typing_rule(ops.ConstantOp)
def check_constant(op: Operation) -> None:
    """The type of the value."""
    type = cast("DenseIntOrFPElementsAttr[Any]", op.properties["value"]).type
    result = as_tensor("result", op.results[0].type)
    expect_static("result", result)
    if (element := quantized(result)) is not None:
        # integers are stored by their bits, whatever sign the element type gives them
        result = tensor(result.get_shape(), IntegerType(element.bitwidth))
    if result is not type and not compatible(result, type):
        fail(f"result type {result} does not match the type {type} of the value")


@typing_rule(ops.IotaOp)
def check_iota(op: ops.IotaOp) -> None:
    """Numbers of a static shape."""
    result = as_tensor("result", op.results[0].type)
    expect_static("result", result)
    expect_elements("result", result, INTEGER | FLOAT | COMPLEX | QUANTIZED)
    expect_in_range("iota_dimension", (int_property(op, "iota_dimension"),), len(result.get_shape()), "the result's rank")


def check_broadcast_dimensions(op: Operation, x: Tensor, result: Tensor) -> None:
    """Checks what broadcast_in_dim and its dynamic form have in common."""
    source, target = x.get_shape(), result.get_shape()
    dims = int_list(op, "broadcast_dimensions", len(source))
    expect_dimensions("broadcast_dimensions", dims, len(target), "the result's rank")
    same_element("operand", x, "result", result)
    for d, (n, to) in enumerate(zip(source, dims, strict=True)):
        if n != 1 and not same_extent(n, target[to]):
            fail(f"dimension {d} of the operand has the extent {n}, and so must dimension {to} of the result, onto which it is broadcast; found {result}")


@typing_rule(ops.BroadcastInDimOp)
def check_broadcast_in_dim(op: ops.BroadcastInDimOp) -> None:
    """Extents of 1 are repeated; all others are kept."""
    x, result = operand(op, 0, "operand"), as_tensor("result", op.results[0].type)
    expect_static("result", result, bounded=True)
    for d, to in enumerate(int_list(op, "broadcast_dimensions", len(x.get_shape()))):
        if x.get_shape()[d] not in (1, DYNAMIC) and 0 <= to < len(result.get_shape()) and result.get_shape()[to] == DYNAMIC:
            fail(f"dimension {d} of the operand has the extent {x.get_shape()[d]}, and so must dimension {to} of the result, found {result}")
    check_broadcast_dimensions(op, x, result)


@typing_rule(ops.BroadcastOp)
def check_broadcast(op: ops.BroadcastOp) -> None:
    """broadcast_sizes in front of the operand's extents."""
    x = operand(op, 0, "operand")
    sizes = int_list(op, "broadcast_sizes")
    if any(n < 0 for n in sizes):
        fail(f"broadcast_sizes must not be negative, found {list(sizes)}")
    expect_result(op, [*sizes, *x.get_shape()], x.element_type)


@typing_rule(ops.ReshapeOp)
def check_reshape(op: ops.ReshapeOp) -> None:
    """Equally many elements."""
    x, result = operand(op, 0, "operand"), as_tensor("result", op.results[0].type)
    expect_static("result", result, bounded=True)
    same_element("operand", x, "result", result)
    if is_static(x.get_shape()) and is_static(result.get_shape()) and prod(x.get_shape()) != prod(result.get_shape()):
        fail(f"operand and result must have the same number of elements, found {x} with {prod(x.get_shape())} and {result} with {prod(result.get_shape())}")


@typing_rule(ops.TransposeOp)
def check_transpose(op: ops.TransposeOp) -> None:
    """The operand's extents, permuted."""
    x = operand(op, 0, "operand")
    shape = x.get_shape()
    permutation = int_list(op, "permutation", len(shape))
    if sorted(permutation) != list(range(len(shape))):
        fail(f"permutation must hold each of the dimensions 0 to {len(shape) - 1} once, found {list(permutation)}")
    bounds = bounds_of(x)
    expect_result(op, [shape[p] for p in permutation], x.element_type, bounds=bounds and [bounds[p] for p in permutation])


@typing_rule(ops.SliceOp)
def check_slice(op: ops.SliceOp) -> None:
    """ceil((limit - start) / stride) in each dimension."""
    x = operand(op, 0, "operand")
    rank = len(x.get_shape())
    starts, limits, strides = (int_list(op, name, rank) for name in ("start_indices", "limit_indices", "strides"))
    expect_result(op, sliced_shape(x, starts, limits, strides), x.element_type)


def sliced_shape(x: Tensor, starts: Shape, limits: Shape, strides: Shape) -> list[int]:
    """The extents of a slice, which has to lie within the tensor."""
    shape = bounds_of(x) or x.get_shape()
    shape = tuple(n if n != DYNAMIC else b for n, b in zip(x.get_shape(), shape, strict=True))
    result: list[int] = []
    for d, (n, start, limit, stride) in enumerate(zip(shape, starts, limits, strides, strict=True)):
        if not 0 <= start <= limit or (n != DYNAMIC and limit > n):
            fail(f"start and limit must satisfy 0 <= start <= limit <= {'?' if n == DYNAMIC else n} in dimension {d}, found {start} and {limit}")
        if stride <= 0:
            fail(f"strides must be positive, found {stride} in dimension {d}")
        result.append(-((start - limit) // stride))
    return result


def padded_extent(n: int, low: int, high: int, interior: int) -> int:
    """The extent after padding, negative where cropping takes more than there is."""
    return DYNAMIC if n == DYNAMIC else low + n + max(n - 1, 0) * interior + high


@typing_rule(ops.PadOp)
def check_pad(op: ops.PadOp) -> None:
    """low + n + (n - 1) * interior + high in each dimension."""
    x = operand(op, 0, "operand")
    rank = len(x.get_shape())
    expect_scalar("padding_value", op.operands[1].type, x.element_type)
    low, high, interior = (int_list(op, name, rank) for name in ("edge_padding_low", "edge_padding_high", "interior_padding"))
    bounds = bounds_of(x)
    padded = bounds and padded_shape(tensor(bounds, x.element_type), low, high, interior)
    expect_result(op, padded_shape(x, low, high, interior), x.element_type, bounds=padded)


def padded_shape(x: Tensor, low: Shape, high: Shape, interior: Shape) -> list[int]:
    """The extents after padding, none of them negative."""
    shape = x.get_shape()
    result: list[int] = []
    for d, (n, lo, hi, between) in enumerate(zip(shape, low, high, interior, strict=True)):
        if between < 0:
            fail(f"interior_padding must not be negative, found {between} in dimension {d}")
        result.append(padded_extent(n, lo, hi, between))
        if n != DYNAMIC and result[-1] < 0:
            fail(f"padding of {lo}, {hi} and {between} leaves a negative extent of {result[-1]} in dimension {d} of the operand {x}")
    return result


@typing_rule(ops.ConcatenateOp)
def check_concatenate(op: ops.ConcatenateOp) -> None:
    """Extents add up along the dimension."""
    if not op.operands:
        fail("there must be at least one operand")
    parts = tensors((v.type for v in op.operands), "operand")
    first = parts[0]
    axis = int_property(op, "dimension")
    expect_in_range("dimension", (axis,), len(first.get_shape()))
    result = list(first.get_shape())
    for i, part in enumerate(parts[1:], 1):
        same_element("operand #0", first, f"operand #{i}", part)
        shape = part.get_shape()
        if len(shape) != len(result) or not all(same_extent(a, b) for d, (a, b) in enumerate(zip(result, shape, strict=True)) if d != axis):
            fail(f"operands must agree in every dimension but {axis}, found {first} and {part}")
        for d, n in enumerate(shape):
            if d == axis:
                result[d] = DYNAMIC if DYNAMIC in (result[d], n) else result[d] + n
            elif result[d] == DYNAMIC:
                result[d] = n
    bounds = list(common_bounds(*parts) or [DYNAMIC] * len(result))
    most = [n if n != DYNAMIC else (bounds_of(part) or part.get_shape())[axis] for part in parts for n in (part.get_shape()[axis],)]
    bounds[axis] = DYNAMIC if DYNAMIC in most else sum(most)
    expect_result(op, result, first.element_type, bounds=bounds)


@typing_rule(ops.ReverseOp)
def check_reverse(op: ops.ReverseOp) -> None:
    """The operand's type."""
    x = operand(op, 0, "operand")
    expect_dimensions("dimensions", int_list(op, "dimensions"), len(x.get_shape()))
    expect_result(op, x.get_shape(), x.element_type, bounds=bounds_of(x))
