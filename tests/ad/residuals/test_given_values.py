"""Values of the primal that come in as arguments of a derivative instead of being computed again."""

from __future__ import annotations

from typing import cast

import numpy as np
from xdsl.dialects.func import FuncOp

from wengert.ir.parsing.parser import parse_module
from wengert.ir.verification.verifier import verify
from wengert.runtime.interpreter import run
from wengert.transforms.ad.derive import vjp
from wengert.transforms.ad.residuals.results_as_arguments import drop_arguments, results_to_arguments

TEXT = """
func.func public @main(%x: tensor<3xf64>, %c: tensor<3xf64>) -> (tensor<3xf64>, tensor<3xf64>, tensor<3xf64>) {
  %0 = stablehlo.exponential %x : tensor<3xf64>
  %1 = stablehlo.multiply %0, %c : tensor<3xf64>
  %2 = stablehlo.sine %1 : tensor<3xf64>
  return %2, %0, %c : tensor<3xf64>, tensor<3xf64>, tensor<3xf64>
}"""


def test_given_results_are_not_computed_again() -> None:
    module = parse_module(TEXT)
    vjp(module, "main", [0], [0])  # (x, c, cotangent) -> (sine, exp(x), c, cotangent of x)
    function = cast(FuncOp, next(iter(module.ops)))
    results_to_arguments(function, [1, 2], dropped=[0])  # (x, c, cotangent, exp(x), c) -> cotangent of x
    verify(module)
    names = [op.name for op in function.body.block.ops]
    assert "stablehlo.exponential" not in names
    assert "stablehlo.sine" not in names
    # x is no longer needed, and c is the argument that it was; the second c is an argument that nothing uses.
    assert drop_arguments(function, [0, 1, 3, 4]) == [1, 3]
    verify(module)
    x, c, bar = np.array([0.1, 0.2, 0.3]), np.array([1.0, 2.0, 3.0]), np.array([1.0, -1.0, 0.5])
    e = np.exp(x)
    (actual,) = run(module, [c, bar, e])
    np.testing.assert_allclose(actual, bar * np.cos(e * c) * c * e, rtol=1e-14)


def test_a_value_that_is_given_twice_is_taken_once() -> None:
    module = parse_module(TEXT.replace("return %2, %0, %c", "return %2, %0, %0"))
    vjp(module, "main", [0], [0])
    function = cast(FuncOp, next(iter(module.ops)))
    results_to_arguments(function, [1, 2], dropped=[0])
    assert drop_arguments(function, [0, 3, 4]) == [3]
    verify(module)
