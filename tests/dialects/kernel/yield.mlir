// RUN: wengert-opt %s | filecheck %s
// What a nest writes: several values to parts of one result, parts of what is there, and elements that data choose.

// CHECK-LABEL: func.func @interleaved
// CHECK:           kernel.yield store %{{.*}} to out0[d0 * 2] : f64,
// CHECK-NEXT:                   store %{{.*}} to out0[d0 * 2 + 1] : f64
func.func @interleaved(%x: tensor<5xf64>) -> tensor<10xf64> {
  %0 = kernel.nest (d0) = (0) to (5) iterators [parallel] ins(%a = %x: tensor<5xf64>) outs(out0: tensor<10xf64>) {
    %1 = kernel.load %a[d0] : tensor<5xf64>
    %2 = kernel.negate %1 : f64
    kernel.yield store %1 to out0[d0 * 2] : f64, store %2 to out0[d0 * 2 + 1] : f64
  }
  return %0 : tensor<10xf64>
}

// The second result goes on from %y, of which it changes a row; the first one is new.
// CHECK-LABEL: func.func @row
// CHECK:         outs(out0: tensor<6xf64>, out1 = %y: tensor<4x6xf64>)
// CHECK:           store %{{.*}} to out1[2, d0] : f64
func.func @row(%x: tensor<6xf64>, %y: tensor<4x6xf64>) -> (tensor<6xf64>, tensor<4x6xf64>) {
  %0:2 = kernel.nest (d0) = (0) to (6) iterators [parallel] ins(%a = %x: tensor<6xf64>) outs(out0: tensor<6xf64>, out1 = %y: tensor<4x6xf64>) {
    %1 = kernel.load %a[d0] : tensor<6xf64>
    kernel.yield store %1 to out0[d0] : f64, store %1 to out1[2, d0] : f64
  }
  return %0#0, %0#1 : tensor<6xf64>, tensor<4x6xf64>
}

// A scatter: where the condition does not hold nothing is written. Iterations that add may meet; of those that store, the last one wins.
// CHECK-LABEL: func.func @scattered
// CHECK:         iterators [reduction]
// CHECK:           kernel.yield add %{{.*}} to out0[%[[I:.*]] + 1] where %[[C:.*]] : f64, i32
// CHECK:         iterators [sequential]
// CHECK:           kernel.yield store %{{.*}} to out0[%{{.*}}] where %{{.*}} : f64, i32
func.func @scattered(%i: tensor<3xi32>, %x: tensor<3xf64>, %y: tensor<8xf64>) -> (tensor<8xf64>, tensor<8xf64>) {
  %0 = kernel.nest (d0) = (0) to (3) iterators [reduction] ins(%n = %i: tensor<3xi32>, %a = %x: tensor<3xf64>) outs(out0 = %y: tensor<8xf64>) {
    %1 = kernel.load %n[d0] : tensor<3xi32>
    %2 = kernel.constant 7 : i32
    %3 = kernel.lt %1, %2 : i32
    %4 = kernel.load %a[d0] : tensor<3xf64>
    kernel.yield add %4 to out0[%1 + 1] where %3 : f64, i32
  }
  %5 = kernel.nest (d0) = (0) to (3) iterators [sequential] ins(%n = %i: tensor<3xi32>, %a = %x: tensor<3xf64>) outs(out0 = %y: tensor<8xf64>) {
    %1 = kernel.load %n[d0] : tensor<3xi32>
    %2 = kernel.constant 8 : i32
    %3 = kernel.lt %1, %2 : i32
    %4 = kernel.load %a[d0] : tensor<3xf64>
    kernel.yield store %4 to out0[%1] where %3 : f64, i32
  }
  return %0, %5 : tensor<8xf64>, tensor<8xf64>
}
