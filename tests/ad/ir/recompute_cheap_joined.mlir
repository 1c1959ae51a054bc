// RUN: wengert-opt %s -p "vjp{residuals=recompute-cheap},cse,dce" | filecheck %s
// What is cheap is there twice, also after cse.

// CHECK:         stablehlo.multiply %arg0, %arg0
// CHECK-COUNT-1: stablehlo.exponential
// CHECK:         [[HELD:%.*]]:{{[0-9]}} = stablehlo.optimization_barrier
// CHECK-NEXT:    stablehlo.multiply [[X:%[0-9]+#[0-9]]], [[X]]
// CHECK-NOT:     stablehlo.exponential
func.func @main(%x: tensor<3xf64>, %y: tensor<3xf64>) -> tensor<3xf64> {
  %0 = stablehlo.multiply %x, %x : tensor<3xf64>
  %1 = stablehlo.exponential %y : tensor<3xf64>
  %2 = stablehlo.multiply %0, %1 : tensor<3xf64>
  return %2 : tensor<3xf64>
}
