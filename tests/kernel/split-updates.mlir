// RUN: wengert-opt %s -p "to-core,fuse,split-reductions" | filecheck %s

// Many updates of few elements: sixteen parts have an array each, which are added up in their order.
// CHECK-LABEL: @histogram
// CHECK: kernel.constant -0.000000e+00 : f32
// CHECK: kernel.nest (d0, d1) = (0, 0) to (16, 62500)
// CHECK: kernel.yield add %{{.*}} to out0[%{{.*}} + d0 * 100]
// CHECK: kernel.nest (d0, d1) = (0, 0) to (16, 100)
// CHECK: kernel.yield add %{{.*}} to out0[d1] : f32
func.func @histogram(%x: tensor<100xf32>, %i: tensor<1000000x1xi32>, %u: tensor<1000000xf32>) -> tensor<100xf32> {
  %0 = "core.scatter"(%x, %i, %u) <{kind = #core<kind add>, indices_are_sorted = false, unique_indices = false,
    scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}>
    : (tensor<100xf32>, tensor<1000000x1xi32>, tensor<1000000xf32>) -> tensor<100xf32>
  return %0 : tensor<100xf32>
}

// The last store stays, and the array of a part would be larger than what there is to do: nothing is split.
// CHECK-LABEL: @stores
// CHECK-COUNT-1: kernel.nest
// CHECK: return
func.func @stores(%x: tensor<100xf32>, %i: tensor<100000x1xi32>, %u: tensor<100000xf32>) -> tensor<100xf32> {
  %0 = "core.scatter"(%x, %i, %u) <{kind = #core<kind set>, indices_are_sorted = false, unique_indices = false,
    scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}>
    : (tensor<100xf32>, tensor<100000x1xi32>, tensor<100000xf32>) -> tensor<100xf32>
  return %0 : tensor<100xf32>
}

// CHECK-LABEL: @large_array
// CHECK-COUNT-1: kernel.nest
// CHECK: return
func.func @large_array(%x: tensor<100000xf32>, %i: tensor<100000x1xi32>, %u: tensor<100000xf32>) -> tensor<100000xf32> {
  %0 = "core.scatter"(%x, %i, %u) <{kind = #core<kind add>, indices_are_sorted = false, unique_indices = false,
    scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}>
    : (tensor<100000xf32>, tensor<100000x1xi32>, tensor<100000xf32>) -> tensor<100000xf32>
  return %0 : tensor<100000xf32>
}
