// RUN: wengert-opt %s -p "to-core,fuse,collapse-loops,schedule{target=avx2}" | filecheck %s
// Most rows are no padding: for them the innermost loop is there a second time, without that guard.

// CHECK: version = {holds = (0 <= d0 - 2 < 64)}
func.func @main(%x: tensor<64x40x133xf32>, %y: tensor<68x40x133xf32>, %z: tensor<133xf32>) -> tensor<68x40x133xf32> {
  %c = stablehlo.constant dense<0.5> : tensor<f32>
  %0 = stablehlo.pad %x, %c, low = [2, 0, 0], high = [2, 0, 0], interior = [0, 0, 0] : (tensor<64x40x133xf32>, tensor<f32>) -> tensor<68x40x133xf32>
  %1 = stablehlo.add %0, %y : tensor<68x40x133xf32>
  %2 = stablehlo.broadcast_in_dim %z, dims = [2] : (tensor<133xf32>) -> tensor<68x40x133xf32>
  %3 = stablehlo.add %1, %2 : tensor<68x40x133xf32>
  return %3 : tensor<68x40x133xf32>
}
