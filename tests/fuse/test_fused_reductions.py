"""Reductions fused with what they reduce: shapes that share loops, and rows that do not fill their last register."""

from __future__ import annotations

import numpy as np
import pytest

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
    actual = wengert.parse(TEXT).compile("cpu")(x)
    wanted = [(x * x).reshape(2, 2, 3).sum(1), (x * x).reshape(2, 3, 2).sum(2), (x * x).reshape(2, 2, 3).sum(2)]
    for a, b in zip(actual, wanted, strict=True):
        np.testing.assert_array_equal(a, b)


COLUMNS = """
func.func public @main(%x: tensor<2x{n}x2x{t}>, %y: tensor<2x{n}x2x{t}>) -> tensor<2x{t}> {{
  %a = stablehlo.slice %x [0:2, 0:{n}, 1:2] : (tensor<2x{n}x2x{t}>) -> tensor<2x{n}x1x{t}>
  %b = stablehlo.slice %y [0:2, 0:{n}, 1:2] : (tensor<2x{n}x2x{t}>) -> tensor<2x{n}x1x{t}>
  %c = stablehlo.{op} %a, %b : tensor<2x{n}x1x{t}>
  %z = stablehlo.constant dense<{first}> : tensor<{t}>
  %r = stablehlo.reduce(%c init: %z) applies stablehlo.{kind} across dimensions = [1, 2] : (tensor<2x{n}x1x{t}>, tensor<{t}>) -> tensor<2x{t}>
  return %r : tensor<2x{t}>
}}
"""


@pytest.mark.parametrize("op", ["divide", "remainder"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_reductions_of_what_is_undefined_at_zero(op: str, dtype: type[np.floating]) -> None:
    """Lanes beyond the end of a row load zeros; what is computed from them, such as 0 / 0, is not combined with the others."""
    rng = np.random.default_rng(0)
    for n in (3, 5, 9):
        x, y = (rng.uniform(0.5, 1.5, (2, n, 2)).astype(dtype) for _ in range(2))
        for kind, first in (("add", "0.0"), ("multiply", "1.0")):
            p = wengert.parse(COLUMNS.format(n=n, t="f64" if dtype is np.float64 else "f32", op=op, kind=kind, first=first))
            (actual,), (wanted,) = p.compile("cpu")(x, y), p.compile("interpreter")(x, y)
            np.testing.assert_allclose(actual, wanted, rtol=1e-5 if dtype is np.float32 else 1e-13)
