// RUN: wengert-opt %s -p "to-core,fuse,collapse-loops,schedule{target=avx2}" | filecheck %s
// Many rows of three elements are summed column by column.

// CHECK: schedule<order = [1, 0], lanes = 8
func.func @main(%x: tensor<1000x3xf32>) -> tensor<3xf32> {
  %c = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.reduce(%x init: %c) applies stablehlo.add across dimensions = [0] : (tensor<1000x3xf32>, tensor<f32>) -> tensor<3xf32>
  return %0 : tensor<3xf32>
}
