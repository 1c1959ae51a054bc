// RUN: wengert-opt %s -p "to-core,fuse,collapse-loops,schedule{target=avx2 strict=true}" | filecheck %s
// A strict program adds up one element after the other; a maximum may be taken in any order.

// CHECK-LABEL: @sum
// CHECK: schedule<>
func.func @sum(%x: tensor<4x100xf32>) -> tensor<4xf32> {
  %c = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.reduce(%x init: %c) applies stablehlo.add across dimensions = [1] : (tensor<4x100xf32>, tensor<f32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// CHECK-LABEL: @maximum
// CHECK: schedule<lanes = 8, accumulators = 4>
func.func @maximum(%x: tensor<4x100xf32>) -> tensor<4xf32> {
  %c = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %0 = stablehlo.reduce(%x init: %c) applies stablehlo.maximum across dimensions = [1] : (tensor<4x100xf32>, tensor<f32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
