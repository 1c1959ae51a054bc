"""Typing rules of random numbers."""

from __future__ import annotations

from typing import cast

from wengert.dialects.stablehlo import random as ops
from wengert.dialects.stablehlo.attributes import RngDistribution, RngDistributionAttr
from wengert.dialects.stablehlo.typing.checks import (
    as_tensor,
    expect_elements,
    expect_result,
    expect_scalar,
    expect_static,
    operand,
    same_element,
)
from wengert.dialects.stablehlo.typing.dynamic import expect_shape_operand
from wengert.ir.element_classes import BOOLEAN, FLOAT, INTEGER
from wengert.ir.tensor_types import DYNAMIC
from wengert.ir.verification.typing_rules import typing_rule


@typing_rule(ops.RngBitGeneratorOp)
def check_rng_bit_generator(op: ops.RngBitGeneratorOp) -> None:
    """The state keeps its type; the output is numbers of any shape."""
    state = operand(op, 0, "initial_state")
    expect_elements("initial_state", state, INTEGER | FLOAT)
    output = as_tensor("output", op.results[1].type)
    expect_elements("output", output, INTEGER | FLOAT)
    expect_static("output", output)
    expect_result(op, state.get_shape(), state.element_type)


@typing_rule(ops.RngOp)
def check_rng(op: ops.RngOp) -> None:
    """Scalars a and b of the result's element type; the result's shape as an operand."""
    a, b = (expect_scalar(role, op.operands[i].type) for i, role in enumerate(("a", "b")))
    same_element("a", a, "b", b)
    normal = cast(RngDistributionAttr, op.properties["rng_distribution"]).data is RngDistribution.NORMAL
    expect_elements("a", a, FLOAT if normal else BOOLEAN | INTEGER | FLOAT)
    rank = len(as_tensor("result", op.results[0].type).get_shape())
    expect_shape_operand(op, 2, "shape", rank, "the result's rank")
    expect_result(op, [DYNAMIC] * rank, a.element_type)
