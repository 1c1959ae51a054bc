"""Derivatives of reductions whose region is no op with a name: by any region, in order, in windows of any kind."""

from __future__ import annotations

import numpy as np
import pytest

import wengert

LOGADDEXP = """^bb0(%a: tensor<f64>, %b: tensor<f64>):
    %m = stablehlo.maximum %a, %b : tensor<f64>
    %d = stablehlo.subtract %a, %b : tensor<f64>
    %n = stablehlo.abs %d : tensor<f64>
    %e = stablehlo.negate %n : tensor<f64>
    %p = stablehlo.exponential %e : tensor<f64>
    %l = stablehlo.log_plus_one %p : tensor<f64>
    %r = stablehlo.add %m, %l : tensor<f64>
    stablehlo.return %r : tensor<f64>"""
RECURRENCE = """^bb0(%a: tensor<f64>, %b: tensor<f64>, %c: tensor<f64>, %d: tensor<f64>):
    %p = stablehlo.multiply %a, %c : tensor<f64>
    %q = stablehlo.multiply %c, %b : tensor<f64>
    %r = stablehlo.add %q, %d : tensor<f64>
    stablehlo.return %p, %r : tensor<f64>, tensor<f64>"""


def reduction(dimensions: str, result: str) -> str:
    return f"""func.func public @main(%x: tensor<3x5xf64>) -> tensor<{result}xf64> {{
  %z = stablehlo.constant dense<-40.0> : tensor<f64>
  %0 = "stablehlo.reduce"(%x, %z) <{{dimensions = array<i64: {dimensions}>}}> ({{{LOGADDEXP}
  }}) : (tensor<3x5xf64>, tensor<f64>) -> tensor<{result}xf64>
  return %0 : tensor<{result}xf64> }}"""


def window(extents: str, strides: str, base: str, dilations: str, padding: str, result: str) -> str:
    return f"""func.func public @main(%x: tensor<3x5xf64>) -> tensor<{result}xf64> {{
  %z = stablehlo.constant dense<-40.0> : tensor<f64>
  %0 = "stablehlo.reduce_window"(%x, %z) <{{window_dimensions = array<i64: {extents}>, window_strides = array<i64: {strides}>,
    base_dilations = array<i64: {base}>, window_dilations = array<i64: {dilations}>, padding = dense<{padding}> : tensor<2x2xi64>}}> ({{{LOGADDEXP}
  }}) : (tensor<3x5xf64>, tensor<f64>) -> tensor<{result}xf64>
  return %0 : tensor<{result}xf64> }}"""


TEXTS = {
    "one dimension": reduction("1", "3"),
    "all dimensions": reduction("0, 1", "").replace("tensor<xf64>", "tensor<f64>"),
    "running": window("1, 5", "1, 1", "1, 1", "1, 1", "[[0, 0], [4, 0]]", "3x5"),
    "strided and dilated": window("2, 3", "1, 2", "2, 1", "1, 2", "[[1, 0], [2, 1]]", "5x2"),
    "window of seven": window("1, 7", "1, 1", "1, 1", "1, 1", "[[0, 0], [3, 3]]", "3x5"),
}


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS.keys())
@pytest.mark.parametrize("strategy", ["transpose", "direct"])
def test_logaddexp(text: str, strategy: str) -> None:
    program = wengert.parse(text)
    rng = np.random.default_rng(0)
    x, t = rng.standard_normal((3, 5)), rng.standard_normal((3, 5))
    y = np.asarray(program(x)[0])
    c = rng.standard_normal(y.shape)
    primal, y_dot = program.jvp().compile("interpreter")(x, t)
    np.testing.assert_allclose(primal, y, rtol=1e-14)
    h = 1e-6
    np.testing.assert_allclose(y_dot, (np.asarray(program(x + h * t)[0]) - np.asarray(program(x - h * t)[0])) / (2 * h), atol=1e-8)
    x_bar = program.vjp(strategy=strategy).compile("interpreter")(x, c)[-1]
    np.testing.assert_allclose(np.sum(c * y_dot), np.sum(x_bar * t), rtol=1e-12)


def test_elements_stay_in_order() -> None:
    """h -> a h + b composed over five elements, which does not commute."""
    program = wengert.parse(f"""func.func public @main(%x: tensor<5xf64>, %y: tensor<5xf64>) -> (tensor<f64>, tensor<f64>) {{
  %one = stablehlo.constant dense<1.0> : tensor<f64>
  %z = stablehlo.constant dense<0.0> : tensor<f64>
  %0:2 = "stablehlo.reduce"(%x, %y, %one, %z) <{{dimensions = array<i64: 0>}}> ({{{RECURRENCE}
  }}) : (tensor<5xf64>, tensor<5xf64>, tensor<f64>, tensor<f64>) -> (tensor<f64>, tensor<f64>)
  return %0#0, %0#1 : tensor<f64>, tensor<f64> }}""")
    rng = np.random.default_rng(1)
    a, b = rng.standard_normal(5), rng.standard_normal(5)
    h, scales = 0.0, [float(np.prod(a[i + 1 :])) for i in range(5)]
    for scale, shift in zip(a, b, strict=True):
        h = scale * h + shift
    *values, a_bar, b_bar = program.vjp().compile("interpreter")(a, b, np.zeros(()), np.ones(()))
    np.testing.assert_allclose(values, [np.prod(a), h], rtol=1e-13)
    np.testing.assert_allclose(b_bar, scales, rtol=1e-13)
    assert np.isfinite(a_bar).all()
