// input []
module {
  func.func public @main(%v34: tensor<0x1xf32>) -> tensor<1xi32> {
    %v52 = stablehlo.iota dim = 0 : tensor<0x1xi32>
    %v53 = stablehlo.constant dense<0x7F800000> : tensor<f32>
    %v54 = stablehlo.constant dense<0> : tensor<i32>
    %v55:2 = stablehlo.reduce(%v34 init: %v53), (%v52 init: %v54) across dimensions = [0] : (tensor<0x1xf32>, tensor<0x1xi32>, tensor<f32>, tensor<i32>) -> (tensor<1xf32>, tensor<1xi32>)
     reducer(%s39: tensor<f32>, %s41: tensor<f32>) (%s40: tensor<i32>, %s42: tensor<i32>) {
      %v43 = stablehlo.compare LT, %s39, %s41, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %v44 = stablehlo.compare NE, %s39, %s39, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %v45 = stablehlo.or %v43, %v44 : tensor<i1>
      %v46 = stablehlo.compare EQ, %s39, %s41, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %v47 = stablehlo.compare LT, %s40, %s42, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %v48 = stablehlo.and %v46, %v47 : tensor<i1>
      %v49 = stablehlo.select %v45, %s39, %s41 : tensor<i1>, tensor<f32>
      %v50 = stablehlo.or %v45, %v48 : tensor<i1>
      %v51 = stablehlo.select %v50, %s40, %s42 : tensor<i1>, tensor<i32>
      stablehlo.return %v49, %v51 : tensor<f32>, tensor<i32>
    }
    return %v55#1 : tensor<1xi32>
  }
}
