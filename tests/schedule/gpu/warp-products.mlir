// RUN: wengert-opt %s -p "promote-accumulators,fuse,products-to-nests,narrow-stores,collapse-loops,schedule{target=sm_80}" | filecheck %s

// Factors of 16 bits are multiplied by warps, in larger tiles the more there are.
// CHECK-LABEL: @large
// CHECK: gpu_schedule<tile = {loops = [0, 1, 2], size = [128, 128, 32], warp = [64, 32], stages = 2}, group = 256, positions = i32>
func.func public @large(%x: tensor<2048x1024xbf16>, %y: tensor<1024x2048xbf16>) -> tensor<2048x2048xbf16> {
  %0 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<2048x1024xbf16>, tensor<1024x2048xbf16>) -> tensor<2048x2048xbf16>
  return %0 : tensor<2048x2048xbf16>
}

// CHECK-LABEL: @small
// CHECK: gpu_schedule<tile = {loops = [0, 1, 2], size = [32, 64, 32], warp = [16, 32], stages = 2}, group = 128, positions = i32>
func.func public @small(%x: tensor<100x70xf16>, %y: tensor<70x90xf16>) -> tensor<100x90xf32> {
  %0 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<100x70xf16>, tensor<70x90xf16>) -> tensor<100x90xf32>
  return %0 : tensor<100x90xf32>
}

// Products of f32 are those of f32.
// CHECK-LABEL: @wide
// CHECK: thread = [2, 2]
func.func public @wide(%x: tensor<100x70xf32>, %y: tensor<70x90xf32>) -> tensor<100x90xf32> {
  %0 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<100x70xf32>, tensor<70x90xf32>) -> tensor<100x90xf32>
  return %0 : tensor<100x90xf32>
}

// So are those of which one factor is f32.
// CHECK-LABEL: @mixed
// CHECK: thread = [2, 2]
func.func public @mixed(%x: tensor<100x70xf32>, %y: tensor<70x90xbf16>) -> tensor<100x90xf32> {
  %0 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<100x70xf32>, tensor<70x90xbf16>) -> tensor<100x90xf32>
  return %0 : tensor<100x90xf32>
}
