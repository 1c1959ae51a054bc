"""Programs whose Jacobians are made in different ways: a layer, sums, a band, a narrow cut, a loop whose iterations only a run tells."""

LAYER = """
func.func public @main(%x: tensor<5xf64>, %w: tensor<4x5xf64>) -> (tensor<4xf64>, tensor<f64>) {
  %0 = stablehlo.dot_general %w, %x, contracting_dims = [1] x [0] : (tensor<4x5xf64>, tensor<5xf64>) -> tensor<4xf64>
  %1 = stablehlo.tanh %0 : tensor<4xf64>
  %c = stablehlo.constant dense<0.0> : tensor<f64>
  %2 = stablehlo.reduce(%1 init: %c) applies stablehlo.multiply across dimensions = [0] : (tensor<4xf64>, tensor<f64>) -> tensor<f64>
  %3 = stablehlo.reduce(%1 init: %c) applies stablehlo.add across dimensions = [0] : (tensor<4xf64>, tensor<f64>) -> tensor<f64>
  %4 = stablehlo.multiply %3, %3 : tensor<f64>
  return %1, %4 : tensor<4xf64>, tensor<f64>
}
"""

WIDE = """
func.func public @main(%x: tensor<40xf64>) -> tensor<36xf64> {
  %0 = stablehlo.slice %x [0:36] : (tensor<40xf64>) -> tensor<36xf64>
  %1 = stablehlo.slice %x [4:40] : (tensor<40xf64>) -> tensor<36xf64>
  %2 = stablehlo.sine %0 : tensor<36xf64>
  %3 = stablehlo.multiply %2, %1 : tensor<36xf64>
  return %3 : tensor<36xf64>
}
"""

SUM = """
func.func public @main(%x: tensor<300xf64>) -> tensor<f64> {
  %c = stablehlo.constant dense<0.0> : tensor<f64>
  %0 = stablehlo.reduce(%x init: %c) applies stablehlo.add across dimensions = [0] : (tensor<300xf64>, tensor<f64>) -> tensor<f64>
  %1 = stablehlo.sine %0 : tensor<f64>
  return %1 : tensor<f64>
}
"""

UNTIL = """
func.func public @main(%x: tensor<f64>, %n: tensor<i64>) -> tensor<f64> {
  %zero = stablehlo.constant dense<0> : tensor<i64>
  %0:2 = stablehlo.while(%i = %zero, %y = %x) : tensor<i64>, tensor<f64>
  cond {
    %c = stablehlo.compare LT, %i, %n : (tensor<i64>, tensor<i64>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i64>
    %j = stablehlo.add %i, %one : tensor<i64>
    %z = stablehlo.sine %y : tensor<f64>
    stablehlo.return %j, %z : tensor<i64>, tensor<f64>
  }
  return %0#1 : tensor<f64>
}
"""

BAND = """
func.func public @main(%x: tensor<30xf64>) -> tensor<29xf64> {
  %0 = stablehlo.slice %x [0:29] : (tensor<30xf64>) -> tensor<29xf64>
  %1 = stablehlo.slice %x [1:30] : (tensor<30xf64>) -> tensor<29xf64>
  %2 = stablehlo.multiply %0, %1 : tensor<29xf64>
  %3 = stablehlo.exponential %2 : tensor<29xf64>
  %4 = stablehlo.sine %3 : tensor<29xf64>
  return %4 : tensor<29xf64>
}
"""

NARROW = """
func.func public @main(%x: tensor<40xf64>, %w: tensor<2x40xf64>, %u: tensor<30x2xf64>) -> tensor<30xf64> {
  %0 = stablehlo.dot_general %w, %x, contracting_dims = [1] x [0] : (tensor<2x40xf64>, tensor<40xf64>) -> tensor<2xf64>
  %1 = stablehlo.tanh %0 : tensor<2xf64>
  %2 = stablehlo.dot_general %u, %1, contracting_dims = [1] x [0] : (tensor<30x2xf64>, tensor<2xf64>) -> tensor<30xf64>
  %3 = stablehlo.sine %2 : tensor<30xf64>
  return %3 : tensor<30xf64>
}
"""
