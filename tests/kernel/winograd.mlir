// RUN: wengert-opt %s -p "winograd{reassociate=true}" | filecheck %s
// RUN: wengert-opt %s -p "winograd" | filecheck %s --check-prefix=STRICT

// Many features on a large image: marked, if sums may be reassociated.
// CHECK-LABEL: @large
// CHECK: stablehlo.convolution
// CHECK-SAME: wengert.winograd
// STRICT-LABEL: @large
// STRICT-NOT: wengert.winograd
func.func public @large(%x: tensor<1x64x56x56xf32>, %w: tensor<64x64x3x3xf32>) -> tensor<1x64x56x56xf32> {
  %0 = stablehlo.convolution(%x, %w)
    dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1],
    window = {pad = [[1, 1], [1, 1]]}
    {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x64x56x56xf32>, tensor<64x64x3x3xf32>) -> tensor<1x64x56x56xf32>
  return %0 : tensor<1x64x56x56xf32>
}

// With steps of two, two tiles have nothing in common.
// CHECK-LABEL: @steps
// CHECK-NOT: wengert.winograd
func.func public @steps(%x: tensor<1x64x56x56xf32>, %w: tensor<64x64x3x3xf32>) -> tensor<1x64x28x28xf32> {
  %0 = stablehlo.convolution(%x, %w)
    dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1],
    window = {stride = [2, 2], pad = [[1, 0], [1, 0]]}
    {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x64x56x56xf32>, tensor<64x64x3x3xf32>) -> tensor<1x64x28x28xf32>
  return %0 : tensor<1x64x28x28xf32>
}
