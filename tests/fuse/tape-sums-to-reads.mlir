// RUN: wengert-opt %s -p "tape-sums-to-reads" | filecheck %s

// CHECK-LABEL: @one_value
// CHECK: %[[OLD:.*]] = "core.tape_get"(%t, %i)
// CHECK: %[[NEW:.*]] = stablehlo.add %[[OLD]], %x : tensor<3xf64>
// CHECK: %[[T:.*]] = "core.tape_set"(%t, %i, %[[NEW]])
// CHECK: core.tape_read %[[T]], %i
func.func public @one_value(%x: tensor<3xf64>, %i: tensor<i64>, %t: !core.tape<tensor<3xf64>>) -> tensor<3xf64> {
  %0 = "core.tape_add"(%t, %i, %x) : (!core.tape<tensor<3xf64>>, tensor<i64>, tensor<3xf64>) -> !core.tape<tensor<3xf64>>
  %1 = core.tape_read %0, %i : (!core.tape<tensor<3xf64>>, tensor<i64>) -> tensor<3xf64>
  return %1 : tensor<3xf64>
}

// CHECK-LABEL: @all_values
// CHECK: %[[N:.*]] = core.tape_size %other
// CHECK: core.for %[[K:.*]] to %[[N]]
// CHECK: %[[X:.*]] = "core.tape_get"(%[[OTHER:.*]], %[[K]])
// CHECK: %[[AT:.*]] = stablehlo.add %{{.*}}, %[[K]] : tensor<i64>
// CHECK: %[[OLD:.*]] = "core.tape_get"(%[[T:.*]], %[[AT]])
// CHECK: %[[NEW:.*]] = stablehlo.add %[[OLD]], %[[X]]
// CHECK: "core.tape_set"(%[[T]], %[[AT]], %[[NEW]])
func.func public @all_values(%i: tensor<i64>, %t: !core.tape<tensor<3xf64>>, %other: !core.tape<tensor<3xf64>>) -> tensor<3xf64> {
  %0 = "core.tape_add_from"(%t, %i, %other) : (!core.tape<tensor<3xf64>>, tensor<i64>, !core.tape<tensor<3xf64>>) -> !core.tape<tensor<3xf64>>
  %1 = core.tape_read %0, %i : (!core.tape<tensor<3xf64>>, tensor<i64>) -> tensor<3xf64>
  return %1 : tensor<3xf64>
}
