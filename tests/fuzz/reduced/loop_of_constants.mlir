// input [[[0.0], [0.0], [0.0]], [[0.0], [0.0], [0.0]]]
// input [[[0.0, 0.0], [0.0, 0.0]], [[0.0, 0.0], [0.0, 0.0]]]
// input [0.0, 0.0]
// input [0.0, 0.0]
module {
  func.func public @main(%arg0: tensor<2x3x1xf32>, %arg1: tensor<2x2x2xf32>, %arg2: tensor<2xf32>, %v8: tensor<2xf32>) -> tensor<2xf32> {
    %v1 = stablehlo.constant dense<3> : tensor<i32>
    %v2 = stablehlo.constant dense<1> : tensor<i32>
    %v24:4 = stablehlo.while(%iterArg = %v2, %iterArg_0 = %arg1, %iterArg_1 = %arg0, %iterArg_2 = %v8) : tensor<i32>, tensor<2x2x2xf32>, tensor<2x3x1xf32>, tensor<2xf32>
     cond {
      %v13 = stablehlo.compare LT, %iterArg, %v1, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %v13 : tensor<i1>
    } do {
      %v21 = stablehlo.remainder %iterArg_2, %arg2 : tensor<2xf32>
      %v23 = stablehlo.add %iterArg, %iterArg : tensor<i32>
      stablehlo.return %v23, %iterArg_0, %arg0, %v21 : tensor<i32>, tensor<2x2x2xf32>, tensor<2x3x1xf32>, tensor<2xf32>
    }
    return %v24#3 : tensor<2xf32>
  }
}
