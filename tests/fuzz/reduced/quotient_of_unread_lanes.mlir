// input [[0.0], [0.0]]
// input [[0.0]]
module {
  func.func public @main(%arg0: tensor<2x1xf64>, %arg1: tensor<1x1xf64>) -> tensor<1x1xf64> {
    %v17 = stablehlo.constant dense<-1> : tensor<i64>
    %v18 = stablehlo.constant dense<1> : tensor<i64>
    %v19 = stablehlo.dynamic_slice %arg0, %v17, %v18, sizes = [1, 1] : (tensor<2x1xf64>, tensor<i64>, tensor<i64>) -> tensor<1x1xf64>
    %v20 = stablehlo.divide %v19, %arg1 : tensor<1x1xf64>
    return %v20 : tensor<1x1xf64>
  }
}
