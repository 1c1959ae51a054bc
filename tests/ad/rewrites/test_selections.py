"""The derivative of pooling has derivatives itself: select_and_scatter moves each source value to its window's winner."""

from __future__ import annotations

import numpy as np
import pytest

import wengert

TEXT = """
func.func public @main(%x: tensor<5xf64>, %s: tensor<3xf64>) -> tensor<5xf64> {
  %z = stablehlo.constant dense<0.0> : tensor<f64>
  %0 = "stablehlo.select_and_scatter"(%x, %s, %z) <{padding = dense<[[0, 1]]> : tensor<1x2xi64>, window_dimensions = array<i64: 2>, window_strides = array<i64: 2>}> ({
  ^bb0(%a: tensor<f64>, %b: tensor<f64>):
    %c = stablehlo.compare DIRECTION, %a, %b, FLOAT : (tensor<f64>, tensor<f64>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }, {
  ^bb0(%a: tensor<f64>, %b: tensor<f64>):
    %c = stablehlo.add %a, %b : tensor<f64>
    stablehlo.return %c : tensor<f64>
  }) : (tensor<5xf64>, tensor<3xf64>, tensor<f64>) -> tensor<5xf64>
  return %0 : tensor<5xf64>
}
"""


@pytest.mark.parametrize(("direction", "winners"), [("GE", [1, 2, 4]), ("LE", [0, 3, 4])])
def test_source_goes_to_the_winner(direction: str, winners: list[int]) -> None:
    program = wengert.parse(TEXT.replace("DIRECTION", direction))
    x, s = np.array([1.0, 2.0, 5.0, 3.0, 4.0]), np.array([1.0, 2.0, 3.0])
    place = np.zeros((3, 5))
    place[range(3), winners] = 1
    np.testing.assert_array_equal(program.compile("interpreter")(x, s)[0], s @ place)
    t, c = np.array([0.5, -1.0, 2.0]), np.arange(5.0)
    np.testing.assert_array_equal(program.jvp(wrt=(1,)).compile("interpreter")(x, s, t)[-1], t @ place)
    np.testing.assert_array_equal(program.vjp(wrt=(1,)).compile("interpreter")(x, s, c)[-1], place @ c)
    np.testing.assert_array_equal(program.vjp().compile("interpreter")(x, s, c)[-2], np.zeros(5))


TIES = np.array([1.0, 1.0, 1.0, 1.0, 1.0])


@pytest.mark.parametrize(("direction", "chosen"), [("GE", [0, 2, 4]), ("GT", [1, 3, 4]), ("LE", [0, 2, 4]), ("LT", [1, 3, 4])])
def test_ties_go_where_the_region_says(direction: str, chosen: list[int]) -> None:
    program = wengert.parse(TEXT.replace("DIRECTION", direction))
    place = np.zeros((3, 5))
    place[range(3), chosen] = 1
    c = np.arange(5.0)
    for strategy in ("transpose", "direct"):
        y, x_bar, s_bar = program.vjp(strategy=strategy)(TIES, np.array([1.0, 2.0, 3.0]), c)
        np.testing.assert_array_equal(y, np.array([1.0, 2.0, 3.0]) @ place)
        np.testing.assert_array_equal(x_bar, np.zeros(5))
        np.testing.assert_array_equal(s_bar, place @ c)
