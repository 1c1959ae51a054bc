// input [[], []]
module {
  func.func public @main(%v8: tensor<2x0x2x1xf32>) -> tensor<0x0x4x2xf32> {
    %v12 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %v16 = "stablehlo.reduce_window"(%v8, %v12) <{base_dilations = array<i64: 1, 1, 1, 1>, padding = dense<[[0, 0], [0, 0], [1, 1], [1, 2]]> : tensor<4x2xi64>, window_dilations = array<i64: 2, 2, 1, 1>, window_dimensions = array<i64: 2, 3, 1, 2>, window_strides = array<i64: 2, 1, 1, 2>}> ({
    ^bb0(%s13: tensor<f32>, %s14: tensor<f32>):
      %v15 = stablehlo.multiply %s13, %s14 : tensor<f32>
      stablehlo.return %v15 : tensor<f32>
    }) : (tensor<2x0x2x1xf32>, tensor<f32>) -> tensor<0x0x4x2xf32>
    return %v16 : tensor<0x0x4x2xf32>
  }
}
