// RUN: wengert-opt %s -p "fuse,products-to-nests" | filecheck %s

// A product is a nest that sums; views of its operands are positions.
// CHECK-LABEL: @matrices
// CHECK: kernel.nest (d0, d1, d2) = (0, 0, 0) to (4, 5, 8) iterators [parallel, parallel, reduction]
// CHECK: %[[A:.*]] = kernel.load %{{.*}}[d2, d0] : tensor<8x4xf32>
// CHECK-NEXT: %[[B:.*]] = kernel.load %{{.*}}[d2, d1] : tensor<8x5xf32>
// CHECK-NEXT: %[[P:.*]] = kernel.multiply %[[A]], %[[B]] : f32
// CHECK-NEXT: kernel.yield add %[[P]] to out0[d0, d1] : f32
func.func public @matrices(%x: tensor<8x4xf32>, %y: tensor<8x5xf32>) -> tensor<4x5xf32> {
  %t = stablehlo.transpose %x, dims = [1, 0] : (tensor<8x4xf32>) -> tensor<4x8xf32>
  %0 = stablehlo.dot_general %t, %y, contracting_dims = [1] x [0] : (tensor<4x8xf32>, tensor<8x5xf32>) -> tensor<4x5xf32>
  return %0 : tensor<4x5xf32>
}

// Batch dimensions come first.
// CHECK-LABEL: @batch
// CHECK: kernel.nest (d0, d1, d2, d3) = (0, 0, 0, 0) to (3, 4, 5, 8) iterators [parallel, parallel, parallel, reduction]
// CHECK: kernel.load %{{.*}}[d0, d1, d3] : tensor<3x4x8xf64>
// CHECK-NEXT: kernel.load %{{.*}}[d0, d3, d2] : tensor<3x8x5xf64>
// CHECK: kernel.yield add %{{.*}} to out0[d0, d1, d2] : f64
func.func public @batch(%x: tensor<3x4x8xf64>, %y: tensor<3x8x5xf64>) -> tensor<3x4x5xf64> {
  %0 = stablehlo.dot_general %x, %y, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<3x4x8xf64>, tensor<3x8x5xf64>) -> tensor<3x4x5xf64>
  return %0 : tensor<3x4x5xf64>
}

// Without loops of one side, a product with a vector.
// CHECK-LABEL: @vector
// CHECK: kernel.nest (d0, d1) = (0, 0) to (4, 8) iterators [parallel, reduction]
func.func public @vector(%x: tensor<4x8xf32>, %y: tensor<8xf32>) -> tensor<4xf32> {
  %0 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
