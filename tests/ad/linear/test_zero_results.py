"""Linear programs with results that their linear arguments do not reach: these are zero, and so are their cotangents."""

from __future__ import annotations

import numpy as np
import pytest

import wengert as wg
from wengert.transforms.pipelines import parse_pipeline

UNIT_DIAGONAL = """func.func public @main(%a: tensor<1x1xf64>) -> tensor<1x2xf64> {
  %b = stablehlo.constant dense<[[2.0, 3.0]]> : tensor<1x2xf64>
  %r = "stablehlo.triangular_solve"(%a, %b) <{left_side = true, lower = true, unit_diagonal = true, transpose_a = #stablehlo<transpose NO_TRANSPOSE>}>
    : (tensor<1x1xf64>, tensor<1x2xf64>) -> tensor<1x2xf64>
  return %r : tensor<1x2xf64>
}"""

PADDING_ALONE = """func.func public @main(%x: tensor<2x1xf64>) -> tensor<1x1xf64> {
  %one = stablehlo.constant dense<1.0> : tensor<f64>
  %r = "stablehlo.reduce_window"(%x, %one) <{padding = dense<[[2, 0], [0, 2]]> : tensor<2x2xi64>, window_dimensions = array<i64: 2, 3>,
      window_strides = array<i64: 3, 1>}> ({
    ^bb0(%p: tensor<f64>, %q: tensor<f64>):
      %v = stablehlo.multiply %p, %q : tensor<f64>
      stablehlo.return %v : tensor<f64>
  }) : (tensor<2x1xf64>, tensor<f64>) -> tensor<1x1xf64>
  return %r : tensor<1x1xf64>
}"""


CLAMPED_IN_A_SCAN = """func.func public @main(%x: tensor<3x2xf64>) -> tensor<3x2xf64> {
  %start = stablehlo.constant dense<0.0> : tensor<f64>
  %r:2 = chlo.scan(%x) inits (%start) dimension=0 {
    ^bb0(%a: tensor<2xf64>, %b: tensor<f64>):
      %c = stablehlo.constant dense<0.5> : tensor<f64>
      %d = stablehlo.clamp %a, %a, %c : (tensor<2xf64>, tensor<2xf64>, tensor<f64>) -> tensor<2xf64>
      stablehlo.return %d, %b : tensor<2xf64>, tensor<f64>
    } : (tensor<3x2xf64>, tensor<f64>) -> (tensor<3x2xf64>, tensor<f64>)
  return %r#0 : tensor<3x2xf64>
}"""


@pytest.mark.parametrize("text", [UNIT_DIAGONAL, PADDING_ALONE, CLAMPED_IN_A_SCAN], ids=["unit diagonal", "padding alone", "clamped in a scan"])
def test_what_a_result_does_not_depend_on_gets_zeros(text: str):
    program = wg.parse(text)
    x = np.full(program.signature.arguments[0].shape, 0.7)
    linear = program.linearize()
    primal = linear.primal(x)
    (y,) = program(x)
    residuals = linear.residuals([x], primal[:1], primal[1:])
    (y_dot,) = linear.push(residuals, [np.ones_like(x)])
    (x_bar,) = linear.pull(residuals, [np.ones_like(y)])
    assert y_dot.shape == y.shape
    assert not y_dot.any()
    assert x_bar.shape == x.shape
    assert not x_bar.any()


def test_a_constant_is_not_linear():
    text = """func.func public @main(%x: tensor<2xf64>, %y: tensor<2xf64>) -> (tensor<2xf64>, tensor<2xf64>) {
      %0 = stablehlo.cosine %y : tensor<2xf64>
      %1 = stablehlo.multiply %x, %0 : tensor<2xf64>
      return %1, %0 : tensor<2xf64>, tensor<2xf64>
    }"""
    with pytest.raises(wg.DiagnosticError, match="does not depend on its linear arguments"):
        parse_pipeline("transpose{fn=main wrt=0}").applied(wg.parse(text).module)


