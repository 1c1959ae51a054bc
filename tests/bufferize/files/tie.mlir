// RUN: wengert-opt %s -p "to-core,fuse,bufferize{target=avx2}" | filecheck %s
// A row is written into an array. An input is not ours to write: the result begins as a copy of it. A value of our own that is not needed
// afterwards is continued where it lies, without a copy.

// CHECK-LABEL: @of_an_input
// CHECK-NOT:   kernel.alloc
// CHECK:       kernel.copy %x, %out : memref<8x4xf32> to memref<8x4xf32>
// CHECK:       kernel.launch {{.*}} outs(%out: memref<8x4xf32>) {
func.func @of_an_input(%x: tensor<8x4xf32>, %row: tensor<1x4xf32>, %i: tensor<i32>) -> tensor<8x4xf32> {
  %c = stablehlo.constant dense<0> : tensor<i32>
  %0 = stablehlo.dynamic_update_slice %x, %row, %i, %c : (tensor<8x4xf32>, tensor<1x4xf32>, tensor<i32>, tensor<i32>) -> tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}

// CHECK-LABEL: @of_a_value
// CHECK:       kernel.launch {{.*}} outs(%out: memref<8x8xf32>) {
// CHECK-NOT:   kernel.copy
// CHECK:       kernel.launch ins({{.*}} = %out: memref<8x8xf32>) outs(%out: memref<8x8xf32>) {
func.func @of_a_value(%x: tensor<8x8xf32>, %row: tensor<1x8xf32>, %i: tensor<i32>) -> tensor<8x8xf32> {
  %c = stablehlo.constant dense<0> : tensor<i32>
  %0 = stablehlo.dot_general %x, %x, contracting_dims = [1] x [0] : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %1 = stablehlo.dynamic_update_slice %0, %row, %i, %c : (tensor<8x8xf32>, tensor<1x8xf32>, tensor<i32>, tensor<i32>) -> tensor<8x8xf32>
  return %1 : tensor<8x8xf32>
}
