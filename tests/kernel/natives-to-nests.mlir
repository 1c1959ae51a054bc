// RUN: wengert-opt %s -p "fuse,natives-to-nests{reassociate=true}" | filecheck %s
// RUN: wengert-opt %s -p "fuse,natives-to-nests" | filecheck %s --check-prefix STRICT

// A convolution sums over its window and the channels; guards stand for padding and for the zeros between elements of a dilated input.
// CHECK-LABEL: @convolution
// CHECK: kernel.nest (d0, d1, d2, d3, d4) = (0, 0, 0, 0, 0) to (2, 9, 4, 3, 5) iterators [parallel, parallel, parallel, reduction, reduction]
// CHECK: %[[X:.*]] = kernel.load %{{.*}}[d0, (d1 + d3 + 1) floordiv 2 - 1, d4] where (0 <= (d1 + d3 + 1) mod 2 < 1, 0 <= (d1 + d3 + 1) floordiv 2 - 1 < 5) : tensor<2x5x5xf32>
// CHECK: %[[IN:.*]] = kernel.within (0 <= (d1 + d3 + 1) mod 2 < 1, 0 <= (d1 + d3 + 1) floordiv 2 - 1 < 5)
// CHECK: %[[V:.*]] = kernel.select %[[IN]], %[[X]], %{{.*}} : f32
// CHECK: %[[W:.*]] = kernel.load %{{.*}}[d3, d4, d2] : tensor<3x5x4xf32>
// CHECK: %[[P:.*]] = kernel.multiply %[[V]], %[[W]] : f32
// CHECK: kernel.yield add %[[P]] to out0[d0, d1, d2] : f32
func.func public @convolution(%x: tensor<2x5x5xf32>, %w: tensor<3x5x4xf32>) -> tensor<2x9x4xf32> {
  %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {pad = [[1, 1]], lhs_dilate = [2]}
    {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x5x5xf32>, tensor<3x5x4xf32>) -> tensor<2x9x4xf32>
  return %0 : tensor<2x9x4xf32>
}

// In the gradient of a kernel the window is long: its loops are inside, in the order of the input's dimensions.
// CHECK-LABEL: @kernel_gradient
// CHECK: kernel.nest (d0, d1, d2, d3, d4) = (0, 0, 0, 0, 0) to (3, 4, 3, 2, 38) iterators [parallel, parallel, parallel, reduction, reduction]
// CHECK: kernel.load %{{.*}}[d3, d0, d2 + d4] : tensor<2x3x40xf32>
// CHECK: kernel.load %{{.*}}[d3, d1, d4] : tensor<2x4x38xf32>
func.func public @kernel_gradient(%x: tensor<2x3x40xf32>, %y: tensor<2x4x38xf32>) -> tensor<3x4x3xf32> {
  %0 = stablehlo.convolution(%x, %y) dim_numbers = [f, b, 0]x[i, o, 0]->[b, f, 0], window = {}
    {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x3x40xf32>, tensor<2x4x38xf32>) -> tensor<3x4x3xf32>
  return %0 : tensor<3x4x3xf32>
}

// Where every element lies inside there are no guards; a group of features reads its own channels.
// CHECK-LABEL: @groups
// CHECK: kernel.load %{{.*}}[d0, d1 + d3, d4 + (d2 floordiv 2) * 2] : tensor<2x5x4xf32>
func.func public @groups(%x: tensor<2x5x4xf32>, %w: tensor<3x2x4xf32>) -> tensor<2x3x4xf32> {
  %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {}
    {batch_group_count = 1 : i64, feature_group_count = 2 : i64} : (tensor<2x5x4xf32>, tensor<3x2x4xf32>) -> tensor<2x3x4xf32>
  return %0 : tensor<2x3x4xf32>
}

