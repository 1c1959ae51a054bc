// RUN: wengert-opt %s --split-input-file --verify-diagnostics
// What is wrong around nests: ops out of their place, strips that do not fit, views with too few strides.

func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@below {{this op has its place in the body of a 'kernel.nest'}}
  %0 = kernel.load %x[0] : tensor<4xf32>
  return %x : tensor<4xf32>
}

// -----

func.func @main(%x: tensor<6xf32>) -> tensor<6xf32> {
  // expected-error@below {{2 strips of tensor<3xf32> with step 2 are not tensor<6xf32>}}
  %0 = kernel.strip_mine (d0) = (0) to (2) ins(%a = %x[d0 * 2]: tensor<6xf32> as tensor<3xf32>) outs([d0 * 3]: tensor<6xf32>) {
    kernel.yield %a : tensor<3xf32>
  }
  return %0 : tensor<6xf32>
}

// -----

func.func @main(%x: tensor<6xf32>) -> tensor<6xf32> {
  // expected-error@below {{the strips of a buffer begin at multiples of the loop's index}}
  %0 = kernel.strip_mine (d0) = (0) to (2) ins(%a = %x[d0 * 3 + 1]: tensor<6xf32> as tensor<3xf32>) outs([d0 * 3]: tensor<6xf32>) {
    kernel.yield %a : tensor<3xf32>
  }
  return %0 : tensor<6xf32>
}

// -----

func.func @main(%x: tensor<6xf32>) -> tensor<f32> {
  // expected-error@below {{2 extents need as many strides; there are 1}}
  %0 = kernel.matmul %x as [2, 3] strided<[3]>, %x, contracting_dims = [1] x [0] : (tensor<6xf32>, tensor<6xf32>) -> tensor<f32>
  return %0 : tensor<f32>
}

// -----

func.func @main(%x: tensor<6xf32>) -> tensor<6xf32> {
  // expected-error@below {{the operand reaches position 7, outside of tensor<6xf32>}}
  %0 = kernel.matmul %x as [6] strided<[1], offset: 2>, %x, contracting_dims = [0] x [0] : (tensor<6xf32>, tensor<6xf32>) -> tensor<f32>
  return %x : tensor<6xf32>
}

// -----

func.func @main(%x: tensor<6xf32>) -> tensor<6xf32> {
  %0 = kernel.native ins(%a = %x: tensor<6xf32>) {
    %1 = stablehlo.abs %a : tensor<6xf32>
    // expected-error@below {{the body of 'kernel.native' ends in a 'kernel.yield' of its results}}
  }
  return %0 : tensor<6xf32>
}

// -----

func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0:2 = kernel.nest (d0) = (0) to (4) iterators [parallel] ins(%a = %x: tensor<4xf32>) outs(out0: tensor<4xf32>, out1: tensor<4xf32>) {
    %1 = kernel.load %a[d0] : tensor<4xf32>
    // expected-error@below {{every result of the nest needs a yielded value}}
    kernel.yield store %1 to out0[d0] : f32
  }
  return %0#0 : tensor<4xf32>
}

// -----

func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = kernel.nest (d0) = (0) to (4) iterators [parallel] ins(%a = %x: tensor<4xf32>) outs(out0: tensor<4xf32>)
      // expected-error@below {{lanes = 3 must be a power of two}}
      schedule<lanes = 3> {
    %1 = kernel.load %a[d0] : tensor<4xf32>
    kernel.yield store %1 to out0[d0] : f32
  }
  return %0 : tensor<4xf32>
}

// -----

func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = kernel.nest (d0) = (0) to (4) iterators [parallel] ins(%a = %x: tensor<4xf32>) outs(out0: tensor<4xf32>)
      // expected-error@below {{a schedule has no entry 'lane'}}
      schedule<lane = 4> {
    %1 = kernel.load %a[d0] : tensor<4xf32>
    kernel.yield store %1 to out0[d0] : f32
  }
  return %0 : tensor<4xf32>
}

// -----

func.func @main(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = kernel.matmul %x, %x, contracting_dims = [1] x [0]
      // expected-error@below {{a schedule has no entry 'lanes'; its entries are kernel, copied, tile, blocks, together, last, accumulators, unrolled, parallel, exchanged, turned}}
      schedule<lanes = 4> : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
}

// -----

