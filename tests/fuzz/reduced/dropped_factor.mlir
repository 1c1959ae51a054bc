// input [1, 1]
// input [[NaN]]
// input [0.0]
module {
  func.func public @main(%arg0: tensor<2xi64>, %v8: tensor<1x1xf16>, %v17: tensor<1xf16>) -> tensor<1x1xf16> {
    %v21 = "stablehlo.scatter"(%v8, %arg0, %v17) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0, 1]>, unique_indices = false}> ({
    ^bb0(%s18: tensor<f16>, %s19: tensor<f16>):
      %v20 = stablehlo.multiply %s18, %s19 : tensor<f16>
      stablehlo.return %v20 : tensor<f16>
    }) : (tensor<1x1xf16>, tensor<2xi64>, tensor<1xf16>) -> tensor<1x1xf16>
    return %v21 : tensor<1x1xf16>
  }
}