LOOP = """
func.func @main(%x: tensor<2x3xf64>) -> (tensor<3xf64>, tensor<3xf64>) {
  %first = stablehlo.constant dense<[0.25, -0.5, 1.5]> : tensor<3xf64>
  %zero = stablehlo.constant dense<0> : tensor<i64>
  %one = stablehlo.constant dense<1> : tensor<i64>
  %two = stablehlo.constant dense<2> : tensor<i64>
  %0:2 = stablehlo.while(%i = %zero, %v = %first) : tensor<i64>, tensor<3xf64>
    cond { %c = stablehlo.compare LT, %i, %two : (tensor<i64>, tensor<i64>) -> tensor<i1>
      stablehlo.return %c : tensor<i1> }
    do { %row = stablehlo.dynamic_slice %x, %i, %zero, sizes = [1, 3] : (tensor<2x3xf64>, tensor<i64>, tensor<i64>) -> tensor<1x3xf64>
      %flat = stablehlo.reshape %row : (tensor<1x3xf64>) -> tensor<3xf64>
      %w = chlo.next_after %v, %flat : tensor<3xf64>, tensor<3xf64> -> tensor<3xf64>
      %n = stablehlo.add %i, %one : tensor<i64>
      stablehlo.return %n, %w : tensor<i64>, tensor<3xf64> }
  %1 = stablehlo.multiply %0#1, %0#1 : tensor<3xf64>
  return %0#1, %1 : tensor<3xf64>, tensor<3xf64>
}
"""


def test_a_loop_whose_tangents_depend_on_nothing() -> None:
    """A loop depends on the argument by a function without a derivative, so its tangents are computed among the primals."""
    program, x = wg.parse(LOOP), np.arange(6.0).reshape(2, 3)
    linear = program.linearize()
    results, residuals = linear.run([x])
    np.testing.assert_array_equal(results[0], program(x)[0])
    for x_dot in linear.push(residuals, [np.ones((2, 3))]):
        np.testing.assert_array_equal(x_dot, np.zeros(3))
    np.testing.assert_array_equal(linear.pull(residuals, [np.ones(3)] * 2)[0], np.zeros((2, 3)))
    wg.parse(str(program.vjp())).module.verify()


WHOLE_QUOTIENTS = """
func.func @main(%x: tensor<2xf64>) -> tensor<2xf64> {
  %first = stablehlo.rsqrt %x : tensor<2xf64>
  %zero = stablehlo.constant dense<0> : tensor<i64>
  %one = stablehlo.constant dense<1> : tensor<i64>
  %two = stablehlo.constant dense<2> : tensor<i64>
  %0:2 = stablehlo.while(%i = %zero, %v = %first) : tensor<i64>, tensor<2xf64>
    cond { %c = stablehlo.compare LT, %i, %two : (tensor<i64>, tensor<i64>) -> tensor<i1>
      stablehlo.return %c : tensor<i1> }
    do { %p = stablehlo.constant dense<0.4> : tensor<2xf64>
      %q = stablehlo.multiply %v, %p : tensor<2xf64>
      %r = stablehlo.remainder %v, %q : tensor<2xf64>
      %n = stablehlo.add %i, %one : tensor<i64>
      stablehlo.return %n, %r : tensor<i64>, tensor<2xf64> }
  return %0#1 : tensor<2xf64>
}
"""


def test_coefficients_that_reach_a_reverse_loop_through_steps_only() -> None:
    """The reverse loop of a remainder depends on its tape through floor, which has no derivative: differentiated by what the tape was made of, it is zero."""
    program = wg.parse(WHOLE_QUOTIENTS)
    x, bar, dot = np.array([0.3, 0.7]), np.array([1.0, -2.0]), np.array([0.5, 1.0])
    reverse = program.vjp()
    step = 1e-6
    expected = ((reverse(x + step * dot, bar)[1] - reverse(x - step * dot, bar)[1]) / (2 * step)) @ np.ones(2)
    for second in (reverse.jvp(wrt=0, of=1)(x, bar, dot)[-1] @ np.ones(2), reverse.vjp(wrt=0, of=1)(x, bar, np.ones(2))[-1] @ dot):
        np.testing.assert_allclose(second, expected, rtol=1e-6, atol=1e-8)
