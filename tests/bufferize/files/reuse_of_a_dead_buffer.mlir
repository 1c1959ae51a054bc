// RUN: wengert-opt %s -p "to-core,fuse,bufferize{target=avx2}" | filecheck %s
// What is not needed any more makes room: the third product lies where the first one did. An arena of two buffers is enough for a chain.

// CHECK-LABEL: @main
// CHECK:       %arena = kernel.alloc {alignment = 64 : i64} : memref<128xi8, #kernel.space<arena>>
// CHECK:       %[[A:.*]] = kernel.view %arena[0] : memref<128xi8, #kernel.space<arena>> to memref<4x4xf32, #kernel.space<arena>>
// CHECK:       outs(%[[A]]: memref<4x4xf32, #kernel.space<arena>>)
// CHECK:       %[[B:.*]] = kernel.view %arena[64] : memref<128xi8, #kernel.space<arena>> to memref<4x4xf32, #kernel.space<arena>>
// CHECK:       ins({{.*}} = %[[A]]: {{.*}} outs(%[[B]]: memref<4x4xf32, #kernel.space<arena>>)
// CHECK:       ins({{.*}} = %[[B]]: {{.*}} outs(%[[A]]: memref<4x4xf32, #kernel.space<arena>>)
// CHECK:       ins({{.*}} = %[[A]]: {{.*}} outs(%out: memref<4x4xf32>)
func.func @main(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = stablehlo.dot_general %x, %x, contracting_dims = [1] x [0] : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = stablehlo.dot_general %0, %x, contracting_dims = [1] x [0] : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %2 = stablehlo.dot_general %1, %x, contracting_dims = [1] x [0] : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %3 = stablehlo.dot_general %2, %x, contracting_dims = [1] x [0] : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %3 : tensor<4x4xf32>
}
