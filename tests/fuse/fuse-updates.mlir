// RUN: wengert-opt %s -p "fuse" | filecheck %s

// The operands of a concatenation are written to their places in the result.
// CHECK-LABEL: @concatenate
// CHECK: %[[EMPTY:.*]] = kernel.empty : tensor<6x8xf32>
// CHECK: %[[FIRST:.*]] = kernel.nest
// CHECK: outs(out0 = %[[EMPTY]]: tensor<6x8xf32>)
// CHECK: kernel.exponential
// CHECK: outs(out0 = %[[FIRST]]: tensor<6x8xf32>)
// CHECK: to out0[d0 + 4, d1]
func.func public @concatenate(%x: tensor<4x8xf32>, %y: tensor<2x8xf32>) -> tensor<6x8xf32> {
  %a = stablehlo.exponential %x : tensor<4x8xf32>
  %c = stablehlo.concatenate %a, %y, dim = 0 : (tensor<4x8xf32>, tensor<2x8xf32>) -> tensor<6x8xf32>
  return %c : tensor<6x8xf32>
}

// An update continues the array that it changes.
// CHECK-LABEL: @update
// CHECK: kernel.nest (d0) = (0) to (12)
// CHECK: outs(out0 = %x: tensor<80xf32>)
// CHECK: %[[START:.*]] = kernel.clamp
// CHECK: kernel.yield store %{{.*}} to out0[%[[START]] + d0]
func.func public @update(%x: tensor<80xf32>, %u: tensor<12xf32>, %i: tensor<i32>) -> tensor<80xf32> {
  %0 = stablehlo.dynamic_update_slice %x, %u, %i : (tensor<80xf32>, tensor<12xf32>, tensor<i32>) -> tensor<80xf32>
  return %0 : tensor<80xf32>
}
