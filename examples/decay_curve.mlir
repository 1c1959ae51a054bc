// f(a, b)_i = a exp(-b t_i) at 1000 times: two inputs and a thousand outputs, which is where forward mode pays.
func.func public @main(%a: tensor<f64>, %b: tensor<f64>) -> tensor<1000xf64> {
  %step = stablehlo.constant dense<0.01> : tensor<1000xf64>
  %index = stablehlo.iota dim = 0 : tensor<1000xf64>
  %t = stablehlo.multiply %index, %step : tensor<1000xf64>
  %bs = stablehlo.broadcast_in_dim %b, dims = [] : (tensor<f64>) -> tensor<1000xf64>
  %bt = stablehlo.multiply %bs, %t : tensor<1000xf64>
  %minus = stablehlo.negate %bt : tensor<1000xf64>
  %decay = stablehlo.exponential %minus : tensor<1000xf64>
  %as = stablehlo.broadcast_in_dim %a, dims = [] : (tensor<f64>) -> tensor<1000xf64>
  %y = stablehlo.multiply %as, %decay : tensor<1000xf64>
  return %y : tensor<1000xf64>
}
