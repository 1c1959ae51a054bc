// RUN: wengert-opt %s -p "linearize" | filecheck %s
// The record of the inner loop is a value of an iteration of the outer one.

// CHECK: !core.tape<2, !core.tape<5, tensor<3xf64>>>
func.func @main(%x: tensor<3xf64>) -> tensor<3xf64> {
  %m = stablehlo.constant dense<2> : tensor<i64>
  %0 = core.for %j to %m constants() carried(%z = %x: tensor<3xf64>) {
    %n = stablehlo.constant dense<5> : tensor<i64>
    %1 = core.for %i to %n constants() carried(%y = %z: tensor<3xf64>) {
      %2 = stablehlo.sine %y : tensor<3xf64>
      stablehlo.return %2 : tensor<3xf64>
    }
    stablehlo.return %1 : tensor<3xf64>
  }
  return %0 : tensor<3xf64>
}