func.func @main(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = kernel.matmul %x, %x, contracting_dims = [1] x [0]
      // expected-error@below {{expected rows, packed, gathered, dot, blocked, blas, scalar or zero, found 'gemm'}}
      schedule<kernel = gemm> : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
}

// -----

func.func @main(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = kernel.matmul %x, %x, contracting_dims = [1] x [0]
      // expected-error@below {{expected one of over, chunk, nanoseconds, found 'loop'}}
      schedule<parallel = {loop = 1}> : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
}

// -----

func.func @main(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = kernel.matmul %x, %x, contracting_dims = [1] x [0]
      // expected-error@below {{over is missing}}
      schedule<parallel = {chunk = 4, nanoseconds = 5}> : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
}

// -----

func.func @main(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = kernel.matmul %x, %x, contracting_dims = [1] x [0]
      // expected-error@below {{an operand is copied once}}
      schedule<copied = [lhs, lhs]> : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
}

// -----

func.func @main(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = kernel.matmul %x, %x, contracting_dims = [1] x [0]
      // expected-error@below {{a tile of 9 by 8 registers: it has 1 to 64}}
      schedule<tile = {rows = 9, columns = 8, lanes = 1}> : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
}

// -----

func.func @main(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = kernel.matmul %x, %x, contracting_dims = [1] x [0]
      // expected-error@below {{lanes = 0 must be 1 to 64}}
      schedule<tile = {rows = 1, columns = 1, lanes = 0}> : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
}

// -----

func.func @main(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = kernel.matmul %x, %x, contracting_dims = [1] x [0]
      // expected-error@below {{accumulators = 0 must be 1 to 64}}
      schedule<accumulators = 0> : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
}

// -----

func.func @main(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = kernel.matmul %x, %x, contracting_dims = [1] x [0]
      // expected-error@below {{unrolled = 5000 must be 0 to 4096}}
      schedule<unrolled = 5000> : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
}

// -----

func.func @main(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = kernel.matmul %x, %x, contracting_dims = [1] x [0]
      // expected-error@below {{parallel: 0 are no chunk}}
      schedule<parallel = {over = rows, chunk = 0, nanoseconds = 5}> : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
}

// -----

func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@below {{this op has its place in the body of a 'kernel.nest'}}
  %0 = "kernel.load"(%x) <{at = #kernel.at<() -> (0)>}> : (tensor<4xf32>) -> f32
  return %x : tensor<4xf32>
}

// -----

func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "kernel.nest"(%x) <{bounds = array<i64: 4>, operandSegmentSizes = array<i32: 1, 0>}> ({
  ^bb0(%a: tensor<4xf32>):
    // expected-error@below {{position d1 depends on loop 1; the nest has 1 loops}}
    %1 = "kernel.load"(%a) <{at = #kernel.at<(d0, d1) -> (d1)>}> : (tensor<4xf32>) -> f32
    "kernel.yield"(%1) <{at = [#kernel.at<(d0) -> (d0)>], kinds = ["store"]}> : (f32) -> ()
  }) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "kernel.nest"(%x) <{bounds = array<i64: 4>, operandSegmentSizes = array<i32: 1, 0>}> ({
  ^bb0(%a: tensor<4xf32>):
    %1 = "kernel.load"(%a) <{at = #kernel.at<(d0) -> (d0)>}> : (tensor<4xf32>) -> f32
    // expected-error@below {{every yielded value needs a position and a kind}}
    "kernel.yield"(%1) <{at = [#kernel.at<(d0) -> (d0)>], kinds = ["store"], bases = array<i64: -1, 0>}> : (f32) -> ()
  }) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @main(%x: tensor<6xf32>) -> tensor<6xf32> {
  // expected-error@below {{the body is one op, and a kernel.yield of its results}}
  %0 = kernel.interpret ins(%a = %x: tensor<6xf32>) {
    %1 = stablehlo.abs %a : tensor<6xf32>
    %2 = stablehlo.abs %1 : tensor<6xf32>
    kernel.yield %2 : tensor<6xf32>
  }
  return %0 : tensor<6xf32>
}

// -----

func.func @main(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = kernel.matmul %x, %x, contracting_dims = [1] x [0]
      // expected-error@below {{together = 3 must be a multiple of the columns of the blocks}}
      schedule<kernel = blocked, blocks = {rows = 2, columns = 2, depth = 2}, together = 3> : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
}
