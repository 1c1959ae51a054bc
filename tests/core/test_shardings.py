"""Shardings say nothing about values: programs that carry them run and are differentiated."""

import numpy as np
import pytest

import wengert as wg
from wengert.ir.parsing.parser import parse_module
from wengert.runtime.interpreter import run

CONSTRAINT = """module {
  sdy.mesh @mesh = <["x"=2, "y"=2]>
  func.func public @main(%x: tensor<4x4xf64> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> tensor<4x4xf64> {
    %0 = stablehlo.tanh %x : tensor<4x4xf64>
    %1 = sdy.sharding_constraint %0 <@mesh, [{"x"}, {"y"}]> : tensor<4x4xf64>
    %2 = stablehlo.multiply %1, %x : tensor<4x4xf64>
    return %2 : tensor<4x4xf64>
  }
}"""
CALL = """func.func public @main(%x: tensor<4x4xf64>) -> tensor<4x4xf64> {
  %0 = stablehlo.tanh %x : tensor<4x4xf64>
  %1 = stablehlo.custom_call @Sharding(%0) {mhlo.sharding = "{replicated}"} : (tensor<4x4xf64>) -> tensor<4x4xf64>
  %2 = stablehlo.multiply %1, %x : tensor<4x4xf64>
  return %2 : tensor<4x4xf64>
}"""


@pytest.mark.parametrize("text", [CONSTRAINT, CALL], ids=["constraint", "custom call"])
def test_values_and_derivatives(text: str) -> None:
    x, y_bar = np.random.default_rng(0).normal(size=(2, 4, 4))
    np.testing.assert_allclose(run(parse_module(text), [x])[0], np.tanh(x) * x, rtol=1e-15)
    program = wg.parse(text)
    compiled = program.compile()
    np.testing.assert_allclose(compiled(x)[0], np.tanh(x) * x, rtol=1e-14)
    assert not compiled.stats.interpreted
    _, x_bar = program.vjp()(x, y_bar)
    np.testing.assert_allclose(x_bar, y_bar * (np.tanh(x) + x * (1 - np.tanh(x) ** 2)), rtol=1e-13)
