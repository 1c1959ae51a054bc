// RUN: wengert-opt %s -p "to-core,fuse,strip-mine{reassociate=true},collapse-loops,schedule{target=avx2}" | filecheck %s
// Strips of rows are shared by threads, and what runs in them is not shared again.

// CHECK: kernel.strip_mine
// CHECK: schedule<parallel = {chunk = {{[0-9]+}}, nanoseconds = {{[0-9]+}}}>
// CHECK-NOT: parallel =
func.func @main(%x: tensor<4096x512xf32>) -> tensor<4096x512xf32> {
  %c = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %0 = stablehlo.reduce(%x init: %c) applies stablehlo.maximum across dimensions = [1] : (tensor<4096x512xf32>, tensor<f32>) -> tensor<4096xf32>
  %1 = stablehlo.broadcast_in_dim %0, dims = [0] : (tensor<4096xf32>) -> tensor<4096x512xf32>
  %2 = stablehlo.subtract %x, %1 : tensor<4096x512xf32>
  %3 = stablehlo.exponential %2 : tensor<4096x512xf32>
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %4 = stablehlo.reduce(%3 init: %z) applies stablehlo.add across dimensions = [1] : (tensor<4096x512xf32>, tensor<f32>) -> tensor<4096xf32>
  %5 = stablehlo.broadcast_in_dim %4, dims = [0] : (tensor<4096xf32>) -> tensor<4096x512xf32>
  %6 = stablehlo.divide %3, %5 : tensor<4096x512xf32>
  return %6 : tensor<4096x512xf32>
}
