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
