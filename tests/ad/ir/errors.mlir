// RUN: wengert-opt %s --split-input-file --verify-diagnostics
// What is wrong in the text of the halves is said at the function.

// expected-error@below {{ad.linear names argument 1, but there are 1 arguments}}
func.func @main(%x: tensor<f64>) -> tensor<f64> attributes {ad.linear = array<i64: 1>} {
  return %x : tensor<f64>
}

// -----

// expected-error@below {{ad.linear names one argument twice: 0, 0}}
func.func @main(%x: tensor<f64>) -> tensor<f64> attributes {ad.linear = array<i64: 0, 0>} {
  return %x : tensor<f64>
}

// -----

// expected-error@below {{ad.linear must be an array<i64: ...>, found}}
func.func @main(%x: tensor<f64>) -> tensor<f64> attributes {ad.linear = 0 : i64} {
  return %x : tensor<f64>
}

// -----

// expected-error@below {{there is no function @linear in this module}}
func.func @main(%x: tensor<f64>) -> tensor<f64> attributes {ad.linear_part = @linear, ad.residuals = array<i64>} {
  return %x : tensor<f64>
}

// -----

// expected-error@below {{@linear is to be a linear part, but does not say in which arguments it is linear (ad.linear)}}
func.func @main(%x: tensor<f64>) -> tensor<f64> attributes {ad.linear_part = @linear, ad.residuals = array<i64>} {
  return %x : tensor<f64>
}
func.func @linear(%x: tensor<f64>) -> tensor<f64> {
  return %x : tensor<f64>
}

// -----

// expected-error@below {{@linear takes residuals of the types (tensor<2xf64>), but those of @main have the types (tensor<f64>)}}
func.func @main(%x: tensor<f64>) -> (tensor<f64>, tensor<f64>) attributes {ad.linear_part = @linear, ad.residuals = array<i64: 1>} {
  return %x, %x : tensor<f64>, tensor<f64>
}
func.func @linear(%r: tensor<2xf64>, %x: tensor<f64>) -> tensor<f64> attributes {ad.linear = array<i64: 1>} {
  return %x : tensor<f64>
}

// -----

// expected-error@below {{ad.linear_part needs ad.residuals, the results that the linear part takes}}
func.func @main(%x: tensor<f64>) -> tensor<f64> attributes {ad.linear_part = @main} {
  return %x : tensor<f64>
}

// -----

// expected-error@below {{ad.residuals needs ad.linear_part, the function that takes the residuals}}
func.func @main(%x: tensor<f64>) -> tensor<f64> attributes {ad.residuals = array<i64: 0>} {
  return %x : tensor<f64>
}

// -----

// expected-error@below {{ad.recompute belongs on a function that says in which arguments it is linear (ad.linear)}}
func.func @main(%x: tensor<f64>) -> tensor<f64> attributes {ad.recompute} {
  return %x : tensor<f64>
}
