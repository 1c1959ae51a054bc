// input [[1.0, 1.0, 1.0, 1.0, 1.0], [0.0, 0.0, 0.0, 0.0, 0.0]]
module {
  func.func public @main(%v9: tensor<5xcomplex<f64>>) -> tensor<5xcomplex<f64>> {
    %v10 = stablehlo.fft %v9, type = FFT, length = [5] : (tensor<5xcomplex<f64>>) -> tensor<5xcomplex<f64>>
    %v14 = stablehlo.rsqrt %v10 : tensor<5xcomplex<f64>>
    %v19 = stablehlo.tanh %v14 : tensor<5xcomplex<f64>>
    return %v19 : tensor<5xcomplex<f64>>
  }
}
