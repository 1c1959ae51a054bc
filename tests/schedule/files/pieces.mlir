// RUN: wengert-opt %s -p "to-core,fuse,collapse-loops,schedule{target=avx2}" | filecheck %s
// The innermost loop is cut where padding begins and ends. What is not long enough keeps its masks.

// CHECK-LABEL: @behind
// CHECK: lanes = 8, pieces = [0 to 133, 133 to 270]
func.func @behind(%x: tensor<64x133xf32>) -> tensor<64x270xf32> {
  %c = stablehlo.constant dense<0.5> : tensor<f32>
  %0 = stablehlo.pad %x, %c, low = [0, 0], high = [0, 137], interior = [0, 0] : (tensor<64x133xf32>, tensor<f32>) -> tensor<64x270xf32>
  return %0 : tensor<64x270xf32>
}

// CHECK-LABEL: @both
// CHECK: lanes = 8, pieces = [0 to 3 masked, 3 to 136, 136 to 270]
func.func @both(%x: tensor<64x133xf32>) -> tensor<64x270xf32> {
  %c = stablehlo.constant dense<0.5> : tensor<f32>
  %0 = stablehlo.pad %x, %c, low = [0, 3], high = [0, 134], interior = [0, 0] : (tensor<64x133xf32>, tensor<f32>) -> tensor<64x270xf32>
  return %0 : tensor<64x270xf32>
}
