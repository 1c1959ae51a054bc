// RUN: wengert-opt %s -p "fuse" | filecheck %s

// Padding is a guarded read of what is inside, and a choice.
// CHECK-LABEL: @pad
// CHECK: %[[INSIDE:.*]] = kernel.load %{{.*}}[d0 - 2] where (0 <= d0 - 2 < 8)
// CHECK: kernel.select %{{.*}}, %[[INSIDE]], %{{.*}} : f32
func.func public @pad(%x: tensor<8xf32>) -> tensor<12xf32> {
  %z = stablehlo.constant dense<1.0> : tensor<f32>
  %0 = stablehlo.pad %x, %z, low = [2], high = [2], interior = [0] : (tensor<8xf32>, tensor<f32>) -> tensor<12xf32>
  return %0 : tensor<12xf32>
}

// A slice at a computed start is read there; the start is clamped.
// CHECK-LABEL: @gather
// CHECK: %[[START:.*]] = kernel.clamp
// CHECK: kernel.load %{{.*}}[%[[START]] + d0] : tensor<80xf32>, i32
func.func public @gather(%x: tensor<80xf32>, %i: tensor<i32>) -> tensor<12xf32> {
  %0 = stablehlo.dynamic_slice %x, %i, sizes = [12] : (tensor<80xf32>, tensor<i32>) -> tensor<12xf32>
  %1 = stablehlo.negate %0 : tensor<12xf32>
  return %1 : tensor<12xf32>
}

// A product reads transposed and reshaped matrices where they lie.
// CHECK-LABEL: @product
// CHECK: %[[Y:.*]] = stablehlo.reshape %y
// CHECK: kernel.matmul %x as [4, 6] strided<[1, 4]>, %[[Y]], contracting_dims = [1] x [0]
// CHECK-NOT: kernel.nest
func.func public @product(%x: tensor<6x4xf32>, %y: tensor<2x3x5xf32>) -> tensor<4x5xf32> {
  %t = stablehlo.transpose %x, dims = [1, 0] : (tensor<6x4xf32>) -> tensor<4x6xf32>
  %r = stablehlo.reshape %y : (tensor<2x3x5xf32>) -> tensor<6x5xf32>
  %d = stablehlo.dot_general %t, %r, contracting_dims = [1] x [0] : (tensor<4x6xf32>, tensor<6x5xf32>) -> tensor<4x5xf32>
  return %d : tensor<4x5xf32>
}

// Dimensions of one element come and go without a quotient, also beside the edge, where a guard keeps the load away.
// CHECK-LABEL: @beside_the_edge
// CHECK-NOT: floordiv
// CHECK: kernel.load %{{.*}}[0, d0 - 1] where (0 <= d0 - 1 < 999)
// CHECK-NOT: floordiv
func.func public @beside_the_edge(%x: tensor<1x1000xf64>, %y: tensor<1000xf64>) -> tensor<1000xf64> {
  %z = stablehlo.constant dense<0.0> : tensor<f64>
  %0 = stablehlo.reshape %x : (tensor<1x1000xf64>) -> tensor<1000xf64>
  %1 = stablehlo.slice %0 [0:999] : (tensor<1000xf64>) -> tensor<999xf64>
  %2 = stablehlo.pad %1, %z, low = [1], high = [0], interior = [0] : (tensor<999xf64>, tensor<f64>) -> tensor<1000xf64>
  %3 = stablehlo.multiply %2, %y : tensor<1000xf64>
  return %3 : tensor<1000xf64>
}
