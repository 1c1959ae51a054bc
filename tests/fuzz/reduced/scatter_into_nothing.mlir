// input [[0.0], [0.0]]
// input []
module {
  func.func public @main(%arg0: tensor<2x1xf64>, %v15: tensor<0x1xf64>) -> tensor<0x1xf64> {
    %v25 = stablehlo.constant dense<0> : tensor<2x1x1xui8>
    %v28 = "stablehlo.scatter"(%v15, %v25, %arg0) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], input_batching_dims = [1], scatter_indices_batching_dims = [1], scatter_dims_to_operand_dims = [0], index_vector_dim = 2>, unique_indices = false}> ({
    ^bb0(%s26: tensor<f64>, %s27: tensor<f64>):
      stablehlo.return %s27 : tensor<f64>
    }) : (tensor<0x1xf64>, tensor<2x1x1xui8>, tensor<2x1xf64>) -> tensor<0x1xf64>
    return %v28 : tensor<0x1xf64>
  }
}
