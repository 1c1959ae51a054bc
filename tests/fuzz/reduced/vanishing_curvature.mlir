// input [[[2.0]], [[0.0]]]
// input [[[0.0]], [[-1.7976931348623157e+308]]]
module {
  func.func public @main(%arg0: tensor<1x1xcomplex<f64>>, %v1: tensor<1x1xcomplex<f64>>) -> tensor<1x1xf64> {
    %v2 = stablehlo.divide %v1, %arg0 : tensor<1x1xcomplex<f64>>
    %v3 = stablehlo.abs %v2 : (tensor<1x1xcomplex<f64>>) -> tensor<1x1xf64>
    return %v3 : tensor<1x1xf64>
  }
}
