// input []
// input [[0.5, -1.0], [2.0, 0.25]]
// input [[1.0, 2.0, 3.0], [-1.0, 0.5, 0.75]]
module {
  func.func public @main(%arg0: tensor<0xf64>, %arg1: tensor<2x2xf64>, %v7: tensor<2x3xf64>) -> (tensor<1x3x1x1xf64>, tensor<2xf64>, tensor<2x2x0x1xf64>, tensor<0xf64>) {
    %v14 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %v15 = "stablehlo.select_and_scatter"(%arg1, %v7, %v14) <{padding = dense<[[0, 0], [1, 1]]> : tensor<2x2xi64>, window_dimensions = array<i64: 1, 2>, window_strides = array<i64: 1, 1>}> ({
    ^bb0(%s8: tensor<f64>, %s9: tensor<f64>):
      %v10 = stablehlo.constant dense<true> : tensor<i1>
      stablehlo.return %v10 : tensor<i1>
    }, {
    ^bb0(%s11: tensor<f64>, %s12: tensor<f64>):
      stablehlo.return %s11 : tensor<f64>
    }) : (tensor<2x2xf64>, tensor<2x3xf64>, tensor<f64>) -> tensor<2x2xf64>
    %v16 = stablehlo.constant dense<1.000000e+00> : tensor<2x2xf64>
    %v24 = stablehlo.dot_general %v16, %v15, batching_dims = [1] x [1], contracting_dims = [0] x [0] : (tensor<2x2xf64>, tensor<2x2xf64>) -> tensor<2xf64>
    %v27 = stablehlo.constant dense<1.000000e+00> : tensor<1x3x1x1xf64>
    %v28 = stablehlo.constant dense<> : tensor<2x2x0x1xf64>
    return %v27, %v24, %v28, %arg0 : tensor<1x3x1x1xf64>, tensor<2xf64>, tensor<2x2x0x1xf64>, tensor<0xf64>
  }
}
