// RUN: wengert-opt %s | filecheck %s
// A product of views; a view that is all of its buffer, row by row, is not written.

// CHECK-LABEL: func.func @products
// CHECK:         kernel.matmul %x, %y, contracting_dims = [1] x [0] : (tensor<4x6xf32>, tensor<6x5xf32>) -> tensor<4x5xf32>
// CHECK-NEXT:    kernel.matmul %x as [6, 2] strided<[1, 6], offset: 12>, %z as [2, 6] strided<[1, 2]>, batching_dims = [0] x [1], contracting_dims = [1] x [0] : (tensor<4x6xf32>, tensor<12xf32>) -> tensor<6xf32>
// CHECK-NEXT:    kernel.empty : tensor<3xf32>
func.func @products(%x: tensor<4x6xf32>, %y: tensor<6x5xf32>, %z: tensor<12xf32>) -> (tensor<4x5xf32>, tensor<6xf32>) {
  %0 = kernel.matmul %x as [4, 6] strided<[6, 1], offset: 0>, %y, contracting_dims = [1] x [0] : (tensor<4x6xf32>, tensor<6x5xf32>) -> tensor<4x5xf32>
  %1 = kernel.matmul %x as [6, 2] strided<[1, 6], offset: 12>, %z as [2, 6] strided<[1, 2]>, batching_dims = [0] x [1], contracting_dims = [1] x [0]
      : (tensor<4x6xf32>, tensor<12xf32>) -> tensor<6xf32>
  %2 = kernel.empty : tensor<3xf32>
  return %0, %1 : tensor<4x5xf32>, tensor<6xf32>
}
