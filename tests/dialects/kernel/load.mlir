// RUN: wengert-opt %s | filecheck %s
// Subscripts: one for each dimension where they mean the same position, else one for the whole buffer.

// CHECK-LABEL: func.func @subscripts
// CHECK:           kernel.load %a[d0, d1] : tensor<4x6xf32>
// CHECK-NEXT:      kernel.load %a[d1 + 1, -d0 + 3] : tensor<4x6xf32>
// CHECK-NEXT:      kernel.load %a[d0, d0] : tensor<4x6xf32>
// CHECK-NEXT:      kernel.load %a[d0 * 3 + d1] : tensor<4x6xf32>
// CHECK-NEXT:      kernel.load %a[d0, 5] : tensor<4x6xf32>
// CHECK-NEXT:      kernel.load %a[d0 floordiv 2, (d1 mod 2) * 3] : tensor<4x6xf32>
// CHECK-NEXT:      kernel.load %a[0, (d0 + d1) floordiv 2 - (d0 mod 2) * 3 + 3] : tensor<4x6xf32>
func.func @subscripts(%x: tensor<4x6xf32>) -> tensor<4x3xf32> {
  %0 = kernel.nest (d0, d1) = (0, 0) to (4, 3) iterators [parallel, parallel] ins(%a = %x: tensor<4x6xf32>) outs(out0: tensor<4x3xf32>) {
    %1 = kernel.load %a[d0 * 6 + d1] : tensor<4x6xf32>
    %2 = kernel.load %a[9 + d1 * 6 - d0] : tensor<4x6xf32>
    %3 = kernel.load %a[7 * d0] : tensor<4x6xf32>
    %4 = kernel.load %a[d0 * 3 + d1] : tensor<4x6xf32>
    %5 = kernel.load %a[d0, 4 + 1] : tensor<4x6xf32>
    %6 = kernel.load %a[d0 floordiv 2, d1 mod 2 * 3] : tensor<4x6xf32>
    %7 = kernel.load %a[(d0 + d1 - 1) ceildiv 2 + (d0 mod 2) * -3 + 3] : tensor<4x6xf32>
    kernel.yield store %1 to out0[d0, d1] : f32
  }
  return %0 : tensor<4x3xf32>
}

// What is guarded may point outside where the guards do not hold.
// CHECK-LABEL: func.func @guarded
// CHECK:           kernel.load %a[d0 - 1, d1 - 1] where (1 <= d0 < 5, 0 <= d1 - 1 < 6) : tensor<4x6xf32>
// CHECK-NEXT:      kernel.within (1 <= d0 < 5, 0 <= d1 - 1 < 6) : i1
// CHECK-NEXT:      kernel.index d0 * 2 - 1 : i32
func.func @guarded(%x: tensor<4x6xf32>) -> tensor<6x8xf32> {
  %0 = kernel.nest (d0, d1) = (0, 0) to (6, 8) iterators [parallel, parallel] ins(%a = %x: tensor<4x6xf32>) outs(out0: tensor<6x8xf32>) {
    %1 = kernel.load %a[d0 - 1, d1 - 1] where (1 <= d0 < 5, 0 <= d1 - 1 < 6) : tensor<4x6xf32>
    %2 = kernel.within (1 <= d0 < 5, 0 <= d1 - 1 < 6) : i1
    %3 = kernel.index d0 * 2 - 1 : i32
    %4 = kernel.constant 0.0 : f32
    %5 = kernel.select %2, %1, %4 : f32
    kernel.yield store %5 to out0[d0, d1] : f32
  }
  return %0 : tensor<6x8xf32>
}

// A computed position is a value of its own type, to which an expression of the loops is added.
// CHECK-LABEL: func.func @gathered
// CHECK:           %1 = kernel.load %n[d0] : tensor<5xi32>
// CHECK:           %5 = kernel.load %a[%4 + d1] : tensor<4x6xf32>, i32
func.func @gathered(%i: tensor<5xi32>, %x: tensor<4x6xf32>) -> tensor<5x6xf32> {
  %0 = kernel.nest (d0, d1) = (0, 0) to (5, 6) iterators [parallel, parallel] ins(%n = %i: tensor<5xi32>, %a = %x: tensor<4x6xf32>)
      outs(out0: tensor<5x6xf32>) {
    %1 = kernel.load %n[d0] : tensor<5xi32>
    %2 = kernel.constant 6 : i32
    %3 = kernel.constant 0 : i32
    %4 = kernel.multiply %1, %2 : i32
    %5 = kernel.load %a[%4 + d1] : tensor<4x6xf32>, i32
    kernel.yield store %5 to out0[d0, d1] : f32
  }
  return %0 : tensor<5x6xf32>
}
