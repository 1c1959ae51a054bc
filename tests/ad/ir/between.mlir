// RUN: wengert-opt %s -p "linearize,simplify,cse,dce,transpose,cse,join" | filecheck %s
// RUN: wengert-opt %s -p "vjp" | filecheck %s
// Passes stand between the halves.

// CHECK:      func.func @main(%arg0: tensor<3xf64>, %arg1: tensor<f64>) -> (tensor<f64>, tensor<3xf64>) {
// CHECK:        [[Y:%.*]] = stablehlo.exponential %arg0
// CHECK:        core.reduce add
// CHECK:        [[BAR:%.*]] = stablehlo.broadcast_in_dim %arg1
// CHECK:        [[X:%.*]] = stablehlo.multiply [[BAR]], [[Y]]
// CHECK:        return {{%.*}}, [[X]]
func.func @main(%x: tensor<3xf64>) -> tensor<f64> {
  %0 = stablehlo.exponential %x : tensor<3xf64>
  %c = stablehlo.constant dense<0.0> : tensor<f64>
  %1 = stablehlo.reduce(%0 init: %c) applies stablehlo.add across dimensions = [0] : (tensor<3xf64>, tensor<f64>) -> tensor<f64>
  return %1 : tensor<f64>
}
