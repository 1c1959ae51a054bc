"""What adds a constant to a tangent is seen at every op that is linear in several operands jointly, by its facts."""

from __future__ import annotations

import pytest

from wengert.ir.parsing.parser import parse_module
from wengert.transforms.ad.linear.affine import adds_a_constant

OPS = {
    "add": ("stablehlo.add {t}, {c} : tensor<3xf64>", True),
    "zero": ("stablehlo.add {t}, {zero} : tensor<3xf64>", False),
    "complex": ("stablehlo.complex {t}, {c} : tensor<3xcomplex<f64>>", True),
    "complex-zero": ("stablehlo.complex {t}, {zero} : tensor<3xcomplex<f64>>", False),
    "concatenate": ("stablehlo.concatenate {t}, {c}, dim = 0 : (tensor<3xf64>, tensor<3xf64>) -> tensor<6xf64>", True),
    "multiply": ("stablehlo.multiply {t}, {c} : tensor<3xf64>", False),
    "divide": ("stablehlo.divide {t}, {c} : tensor<3xf64>", False),
    "update-at-a-place": ("stablehlo.dynamic_update_slice {zero}, {t}, %i : (tensor<3xf64>, tensor<3xf64>, tensor<i32>) -> tensor<3xf64>", False),
    "update-of-a-constant": ("stablehlo.dynamic_update_slice {c}, {t}, %i : (tensor<3xf64>, tensor<3xf64>, tensor<i32>) -> tensor<3xf64>", True),
}


@pytest.mark.parametrize("name", OPS)
def test_adding_a_constant_to_a_tangent(name: str) -> None:
    text, wanted = OPS[name]
    line = text.format(t="%t", c="%c", zero="%zero")
    module = parse_module(
        "func.func @main(%t: tensor<3xf64>, %c: tensor<3xf64>, %i: tensor<i32>) {\n"
        f"  %zero = stablehlo.constant dense<0.0> : tensor<3xf64>\n  %r = {line}\n  return\n}}"
    )
    entry = next(op for op in module.walk() if op.name == "func.func")
    tangent = entry.regions[0].block.args[0]
    op = next(op for op in module.walk() if op.results and op.name != "stablehlo.constant")
    assert adds_a_constant(op, list(op.operands), [operand is tangent for operand in op.operands]) is wanted
