// input [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]
// input []
module {
  func.func public @main(%u: tensor<2x3xf64>, %x: tensor<0x3x3xf64>) -> tensor<0x3x3xf64> {
    %i = stablehlo.constant dense<0> : tensor<2x1xi32>
    %0 = "stablehlo.scatter"(%x, %i, %u) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [1], index_vector_dim = 1>, unique_indices = false}> ({
    ^bb0(%a: tensor<f64>, %b: tensor<f64>):
      %s = stablehlo.add %a, %b : tensor<f64>
      stablehlo.return %s : tensor<f64>
    }) : (tensor<0x3x3xf64>, tensor<2x1xi32>, tensor<2x3xf64>) -> tensor<0x3x3xf64>
    return %0 : tensor<0x3x3xf64>
  }
}
