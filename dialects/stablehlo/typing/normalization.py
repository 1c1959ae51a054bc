"""Typing rules of batch normalization."""

from __future__ import annotations

from xdsl.ir import Operation

from wengert.dialects.stablehlo import normalization as ops
from wengert.dialects.stablehlo.bounds import bounds_of
from wengert.dialects.stablehlo.typing.checks import (
    Tensor,
    common_bounds,
    expect_elements,
    expect_in_range,
    expect_result,
    fail,
    int_property,
    merged,
    operand,
    same_element,
    same_extent,
    same_shape,
)
from wengert.ir.element_classes import FLOAT, QUANTIZED
from wengert.ir.verification.typing_rules import typing_rule


def check_features(op: Operation, roles: tuple[str, ...]) -> tuple[Tensor, int]:
    """The operand (operand 0) and how many features it has; the operands of these roles, which follow, have one element for each."""
    x = operand(op, 0, "operand")
    expect_elements("operand", x, FLOAT | QUANTIZED)
    index = int_property(op, "feature_index")
    expect_in_range("feature_index", (index,), len(x.get_shape()))
    features = x.get_shape()[index]
    for i, role in enumerate(roles, 1):
        given = operand(op, i, role)
        same_element("operand", x, role, given)
        if len(given.get_shape()) != 1 or not same_extent(given.get_shape()[0], features):
            fail(f"{role} must have one element for each of the features in dimension {index} of the operand {x}, found {given}")
        if not same_shape(given.get_shape(), operand(op, 1, roles[0]).get_shape()):
            fail(f"{roles[0]} and {role} must have the same type, found {op.operands[1].type} and {given}")
    return x, features


@typing_rule(ops.BatchNormTrainingOp)
def check_training(op: ops.BatchNormTrainingOp) -> None:
    """The operand's type, and two lists with an element for each feature."""
    x, features = check_features(op, ("scale", "offset"))
    expect_result(op, x.get_shape(), x.element_type, bounds=bounds_of(x))
    for index in (1, 2):
        expect_result(op, [features], x.element_type, index)


@typing_rule(ops.BatchNormInferenceOp)
def check_inference(op: ops.BatchNormInferenceOp) -> None:
    """The operand's type."""
    x, _ = check_features(op, ("scale", "offset", "mean", "variance"))
    expect_result(op, x.get_shape(), x.element_type, bounds=bounds_of(x))


@typing_rule(ops.BatchNormGradOp)
def check_grad(op: ops.BatchNormGradOp) -> None:
    """The operand's type, and two lists with an element for each feature."""
    x, features = check_features(op, ("scale", "mean", "variance"))
    given = operand(op, 4, "grad_output")
    same_element("operand", x, "grad_output", given)
    if not same_shape(given.get_shape(), x.get_shape()):
        fail(f"operand and grad_output must have the same type, found {x} and {given}")
    expect_result(op, merged(x, given).get_shape(), x.element_type, bounds=common_bounds(x, given))
    for index in (1, 2):
        expect_result(op, [features], x.element_type, index)
