// RUN: wengert-opt %s -p "to-core,fuse,collapse-loops,schedule{target=avx512},fuse-epilogues{target=avx512}" | filecheck %s

// A bias and an activation: the sums lie where the result will.
// CHECK-LABEL: @dense
// CHECK: %[[R:.*]] = kernel.fused ins(%{{.*}} = %x: tensor<300x400xf32>, %{{.*}} = %w: tensor<400x310xf32>, %{{.*}} = %b: tensor<310xf32>) {
// CHECK-NEXT: %[[S:.*]] = kernel.matmul
// CHECK-NEXT: schedule<kernel = blocked
// CHECK-NEXT: %[[N:.*]] = kernel.nest (d0, d1) = (0, 0) to (300, 310) iterators [parallel, parallel]
// CHECK-NEXT: ins(%{{.*}} = %[[S]]: tensor<300x310xf32>
// CHECK: schedule<lanes = 16>
// CHECK: kernel.yield %[[N]] : tensor<300x310xf32>
// CHECK-NEXT: }
// CHECK-NEXT: return %[[R]]
func.func @dense(%x: tensor<300x400xf32>, %w: tensor<400x310xf32>, %b: tensor<310xf32>) -> tensor<300x310xf32> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<300x400xf32>, tensor<400x310xf32>) -> tensor<300x310xf32>
  %1 = stablehlo.broadcast_in_dim %b, dims = [1] : (tensor<310xf32>) -> tensor<300x310xf32>
  %2 = stablehlo.add %0, %1 : tensor<300x310xf32>
  %3 = stablehlo.tanh %2 : tensor<300x310xf32>
  return %3 : tensor<300x310xf32>
}

// Sums that are read elsewhere are a result; a nest of one loop gets one over rows and one over columns.
// CHECK-LABEL: @kept
// CHECK: kernel.fused ins(
// CHECK: kernel.nest (d0, d1) = (0, 0) to (300, 310)
// CHECK: kernel.yield %[[S:.*]], %{{.*}} : tensor<300x310xf32>, tensor<300x310xf32>
func.func @kept(%x: tensor<300x400xf32>, %w: tensor<400x310xf32>) -> (tensor<300x310xf32>, tensor<300x310xf32>) {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<300x400xf32>, tensor<400x310xf32>) -> tensor<300x310xf32>
  %1 = stablehlo.multiply %0, %0 : tensor<300x310xf32>
  return %0, %1 : tensor<300x310xf32>, tensor<300x310xf32>
}

// Sums over rows need all of them, and small products are not in blocks: both stay as they are.
// CHECK-LABEL: @rows
// CHECK-NOT: kernel.fused
func.func @rows(%x: tensor<300x400xf32>, %w: tensor<400x310xf32>, %y: tensor<30x40xf32>, %z: tensor<40x30xf32>) -> (tensor<300xf32>, tensor<30x30xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<300x400xf32>, tensor<400x310xf32>) -> tensor<300x310xf32>
  %1 = stablehlo.reduce(%0 init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<300x310xf32>, tensor<f32>) -> tensor<300xf32>
  %2 = stablehlo.dot_general %y, %z, contracting_dims = [1] x [0] : (tensor<30x40xf32>, tensor<40x30xf32>) -> tensor<30x30xf32>
  %3 = stablehlo.negate %2 : tensor<30x30xf32>
  return %1, %3 : tensor<300xf32>, tensor<30x30xf32>
}
