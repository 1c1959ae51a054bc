// RUN: wengert-opt %s | filecheck %s
// A nest names its loops, what it reads and what it writes; the kinds of the loops follow from the writes.

// CHECK-LABEL: func.func @sums
// CHECK:         %0:2 = kernel.nest (d0, d1) = (0, 0) to (8, 128) iterators [parallel, reduction]
// CHECK-NEXT:        ins(%a = %x: tensor<8x128xf32>, %w = %b: tensor<128xf32>)
// CHECK-NEXT:        outs(out0: tensor<8x128xf32>, out1: tensor<8xf32>) {
// CHECK-NEXT:      %1 = kernel.load %a[d0, d1] : tensor<8x128xf32>
// CHECK-NEXT:      %2 = kernel.load %w[d1] : tensor<128xf32>
// CHECK-NEXT:      %3 = kernel.add %1, %2 : f32
// CHECK-NEXT:      kernel.yield store %3 to out0[d0, d1] : f32,
// CHECK-NEXT:                   add %3 to out1[d0] : f32
// CHECK-NEXT:    }
func.func @sums(%x: tensor<8x128xf32>, %b: tensor<128xf32>) -> (tensor<8x128xf32>, tensor<8xf32>) {
  %0:2 = kernel.nest (i, j) = (0, 0) to (8, 128) iterators [parallel, reduction] ins(%a = %x: tensor<8x128xf32>, %w = %b: tensor<128xf32>)
      outs(whole: tensor<8x128xf32>, rows: tensor<8xf32>) {
    %1 = kernel.load %a[i * 128 + j] : tensor<8x128xf32>
    %2 = kernel.load %w[j] : tensor<128xf32>
    %3 = kernel.add %1, %2 : f32
    kernel.yield store %3 to whole[i, j] : f32, add %3 to rows[i] : f32
  }
  return %0#0, %0#1 : tensor<8x128xf32>, tensor<8xf32>
}

// A sum over everything, and one over overlapping windows: no loop is parallel, since iterations of each meet.
// CHECK-LABEL: func.func @reductions
// CHECK:         kernel.nest (d0, d1) = (0, 0) to (4, 3) iterators [reduction, reduction]
// CHECK:           kernel.yield add %{{.*}} to out0[] : f64
// CHECK:         kernel.nest (d0, d1) = (0, 0) to (4, 3) iterators [reduction, reduction]
// CHECK:           kernel.yield max %{{.*}} to out0[d0 + d1] : f64
func.func @reductions(%x: tensor<4x3xf64>) -> (tensor<f64>, tensor<6xf64>) {
  %0 = kernel.nest (d0, d1) = (0, 0) to (4, 3) iterators [reduction, reduction] ins(%a = %x: tensor<4x3xf64>) outs(out0: tensor<f64>) {
    %1 = kernel.load %a[d0, d1] : tensor<4x3xf64>
    kernel.yield add %1 to out0[] : f64
  }
  %2 = kernel.nest (d0, d1) = (0, 0) to (4, 3) iterators [reduction, reduction] ins(%a = %x: tensor<4x3xf64>) outs(out0: tensor<6xf64>) {
    %3 = kernel.load %a[d0, d1] : tensor<4x3xf64>
    kernel.yield max %3 to out0[d0 + d1] : f64
  }
  return %0, %2 : tensor<f64>, tensor<6xf64>
}

// A nest without loops, which reads nothing; attributes come before the body.
// CHECK-LABEL: func.func @one
// CHECK:         kernel.nest () = () to () iterators []
// CHECK-NEXT:        outs(out0: tensor<i32>) attributes {hint = "none"} {
// CHECK-NEXT:      %1 = kernel.constant 7 : i32
func.func @one() -> tensor<i32> {
  %0 = kernel.nest () = () to () iterators [] outs(out0: tensor<i32>) attributes {hint = "none"} {
    %1 = kernel.constant 7 : i32
    kernel.yield store %1 to out0[] : i32
  }
  return %0 : tensor<i32>
}
