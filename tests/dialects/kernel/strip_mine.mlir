// RUN: wengert-opt %s | filecheck %s
// A loop over strips: in every iteration an argument is the part of its operand that begins at this position.

// CHECK-LABEL: func.func @strips
// CHECK:         %0:2 = kernel.strip_mine (d0) = (0) to (4)
// CHECK-NEXT:        ins(%a = %x[d0 * 6]: tensor<8x3xf32> as tensor<6xf32>, %w = %b: tensor<3xf32>)
// CHECK-NEXT:        outs([d0 * 6]: tensor<8x3xf32>, [d0]: tensor<4xf32>) {
// CHECK-NEXT:      %1:2 = kernel.nest (d0, d1) = (0, 0) to (2, 3) iterators [reduction, reduction]
// CHECK-NEXT:          ins(%d = %a: tensor<6xf32>, %e = %w: tensor<3xf32>)
// CHECK:             kernel.yield store %{{.*}} to out0[d0 * 3 + d1] : f32,
// CHECK:           kernel.yield %1#0, %1#1 : tensor<6xf32>, tensor<f32>
func.func @strips(%x: tensor<8x3xf32>, %b: tensor<3xf32>) -> (tensor<8x3xf32>, tensor<4xf32>) {
  %0:2 = kernel.strip_mine (s) = (0) to (4) ins(%a = %x[s * 6]: tensor<8x3xf32> as tensor<6xf32>, %w = %b: tensor<3xf32>)
      outs([s * 6]: tensor<8x3xf32>, [s]: tensor<4xf32>) {
    %1:2 = kernel.nest (d0, d1) = (0, 0) to (2, 3) iterators [reduction, reduction] ins(%d = %a: tensor<6xf32>, %e = %w: tensor<3xf32>)
        outs(out0: tensor<6xf32>, out1: tensor<f32>) {
      %2 = kernel.load %d[d0 * 3 + d1] : tensor<6xf32>
      %3 = kernel.load %e[d1] : tensor<3xf32>
      %4 = kernel.multiply %2, %3 : f32
      kernel.yield store %4 to out0[d0 * 3 + d1] : f32, add %4 to out1[] : f32
    }
    kernel.yield %1#0, %1#1 : tensor<6xf32>, tensor<f32>
  }
  return %0#0, %0#1 : tensor<8x3xf32>, tensor<4xf32>
}
