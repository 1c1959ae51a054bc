// RUN: wengert-opt %s | filecheck %s
// How a nest, or a loop over strips, runs stands before its body.

// CHECK-LABEL: func.func @scheduled
// CHECK:         outs([d0 * 6]: tensor<8x3xf32>)
// CHECK-NEXT:    schedule<parallel = {chunk = 1, nanoseconds = 60000}> {
// CHECK:             outs(out0: tensor<6xf32>)
// CHECK-NEXT:        schedule<order = [1, 0], lanes = 2, pieces = [0 to 1 masked, 1 to 2]> attributes {hint = "short"} {
func.func @scheduled(%x: tensor<8x3xf32>) -> tensor<8x3xf32> {
  %0 = kernel.strip_mine (s) = (0) to (4) ins(%a = %x[s * 6]: tensor<8x3xf32> as tensor<6xf32>) outs([s * 6]: tensor<8x3xf32>)
      schedule<parallel = {chunk = 1, nanoseconds = 60000}> {
    %1 = kernel.nest (d0, d1) = (0, 0) to (2, 3) iterators [parallel, parallel] ins(%d = %a: tensor<6xf32>) outs(out0: tensor<6xf32>)
        schedule<lanes = 2, order = [1, 0], pieces = [0 to 1 masked, 1 to 2]> attributes {hint = "short"} {
      %2 = kernel.load %d[d0 * 3 + d1] : tensor<6xf32>
      kernel.yield store %2 to out0[d0 * 3 + d1] : f32
    }
    kernel.yield %1 : tensor<6xf32>
  }
  return %0 : tensor<8x3xf32>
}

// A product says its kernel, its tile and the parts for threads; a native kernel the latter only.
// CHECK-LABEL: func.func @whole
// CHECK:         %0 = kernel.matmul %x, %y, contracting_dims = [1] x [0]
// CHECK-NEXT:        schedule<kernel = packed, copied = [lhs, rhs], exchanged, turned, tile = {rows = 2, columns = 3, lanes = 4}, last = {rows = 1, columns = 3, lanes = 4}, accumulators = 8, unrolled = 24, parallel = {over = rows, chunk = 3, nanoseconds = 60000}> : (tensor<5x40xf32>, tensor<40x5xf32>) -> tensor<5x5xf32>
// CHECK:         kernel.native ins(%{{.*}} = %0: tensor<5x5xf32>)
// CHECK-NEXT:        schedule<cut = {loop = 0, size = 2}, parallel = {chunk = 1, nanoseconds = 60000}> {
// CHECK:         kernel.matmul %{{.*}}, %{{.*}}, contracting_dims = [1] x [0]
// CHECK-NEXT:        schedule<> : (tensor<5x5xf32>, tensor<5x5xf32>) -> tensor<5x5xf32>
func.func @whole(%x: tensor<5x40xf32>, %y: tensor<40x5xf32>) -> tensor<5x5xf32> {
  %0 = kernel.matmul %x, %y, contracting_dims = [1] x [0] schedule<parallel = {chunk = 3, over = rows, nanoseconds = 60000}, unrolled = 24, kernel = packed,
    exchanged, turned, copied = [lhs, rhs], tile = {lanes = 4, rows = 2, columns = 3}, last = {rows = 1, columns = 3, lanes = 4}, accumulators = 8>
    : (tensor<5x40xf32>, tensor<40x5xf32>) -> tensor<5x5xf32>
  %1 = kernel.native ins(%a = %0: tensor<5x5xf32>) schedule<parallel = {chunk = 1, nanoseconds = 60000}, cut = {loop = 0, size = 2}> {
    %2 = stablehlo.cholesky %a, lower = true : tensor<5x5xf32>
    kernel.yield %2 : tensor<5x5xf32>
  }
  %3 = kernel.matmul %1, %1, contracting_dims = [1] x [0] schedule<> : (tensor<5x5xf32>, tensor<5x5xf32>) -> tensor<5x5xf32>
  return %3 : tensor<5x5xf32>
}