// Elements outside of a window's operand are the neutral one.
// CHECK-LABEL: @window
// CHECK: kernel.nest (d0, d1) = (0, 0) to (8, 3) iterators [parallel, reduction]
// CHECK: kernel.load %{{.*}}[d0 + d1 - 1] where (0 <= d0 + d1 - 1 < 8) : tensor<8xf32>
// CHECK: kernel.constant 0xFF800000 : f32
// CHECK: kernel.yield max %{{.*}} to out0[d0] : f32
func.func public @window(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = core.window_reduce max %x, window = [3], strides = [1], base_dilations = [1], window_dilations = [1], padding = [1, 1] : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// A short running sum is one nest.
// CHECK-LABEL: @short
// CHECK: kernel.nest (d0, d1, d2, d3) = (0, 0, 0, 0) to (3, 20, 1, 20) iterators [parallel, parallel, parallel, reduction]
// CHECK: kernel.load %{{.*}}[d0, d3] where (0 <= d1 - d3 < 20)
// CHECK: kernel.yield add %{{.*}} to out0[d0, d1] : f32
func.func public @short(%x: tensor<3x20xf32>) -> tensor<3x20xf32> {
  %0 = core.cumulative add %x along 1 : tensor<3x20xf32>
  return %0 : tensor<3x20xf32>
}

// A long one goes by blocks, unless the order of the sum must stay: then it is as it was.
// CHECK-LABEL: @long
// CHECK: kernel.nest (d0, d1, d2, d3, d4) = (0, 0, 0, 0, 0) to (1, 32, 32, 1, 32) iterators [parallel, parallel, parallel, parallel, reduction]
// CHECK: kernel.load %{{.*}}[{{.*}}] where (0 <= d2 - d4 < 32, 0 <= d1 * 32 + d4 < 1000)
// CHECK: kernel.nest (d0, d1, d2, d3) = (0, 0, 0, 0) to (1, 32, 1, 32) iterators [parallel, parallel, parallel, reduction]
// CHECK: kernel.nest (d0, d1, d2) = (0, 0, 0) to (1, 1000, 1) iterators [parallel, parallel, parallel]
// CHECK: kernel.add
// CHECK: kernel.yield store %{{.*}} to out0[-d1 + 999] : f32
// STRICT-LABEL: @long
// STRICT: kernel.native
// STRICT: core.cumulative add
func.func public @long(%x: tensor<1000xf32>) -> tensor<1000xf32> {
  %0 = core.cumulative add %x along 0 reverse : tensor<1000xf32>
  return %0 : tensor<1000xf32>
}

// The extreme, its position, and the element there.
// CHECK-LABEL: @extreme
// CHECK: kernel.yield min %{{.*}} to out0[d0, d1] : f32
// CHECK: kernel.eq
// CHECK: kernel.ne
// CHECK: kernel.index d2 : i32
// CHECK: kernel.yield min %{{.*}} to out0[d0, d1] : i32
// CHECK: kernel.load %{{.*}}[%{{.*}} + d0 * 24 + d1] : tensor<4x8x3xf32>, i32
// CHECK: kernel.yield store
func.func public @extreme(%x: tensor<4x8x3xf32>) -> (tensor<4x3xf32>, tensor<4x3xi32>) {
  %v, %i = core.argreduce min %x along 1 : (tensor<4x8x3xf32>) -> (tensor<4x3xf32>, tensor<4x3xi32>)
  return %v, %i : tensor<4x3xf32>, tensor<4x3xi32>
}

// What has no form as a nest stays: here a tape, which is no tensor.
// CHECK-LABEL: @stays
// CHECK: kernel.native
// CHECK: core.tape_create
func.func public @stays(%x: tensor<f64>) -> tensor<f64> {
  %0 = core.tape_create : !core.tape<tensor<f64>>
  %1 = core.tape_push %0, %x : (!core.tape<tensor<f64>>, tensor<f64>) -> !core.tape<tensor<f64>>
  %zero = stablehlo.constant dense<0> : tensor<i64>
  %2 = core.tape_read %1, %zero : (!core.tape<tensor<f64>>, tensor<i64>) -> tensor<f64>
  return %2 : tensor<f64>
}
