// RUN: wengert-opt %s -p "tapes-to-stacks" | filecheck %s
// Tapes with places become tensors, also where they are arguments or held by others; those that grow stay.

// CHECK:      func.func @main(%t: tensor<2x5x3xf64>, %i: tensor<i64>, %x: tensor<5x3xf64>) -> (tensor<2x5x3xf64>, tensor<3xf64>, !core.tape<tensor<5x3xf64>>)
// CHECK-NEXT:   [[ZERO:%.*]] = stablehlo.constant dense<0> : tensor<i64>
// CHECK-NEXT:   [[ROW:%.*]] = stablehlo.reshape %x : (tensor<5x3xf64>) -> tensor<1x5x3xf64>
// CHECK:        [[SET:%.*]] = stablehlo.dynamic_update_slice %t, [[ROW]], %i, [[ZERO]], [[ZERO]]
// CHECK:        stablehlo.dynamic_slice [[SET]], %i, [[ZERO]], [[ZERO]], sizes = [1, 5, 3]
// CHECK:        stablehlo.dynamic_slice {{.*}}, %i, [[ZERO]], sizes = [1, 3]
// CHECK:        core.tape_create : !core.tape<tensor<5x3xf64>>
// CHECK:        core.tape_push
// CHECK-NOT:    core.tape_set
func.func @main(%t: !core.tape<2, !core.tape<5, tensor<3xf64>>>, %i: tensor<i64>, %x: !core.tape<5, tensor<3xf64>>) -> (!core.tape<2, !core.tape<5, tensor<3xf64>>>, tensor<3xf64>, !core.tape<!core.tape<5, tensor<3xf64>>>) {
  %0 = "core.tape_set"(%t, %i, %x) : (!core.tape<2, !core.tape<5, tensor<3xf64>>>, tensor<i64>, !core.tape<5, tensor<3xf64>>) -> !core.tape<2, !core.tape<5, tensor<3xf64>>>
  %1 = core.tape_read %0, %i : (!core.tape<2, !core.tape<5, tensor<3xf64>>>, tensor<i64>) -> !core.tape<5, tensor<3xf64>>
  %2 = core.tape_read %1, %i : (!core.tape<5, tensor<3xf64>>, tensor<i64>) -> tensor<3xf64>
  %3 = core.tape_create : !core.tape<!core.tape<5, tensor<3xf64>>>
  %4 = core.tape_push %3, %1 : (!core.tape<!core.tape<5, tensor<3xf64>>>, !core.tape<5, tensor<3xf64>>) -> !core.tape<!core.tape<5, tensor<3xf64>>>
  return %0, %2, %4 : !core.tape<2, !core.tape<5, tensor<3xf64>>>, tensor<3xf64>, !core.tape<!core.tape<5, tensor<3xf64>>>
}
