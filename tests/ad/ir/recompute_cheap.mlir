// RUN: wengert-opt %s -p "linearize{residuals=recompute-cheap}" | filecheck %s
// The product is computed again from the argument, and the text says that it was asked for; the exponential is kept.

// CHECK:      func.func @main(%arg0: tensor<3xf64>, %arg1: tensor<3xf64>) -> (tensor<3xf64>, tensor<3xf64>, tensor<3xf64>)
// CHECK:        [[EXP:%.*]] = stablehlo.exponential %arg1
// CHECK:        return {{%.*}}, {{.*}}[[EXP]]
// CHECK:      func.func @main_linear(
// CHECK-SAME: ad.recompute
// CHECK-NEXT:   [[SQUARE:%.*]] = stablehlo.multiply [[X:%.*]], [[X]]
// CHECK-NOT:    stablehlo.exponential
func.func @main(%x: tensor<3xf64>, %y: tensor<3xf64>) -> tensor<3xf64> {
  %0 = stablehlo.multiply %x, %x : tensor<3xf64>
  %1 = stablehlo.exponential %y : tensor<3xf64>
  %2 = stablehlo.multiply %0, %1 : tensor<3xf64>
  return %2 : tensor<3xf64>
}
