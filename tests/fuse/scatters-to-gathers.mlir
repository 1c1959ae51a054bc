// RUN: wengert-opt %s -p "scatters-to-gathers{reassociate=true}" | filecheck %s
// RUN: wengert-opt %s -p "scatters-to-gathers" | filecheck %s --check-prefix STRICT

// The last update of each row wins; its number is the greatest, which is exact in any order.
// CHECK-LABEL: @replaces
// CHECK: %[[NUMBERS:.*]] = stablehlo.iota dim = 0 : tensor<300xi32>
// CHECK: %[[LAST:.*]] = core.scatter max {{.*}} : (tensor<5xi32>, tensor<300x1xi32>, tensor<300xi32>) -> tensor<5xi32>
// CHECK: "stablehlo.gather"({{.*}}) <{{.*}}> : (tensor<300x3xf32>, tensor<5x1xi32>) -> tensor<5x3xf32>
// CHECK: stablehlo.select
// CHECK: return
func.func public @replaces(%x: tensor<5x3xf32>, %i: tensor<300x1xi32>, %u: tensor<300x3xf32>) -> tensor<5x3xf32> {
  %0 = "core.scatter"(%x, %i, %u) <{kind = #core<kind set>, indices_are_sorted = false, unique_indices = false,
    scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}>
    : (tensor<5x3xf32>, tensor<300x1xi32>, tensor<300x3xf32>) -> tensor<5x3xf32>
  return %0 : tensor<5x3xf32>
}

// Each row compares its number with the positions of all updates. Sums that keep their order stay.
// CHECK-LABEL: @sums
// CHECK: %[[OWN:.*]] = stablehlo.compare EQ, {{.*}} : (tensor<5x300xi32>, tensor<5x300xi32>) -> tensor<5x300xi1>
// CHECK-DAG: core.reduce or %[[OWN]] across [1]
// CHECK-DAG: core.reduce add %{{.*}} across [1] : (tensor<5x300x3xf32>) -> tensor<5x3xf32>
// STRICT-LABEL: @sums
// STRICT: core.scatter add
func.func public @sums(%x: tensor<5x3xf32>, %i: tensor<300x1xi32>, %u: tensor<300x3xf32>) -> tensor<5x3xf32> {
  %0 = "core.scatter"(%x, %i, %u) <{kind = #core<kind add>, indices_are_sorted = false, unique_indices = false,
    scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}>
    : (tensor<5x3xf32>, tensor<300x1xi32>, tensor<300x3xf32>) -> tensor<5x3xf32>
  return %0 : tensor<5x3xf32>
}
