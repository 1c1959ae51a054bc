"""Reductions of one tensor under several shapes: they share loops only where each loop is reduced or kept as a whole."""

from __future__ import annotations

import numpy as np

import wengert

TEXT = """
func.func public @main(%x: tensor<2x6xf64>) -> (tensor<2x3xf64>, tensor<2x3xf64>, tensor<2x2xf64>) {
  %s = stablehlo.multiply %x, %x : tensor<2x6xf64>
  %z = stablehlo.constant dense<0.0> : tensor<f64>
  %a = stablehlo.reshape %s : (tensor<2x6xf64>) -> tensor<2x2x3xf64>
  %0 = stablehlo.reduce(%a init: %z) applies stablehlo.add across dimensions = [1] : (tensor<2x2x3xf64>, tensor<f64>) -> tensor<2x3xf64>
  %b = stablehlo.reshape %s : (tensor<2x6xf64>) -> tensor<2x3x2xf64>
  %1 = stablehlo.reduce(%b init: %z) applies stablehlo.add across dimensions = [2] : (tensor<2x3x2xf64>, tensor<f64>) -> tensor<2x3xf64>
  %2 = stablehlo.reduce(%a init: %z) applies stablehlo.add across dimensions = [2] : (tensor<2x2x3xf64>, tensor<f64>) -> tensor<2x2xf64>
  return %0, %1, %2 : tensor<2x3xf64>, tensor<2x3xf64>, tensor<2x2xf64>
}
"""


def test_sums_of_reshaped_products() -> None:
    x = np.arange(12.0).reshape(2, 6)
    found = wengert.parse(TEXT).compile("cpu")(x)
    wanted = [(x * x).reshape(2, 2, 3).sum(1), (x * x).reshape(2, 3, 2).sum(2), (x * x).reshape(2, 2, 3).sum(2)]
    for a, b in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(a, b)
