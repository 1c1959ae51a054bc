"""Typing rules of CHLO ops: mostly scalar functions of floats, elementwise. Importing this module registers them."""

from __future__ import annotations

from typing import Any, cast

from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, TensorType, UnrankedTensorType
from xdsl.ir import Attribute, Operation

from wengert.dialects.chlo import ops
from wengert.dialects.stablehlo.bounds import bounds_of
from wengert.dialects.stablehlo.typing.checks import (
    as_tensor,
    boolean_result,
    compatible,
    element_class,
    expect_elements,
    expect_result,
    expect_static,
    fail,
    int_property,
    operand,
)
from wengert.dialects.stablehlo.typing.elementwise import check_unranked, declare_one_type
from wengert.ir.element_classes import BOOLEAN, FLOAT, INTEGER, QUANTIZED
from wengert.ir.tensor_types import DYNAMIC, i1, i32
from wengert.ir.verification.typing_rules import typing_rule

declare_one_type(ops.Chlo.operations, unranked=True)


@typing_rule(ops.IsInfOp, ops.IsPosInfOp, ops.IsNegInfOp)
def check_is_inf(op: Operation) -> None:
    """Floats to booleans."""
    if isinstance(op.operands[0].type, UnrankedTensorType):
        check_unranked(op, FLOAT, i1)
        return
    x = operand(op, 0, "operand")
    expect_elements("operand", x, FLOAT)
    boolean_result(op, x.get_shape(), bounds_of(x))


@typing_rule(ops.ConstantOp)
def check_constant(op: ops.ConstantOp) -> None:
    """The type of the value."""
    value = op.properties["value"]
    if not isinstance(value, DenseIntOrFPElementsAttr):
        fail(f"value must be a dense constant, found {value}")
    type = cast("DenseIntOrFPElementsAttr[Any]", value).type
    expect_static("result", as_tensor("result", op.results[0].type))
    if not compatible(op.results[0].type, type):
        fail(f"result type {op.results[0].type} does not match the type {type} of the value")


@typing_rule(ops.TopKOp)
def check_top_k(op: ops.TopKOp) -> None:
    """The last dimension becomes k in both results; positions are i32."""
    if isinstance(op.operands[0].type, UnrankedTensorType) and all(isinstance(r.type, UnrankedTensorType) for r in op.results):
        return
    x = operand(op, 0, "operand")
    expect_elements("operand", x, BOOLEAN | INTEGER | FLOAT | QUANTIZED)
    shape = x.get_shape()
    k = int_property(op, "k")
    if not shape:
        fail(f"operand must have at least one dimension, found {x}")
    if k < 0 or (shape[-1] != DYNAMIC and k > shape[-1]):
        fail(f"k must be between 0 and the last extent of the operand {x}, found {k}")
    expect_result(op, [*shape[:-1], k], x.element_type, 0)
    expect_result(op, [*shape[:-1], k], i32, 1)


@typing_rule(ops.ConstantLikeOp)
def check_constant_like(op: ops.ConstantLikeOp) -> None:
    """The operand's shape, and elements of the value's type."""
    value = op.properties["value"]
    element_type = getattr(value, "type", None)
    if not isinstance(element_type, Attribute) or isinstance(element_type, TensorType) or not element_class(element_type):
        fail(f"value must be a number, found {value}")
    expect_result(op, operand(op, 0, "operand").get_shape(), element_type)
