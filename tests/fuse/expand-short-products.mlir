// RUN: wengert-opt %s -p "expand-short-products" | filecheck %s

// A dot product of three elements for each of many points is a multiplication and a sum.
// CHECK-LABEL: @dots
// CHECK-NOT: stablehlo.dot_general
// CHECK: %[[PRODUCTS:.*]] = stablehlo.multiply {{.*}} : tensor<1000x3xf32>
// CHECK: core.reduce add %[[PRODUCTS]] across [1] : (tensor<1000x3xf32>) -> tensor<1000xf32>
func.func public @dots(%x: tensor<1000x3xf32>, %y: tensor<1000x3xf32>) -> tensor<1000xf32> {
  %0 = stablehlo.dot_general %x, %y, batching_dims = [0] x [0], contracting_dims = [1] x [1] : (tensor<1000x3xf32>, tensor<1000x3xf32>) -> tensor<1000xf32>
  return %0 : tensor<1000xf32>
}

// Few batch elements do not fill the lanes.
// CHECK-LABEL: @few
// CHECK: stablehlo.dot_general
func.func public @few(%x: tensor<10x3xf32>, %y: tensor<10x3xf32>) -> tensor<10xf32> {
  %0 = stablehlo.dot_general %x, %y, batching_dims = [0] x [0], contracting_dims = [1] x [1] : (tensor<10x3xf32>, tensor<10x3xf32>) -> tensor<10xf32>
  return %0 : tensor<10xf32>
}

// Larger matrices are what products are for.
// CHECK-LABEL: @matrices
// CHECK: stablehlo.dot_general
func.func public @matrices(%x: tensor<1000x8x8xf32>, %y: tensor<1000x8x8xf32>) -> tensor<1000x8x8xf32> {
  %0 = stablehlo.dot_general %x, %y, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<1000x8x8xf32>, tensor<1000x8x8xf32>) -> tensor<1000x8x8xf32>
  return %0 : tensor<1000x8x8xf32>
}
