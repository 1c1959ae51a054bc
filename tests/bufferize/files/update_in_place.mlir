// RUN: wengert-opt %s -p "to-core,fuse,bufferize{target=avx2}" | filecheck %s
// A nest overwrites an operand that dies with it and of which it reads just what it writes: the same buffer is among ins and outs. A
// transposed operand is read elsewhere, and stays.

// CHECK-LABEL: @elementwise
// CHECK:       kernel.launch {{.*}} outs(%[[A:.*]]: memref<4x4xf32, #kernel.space<arena>>) {
// CHECK:       kernel.launch ins(%{{.*}} = %[[A]]: memref<4x4xf32, #kernel.space<arena>>) outs(%[[A]]: memref<4x4xf32, #kernel.space<arena>>) {
// CHECK:       kernel.launch {{.*}} outs(%out: memref<4x4xf32>) {
func.func @elementwise(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = stablehlo.dot_general %x, %x, contracting_dims = [1] x [0] : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = stablehlo.tanh %0 : tensor<4x4xf32>
  %2 = stablehlo.dot_general %1, %x, contracting_dims = [1] x [0] : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %2 : tensor<4x4xf32>
}

// CHECK-LABEL: @transposed
// CHECK:       kernel.launch {{.*}} outs(%[[A:.*]]: memref<4x4xf32, #kernel.space<arena>>) {
// CHECK:       %[[B:.*]] = kernel.view %arena[64]
// CHECK:       kernel.launch ins(%{{.*}} = %[[A]]: memref<4x4xf32, #kernel.space<arena>>) outs(%[[B]]: memref<4x4xf32, #kernel.space<arena>>) {
func.func @transposed(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = stablehlo.dot_general %x, %x, contracting_dims = [1] x [0] : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = stablehlo.transpose %0, dims = [1, 0] : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %2 = stablehlo.tanh %1 : tensor<4x4xf32>
  %3 = stablehlo.dot_general %2, %2, contracting_dims = [1] x [0] : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %3 : tensor<4x4xf32>
}
