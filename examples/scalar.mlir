// f(x) = sin(x) exp(x), the smallest program with something to differentiate.
func.func public @main(%x: tensor<f64>) -> tensor<f64> {
  %0 = stablehlo.sine %x : tensor<f64>
  %1 = stablehlo.exponential %x : tensor<f64>
  %2 = stablehlo.multiply %0, %1 : tensor<f64>
  return %2 : tensor<f64>
}
