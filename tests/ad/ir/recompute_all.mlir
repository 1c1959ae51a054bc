// RUN: wengert-opt %s -p "vjp{residuals=recompute-all},simplify,cse,dce" | filecheck %s
// RUN: wengert-opt %s -p "linearize{residuals=recompute-all},cse,transpose,join,cse" | filecheck %s
// What is to be computed again is behind a barrier, and stays there twice.

// CHECK:      stablehlo.exponential %arg0
// CHECK:      [[X:%.*]] = stablehlo.optimization_barrier %arg0
// CHECK-NEXT: stablehlo.exponential [[X]]
func.func @main(%x: tensor<3xf64>) -> tensor<3xf64> {
  %0 = stablehlo.exponential %x : tensor<3xf64>
  %1 = stablehlo.tanh %0 : tensor<3xf64>
  return %1 : tensor<3xf64>
}
