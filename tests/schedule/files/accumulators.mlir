// RUN: wengert-opt %s -p "to-core,fuse,collapse-loops,schedule{target=avx2}" | filecheck %s
// A light body adds up in four registers in turn, a special function hides the addition that waits.

// CHECK-LABEL: @light
// CHECK: schedule<lanes = 8, accumulators = 4>
func.func @light(%x: tensor<4x100xf32>) -> tensor<4xf32> {
  %c = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.reduce(%x init: %c) applies stablehlo.add across dimensions = [1] : (tensor<4x100xf32>, tensor<f32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// CHECK-LABEL: @special
// CHECK: schedule<lanes = 8>
func.func @special(%x: tensor<4x100xf32>) -> tensor<4xf32> {
  %c = stablehlo.constant dense<0.0> : tensor<f32>
  %y = stablehlo.sine %x : tensor<4x100xf32>
  %0 = stablehlo.reduce(%y init: %c) applies stablehlo.add across dimensions = [1] : (tensor<4x100xf32>, tensor<f32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
