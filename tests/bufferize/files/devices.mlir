// RUN: wengert-opt %s -p "to-core,fuse,products-to-nests,schedule{target=gpu},bufferize{target=gpu}" | filecheck %s
// Buffers of a device begin at multiples of 256 bytes.

// CHECK-LABEL: @main
// CHECK: %[[ARENA:.*]] = kernel.alloc {alignment = 256 : i64} : memref<512xi8, #kernel.space<arena>>
// CHECK: kernel.view %[[ARENA]][0]
// CHECK: kernel.view %[[ARENA]][256]
func.func public @main(%x: tensor<4x4xf32>, %y: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = stablehlo.dot_general %0, %y, contracting_dims = [1] x [0] : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %2 = stablehlo.dot_general %1, %0, contracting_dims = [1] x [0] : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %2 : tensor<4x4xf32>
}
