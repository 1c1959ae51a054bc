"""No derivative passes through the bits of a float, also where the same bits come back and simplification could see it."""

from __future__ import annotations

import numpy as np

import wengert

TEXT = """
func.func public @main(%x: tensor<4xf64>) -> tensor<4xf64> {
  %0 = stablehlo.bitcast_convert %x : (tensor<4xf64>) -> tensor<4xi64>
  %1 = stablehlo.bitcast_convert %0 : (tensor<4xi64>) -> tensor<4xf64>
  %2 = stablehlo.multiply %1, %x : tensor<4xf64>
  return %2 : tensor<4xf64>
}
"""


def test_bits_are_constant() -> None:
    x, ones = np.arange(1.0, 5.0), np.ones(4)
    program = wengert.parse(TEXT)
    np.testing.assert_array_equal(program.jvp().compile()(x, ones)[-1], x)
    np.testing.assert_array_equal(program.vjp().compile()(x, ones)[-1], x)
