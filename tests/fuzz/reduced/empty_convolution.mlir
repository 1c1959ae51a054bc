// input [[[0.0], [0.0]]]
// input [[[0.0], [0.0]]]
module {
  func.func public @main(%arg0: tensor<1x2x1xbf16>, %arg1: tensor<1x2x1xbf16>) -> tensor<1x2x0xbf16> {
    %v31 = stablehlo.convolution(%arg0, %arg1) dim_numbers = [b, f, 0]x[i, o, 0]->[b, f, 0], window = {stride = [2], pad = [[0, -1]], lhs_dilate = [1], rhs_dilate = [1], reverse = [false]} {batch_group_count = 1 : i64, feature_group_count = 2 : i64} : (tensor<1x2x1xbf16>, tensor<1x2x1xbf16>) -> tensor<1x2x0xbf16>
    return %v31 : tensor<1x2x0xbf16>
  }
}
