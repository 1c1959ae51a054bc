// input []
module {
  func.func public @main(%v25: tensor<0x1xf64>) -> tensor<1x2xf64> {
    %v26 = stablehlo.constant dense<1.000000e+00> : tensor<f64>
    %v30 = "stablehlo.reduce_window"(%v25, %v26) <{base_dilations = array<i64: 1, 1>, padding = dense<[[0, 2], [0, 2]]> : tensor<2x2xi64>, window_dilations = array<i64: 1, 1>, window_dimensions = array<i64: 2, 2>, window_strides = array<i64: 1, 1>}> ({
    ^bb0(%s27: tensor<f64>, %s28: tensor<f64>):
      %v29 = stablehlo.multiply %s27, %s28 : tensor<f64>
      stablehlo.return %v29 : tensor<f64>
    }) : (tensor<0x1xf64>, tensor<f64>) -> tensor<1x2xf64>
    return %v30 : tensor<1x2xf64>
  }
}
