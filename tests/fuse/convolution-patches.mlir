// RUN: wengert-opt %s -p "convolution-patches" | filecheck %s

// A window as wide as its input is dilated: every element of the result has one term, so it is a product whose rows are put side by side.
// CHECK-LABEL: @disjoint
// CHECK: stablehlo.reverse %w, dims = [0]
// CHECK: stablehlo.dot_general {{.*}} contracting_dims = [2] x [1]
// CHECK: stablehlo.reshape
// CHECK-NOT: stablehlo.convolution
// CHECK: return
func.func public @disjoint(%x: tensor<2x5x3xf32>, %w: tensor<4x3x6xf32>) -> tensor<2x20x6xf32> {
  %0 = stablehlo.convolution(%x, %w)
    dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f],
    window = {stride = [1], pad = [[3, 3]], lhs_dilate = [4], rhs_dilate = [1]}
    {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x5x3xf32>, tensor<4x3x6xf32>) -> tensor<2x20x6xf32>
  return %0 : tensor<2x20x6xf32>
}

// A wider window meets two elements of the input at some places: it stays a convolution.
// CHECK-LABEL: @overlapping
// CHECK: stablehlo.convolution
func.func public @overlapping(%x: tensor<2x5x3xf32>, %w: tensor<5x3x6xf32>) -> tensor<2x21x6xf32> {
  %0 = stablehlo.convolution(%x, %w)
    dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f],
    window = {stride = [1], pad = [[4, 4]], lhs_dilate = [4], rhs_dilate = [1]}
    {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x5x3xf32>, tensor<5x3x6xf32>) -> tensor<2x21x6xf32>
  return %0 : tensor<2x21x6xf32>
}
