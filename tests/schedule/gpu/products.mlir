// RUN: wengert-opt %s -p "fuse,products-to-nests,fission,collapse-loops,schedule{target=sm_90}" | filecheck %s

// Large ones are computed in tiles, the larger the more there are.
// CHECK-LABEL: @matrices
// CHECK: gpu_schedule<tile = {loops = [0, 1, 2], size = [128, 128, 8], thread = [8, 8]}, group = 256, positions = i32>
func.func public @matrices(%x: tensor<4096x1024xf32>, %y: tensor<1024x4096xf32>) -> tensor<4096x4096xf32> {
  %0 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<4096x1024xf32>, tensor<1024x4096xf32>) -> tensor<4096x4096xf32>
  return %0 : tensor<4096x4096xf32>
}

// CHECK-LABEL: @batch
// CHECK: gpu_schedule<threads = [0], tile = {loops = [1, 2, 3], size = [32, 32, 16], thread = [2, 2]}, group = 256, positions = i32>
func.func public @batch(%x: tensor<8x40x33xf32>, %y: tensor<8x33x50xf32>) -> tensor<8x40x50xf32> {
  %0 = stablehlo.dot_general %x, %y, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<8x40x33xf32>, tensor<8x33x50xf32>) -> tensor<8x40x50xf32>
  return %0 : tensor<8x40x50xf32>
}

// A product with a vector is a sum over rows.
// CHECK-LABEL: @vector
// CHECK: gpu_schedule<threads = [0], elements = 4, reduce = {loops = [1], threads = 32, shuffle}, group = 256, positions = i32>
func.func public @vector(%x: tensor<16384x1024xf32>, %y: tensor<1024xf32>) -> tensor<16384xf32> {
  %0 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<16384x1024xf32>, tensor<1024xf32>) -> tensor<16384xf32>
  return %0 : tensor<16384xf32>
}

// An outer product is no sum.
// CHECK-LABEL: @outer
// CHECK: gpu_schedule<threads = [0, 1], group = 256, positions = i32>
func.func public @outer(%x: tensor<300xf32>, %y: tensor<200xf32>) -> tensor<300x200xf32> {
  %0 = stablehlo.dot_general %x, %y, contracting_dims = [] x [] : (tensor<300xf32>, tensor<200xf32>) -> tensor<300x200xf32>
  return %0 : tensor<300x200xf32>
}
