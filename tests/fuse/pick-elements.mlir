// RUN: wengert-opt %s -p "to-core,pick-elements" | filecheck %s

// Of the difference, one element of each row is computed.
// CHECK-LABEL: @loss
// CHECK: %[[X:.*]] = "stablehlo.gather"(%x, %i) {{.*}} -> tensor<512x1xf32>
// CHECK: %[[B:.*]] = stablehlo.broadcast_in_dim %b, dims = [0] : (tensor<512xf32>) -> tensor<512x1xf32>
// CHECK: stablehlo.subtract %[[X]], %[[B]] : tensor<512x1xf32>
func.func public @loss(%x: tensor<512x5000xf32>, %b: tensor<512xf32>, %i: tensor<512x1x1xi32>) -> tensor<512x1xf32> {
  %w = stablehlo.broadcast_in_dim %b, dims = [0] : (tensor<512xf32>) -> tensor<512x5000xf32>
  %d = stablehlo.subtract %x, %w : tensor<512x5000xf32>
  %y = "stablehlo.gather"(%d, %i) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 2>, slice_sizes = array<i64: 1, 1>, indices_are_sorted = false}> : (tensor<512x5000xf32>, tensor<512x1x1xi32>) -> tensor<512x1xf32>
  return %y : tensor<512x1xf32>
}

// One element in each row of zeros is computed where it is read.
// CHECK-LABEL: @gradient
// CHECK: %[[POSITIONS:.*]] = stablehlo.iota dim = 1 : tensor<512x5000xi32>
// CHECK: %[[HERE:.*]] = stablehlo.compare EQ, %[[POSITIONS]]
// CHECK: stablehlo.select %[[HERE]]
// CHECK-NOT: core.scatter
// CHECK: return
func.func public @gradient(%u: tensor<512x1xf32>, %i: tensor<512x1x1xi32>) -> tensor<512x5000xf32> {
  %z = stablehlo.constant dense<0.0> : tensor<512x5000xf32>
  %y = core.scatter add %z, %i, %u, dims = #stablehlo.scatter<inserted_window_dims = [1], input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [1], index_vector_dim = 2>, sorted = false, unique = false : (tensor<512x5000xf32>, tensor<512x1x1xi32>, tensor<512x1xf32>) -> tensor<512x5000xf32>
  return %y : tensor<512x5000xf32>
}
