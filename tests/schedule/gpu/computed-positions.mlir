// RUN: wengert-opt %s -p "to-core,fuse,fission,collapse-loops,schedule{target=sm_90}" | filecheck %s

// Rows that are added to a table may be the same one, but begin at multiples of their length: threads have columns, and each adds up in order.
// CHECK-LABEL: @rows_of_a_table
// CHECK: gpu_schedule<threads = [1], serial = [0], group = 256, positions = i32>
func.func @rows_of_a_table(%t: tensor<50x512xf32>, %i: tensor<300x1xi32>, %u: tensor<300x512xf32>) -> tensor<50x512xf32> {
  %0 = "stablehlo.scatter"(%t, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<50x512xf32>, tensor<300x1xi32>, tensor<300x512xf32>) -> tensor<50x512xf32>
  return %0 : tensor<50x512xf32>
}

// Floats that may meet are added by one thread, so that every run gives the same bits; integers give them in any order.
// CHECK-LABEL: @floats
// CHECK: gpu_schedule<serial = [0], group = 1, positions = i32>
func.func @floats(%t: tensor<50xf32>, %i: tensor<300x1xi32>, %u: tensor<300xf32>) -> tensor<50xf32> {
  %0 = "stablehlo.scatter"(%t, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<50xf32>, tensor<300x1xi32>, tensor<300xf32>) -> tensor<50xf32>
  return %0 : tensor<50xf32>
}

// CHECK-LABEL: @integers
// CHECK: gpu_schedule<threads = [0], atomic, group = 256, positions = i32>
func.func @integers(%t: tensor<50xi32>, %i: tensor<300x1xi32>, %u: tensor<300xi32>) -> tensor<50xi32> {
  %0 = "stablehlo.scatter"(%t, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %1 = stablehlo.add %a, %b : tensor<i32>
    stablehlo.return %1 : tensor<i32>
  }) : (tensor<50xi32>, tensor<300x1xi32>, tensor<300xi32>) -> tensor<50xi32>
  return %0 : tensor<50xi32>
}

// A gather is like any other load.
// CHECK-LABEL: @gather
// CHECK: gpu_schedule<threads = [0, 1], group = 256, positions = i32>
func.func @gather(%t: tensor<50x16xf32>, %i: tensor<300x1xi32>) -> tensor<300x16xf32> {
  %0 = "stablehlo.gather"(%t, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 16>}> : (tensor<50x16xf32>, tensor<300x1xi32>) -> tensor<300x16xf32>
  return %0 : tensor<300x16xf32>
}
