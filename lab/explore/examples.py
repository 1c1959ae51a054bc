"""Programs to start from."""

from __future__ import annotations

from contextlib import suppress

from wengert.lab.demo import find_example
from wengert.runtime.errors import InputError

_SCALAR = """\
// f(x, y) = sin(x y) + x
func.func @main(%x: tensor<f64>, %y: tensor<f64>) -> tensor<f64> {
  %0 = stablehlo.multiply %x, %y : tensor<f64>
  %1 = stablehlo.sine %0 : tensor<f64>
  %2 = stablehlo.add %1, %x : tensor<f64>
  return %2 : tensor<f64>
}
"""

_LAYER = """\
// One layer and a loss: mean((tanh(x w + b) - y)^2)
func.func @main(%x: tensor<32x8xf32>, %w: tensor<8x4xf32>, %b: tensor<4xf32>, %y: tensor<32x4xf32>) -> tensor<f32> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<32x8xf32>, tensor<8x4xf32>) -> tensor<32x4xf32>
  %1 = stablehlo.broadcast_in_dim %b, dims = [1] : (tensor<4xf32>) -> tensor<32x4xf32>
  %2 = stablehlo.add %0, %1 : tensor<32x4xf32>
  %3 = stablehlo.tanh %2 : tensor<32x4xf32>
  %4 = stablehlo.subtract %3, %y : tensor<32x4xf32>
  %5 = stablehlo.multiply %4, %4 : tensor<32x4xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %6 = stablehlo.reduce(%5 init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<32x4xf32>, tensor<f32>) -> tensor<f32>
  %n = stablehlo.constant dense<128.0> : tensor<f32>
  %7 = stablehlo.divide %6, %n : tensor<f32>
  return %7 : tensor<f32>
}
"""

_LOOP = """\
// Newton's method for a square root, twenty times; reverse mode records every iteration
func.func @main(%a: tensor<64xf64>) -> tensor<64xf64> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %count = stablehlo.constant dense<20> : tensor<i32>
  %half = stablehlo.constant dense<0.5> : tensor<64xf64>
  %0:2 = stablehlo.while(%i = %zero, %x = %a) : tensor<i32>, tensor<64xf64>
    cond {
      %1 = stablehlo.compare LT, %i, %count, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %1 : tensor<i1>
    } do {
      %1 = stablehlo.divide %a, %x : tensor<64xf64>
      %2 = stablehlo.add %x, %1 : tensor<64xf64>
      %3 = stablehlo.multiply %2, %half : tensor<64xf64>
      %4 = stablehlo.add %i, %one : tensor<i32>
      stablehlo.return %4, %3 : tensor<i32>, tensor<64xf64>
    }
  return %0#1 : tensor<64xf64>
}
"""

_SOFTMAX = """\
// The logarithm of the sum of exponentials of each row
func.func @main(%x: tensor<16x100xf32>) -> tensor<16xf32> {
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.reduce(%x init: %low) applies stablehlo.maximum across dimensions = [1] : (tensor<16x100xf32>, tensor<f32>) -> tensor<16xf32>
  %1 = stablehlo.broadcast_in_dim %0, dims = [0] : (tensor<16xf32>) -> tensor<16x100xf32>
  %2 = stablehlo.subtract %x, %1 : tensor<16x100xf32>
  %3 = stablehlo.exponential %2 : tensor<16x100xf32>
  %4 = stablehlo.reduce(%3 init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<16x100xf32>, tensor<f32>) -> tensor<16xf32>
  %5 = stablehlo.log %4 : tensor<16xf32>
  %6 = stablehlo.add %0, %5 : tensor<16xf32>
  return %6 : tensor<16xf32>
}
"""


def examples() -> list[dict[str, str]]:
    """A title and a text for each example."""
    listed = [("A function of two numbers", _SCALAR), ("One layer and a loss", _LAYER), ("Log-sum-exp of rows", _SOFTMAX), ("A loop", _LOOP)]
    with suppress(InputError):  # an installation without examples
        listed.append(("A transformer block", find_example("transformer_block").read_text(encoding="utf-8")))
    return [{"title": title, "text": text} for title, text in listed]
