"""Typing rules of core's reductions, scans and scatters. Importing this module registers them."""

from __future__ import annotations

from typing import cast

from xdsl.ir import Operation

from wengert.dialects.core import ops
from wengert.dialects.stablehlo.attributes import ScatterDimensionNumbersAttr
from wengert.dialects.stablehlo.typing.checks import (
    Tensor,
    as_tensor,
    element_class,
    expect_dimensions,
    expect_elements,
    expect_in_range,
    expect_result,
    fail,
    int_list,
    int_property,
    operand,
    same_element,
)
from wengert.dialects.stablehlo.typing.collective import expect_groups, expect_multiple, expect_same_but
from wengert.dialects.stablehlo.typing.elementwise import declare_one_type
from wengert.dialects.stablehlo.typing.indexing import check_scatter_numbers
from wengert.dialects.stablehlo.typing.windows import windows
from wengert.ir.element_classes import BOOLEAN, FLOAT, INTEGER
from wengert.ir.verification.typing_rules import typing_rule

declare_one_type(ops.Core.operations)


def expect_kind(op: Operation, x: Tensor, *, scatter: bool = False) -> None:
    """The kind combines elements of this type; ``set`` is for scatters."""
    kind = cast(ops.KindAttr, op.properties["kind"]).data
    if kind is ops.Kind.set and not scatter:
        fail("kind set is for scatters: it depends on the order of the elements")
    if kind in (ops.Kind.and_, ops.Kind.or_) and not element_class(x.element_type) & (BOOLEAN | INTEGER):
        fail(f"kind {kind} is for booleans or integers, found {x}")


@typing_rule(ops.ReduceOp)
def check_reduce(op: ops.ReduceOp) -> None:
    """The operand's shape without the dimensions."""
    x = operand(op, 0, "operand")
    dims = int_list(op, "dimensions")
    expect_dimensions("dimensions", dims, len(x.get_shape()))
    expect_kind(op, x)
    expect_result(op, [n for d, n in enumerate(x.get_shape()) if d not in dims], x.element_type)


@typing_rule(ops.ArgReduceOp)
def check_argreduce(op: ops.ArgReduceOp) -> None:
    """Both results have the operand's shape without the dimension; positions are integers."""
    x = operand(op, 0, "operand")
    expect_elements("operand", x, BOOLEAN | INTEGER | FLOAT)
    dimension = int_property(op, "dimension")
    expect_in_range("dimension", (dimension,), len(x.get_shape()))
    index = as_tensor("index", op.results[1].type)
    expect_elements("index", index, INTEGER)
    kept = [n for d, n in enumerate(x.get_shape()) if d != dimension]
    expect_result(op, kept, x.element_type, 0)
    expect_result(op, kept, index.element_type, 1)


@typing_rule(ops.WindowReduceOp)
def check_window_reduce(op: ops.WindowReduceOp) -> None:
    """One element for each position of the window."""
    x = operand(op, 0, "operand")
    expect_kind(op, x)
    rank = len(x.get_shape())
    edges = int_list(op, "padding", 2 * rank, meaning="a low and a high edge for each dimension of the operand")
    sizes = int_list(op, "window_dimensions", rank)
    padding = list(zip(edges[::2], edges[1::2], strict=True))
    expect_result(op, windows(op, sizes, padding=padding).output(x.get_shape()), x.element_type)


@typing_rule(ops.CumulativeOp)
def check_cumulative(op: ops.CumulativeOp) -> None:
    """The operand's type."""
    x = operand(op, 0, "operand")
    expect_kind(op, x)
    expect_in_range("dimension", (int_property(op, "dimension"),), len(x.get_shape()))
    expect_result(op, x.get_shape(), x.element_type)


@typing_rule(ops.ScatterOp)
def check_scatter(op: ops.ScatterOp) -> None:
    """The operand's type; updates as in stablehlo.scatter, of the same element type."""
    x, indices, updates = operand(op, 0, "operand"), operand(op, 1, "scatter_indices"), operand(op, 2, "updates")
    same_element("operand", x, "updates", updates)
    expect_kind(op, x, scatter=True)
    numbers = cast(ScatterDimensionNumbersAttr, op.properties["scatter_dimension_numbers"])
    check_scatter_numbers(numbers, x.get_shape(), indices, updates.get_shape())
    expect_result(op, x.get_shape(), x.element_type)


@typing_rule(ops.AllReduceOp)
def check_all_reduce(op: ops.AllReduceOp) -> None:
    """The operand's type."""
    x = operand(op, 0, "operand")
    expect_kind(op, x)
    expect_groups(op, uneven=True)
    expect_result(op, x.get_shape(), x.element_type)


@typing_rule(ops.ReduceScatterOp)
def check_reduce_scatter(op: ops.ReduceScatterOp) -> None:
    """The operand's type, shorter along the dimension."""
    x = operand(op, 0, "operand")
    axis = int_property(op, "scatter_dimension")
    expect_in_range("scatter_dimension", (axis,), len(x.get_shape()))
    expect_kind(op, x)
    expect_groups(op)
    expect_same_but(op, 0, x, (axis,))
    expect_multiple(op, 0, x, op.results[0].type, axis)
