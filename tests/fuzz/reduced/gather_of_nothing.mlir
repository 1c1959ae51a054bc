// input 0.0
// input [[[[0]]]]
module {
  func.func public @main(%v5: tensor<f64>, %arg0: tensor<1x1x1x1xi64>) -> tensor<1x1x1xf64> {
    %v7 = stablehlo.broadcast_in_dim %v5, dims = [] : (tensor<f64>) -> tensor<0x1xf64>
    %v11 = "stablehlo.gather"(%v7, %arg0) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], operand_batching_dims = [1], start_indices_batching_dims = [2], start_index_map = [0], index_vector_dim = 3>, indices_are_sorted = false, slice_sizes = array<i64: 0, 1>}> : (tensor<0x1xf64>, tensor<1x1x1x1xi64>) -> tensor<1x1x1xf64>
    return %v11 : tensor<1x1x1xf64>
  }
}
