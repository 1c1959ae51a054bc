// RUN: wengert-opt %s -p "check-compilable" --verify-diagnostics --split-input-file

// A program of tensors with known extents passes.
func.func public @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}

// -----

// expected-error@+1 {{argument 0 of @main has type tensor<?xf32>, which cannot be compiled}}
func.func public @main(%x: tensor<?xf32>) -> tensor<?xf32> {
  return %x : tensor<?xf32>
}

// -----

func.func public @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{'stablehlo.create_token' has a result of type !stablehlo.token, which cannot be compiled}}
  %0 = "stablehlo.create_token"() : () -> !stablehlo.token
  return %x : tensor<4xf32>
}

// -----

func.func public @main(%x: tensor<f32>) -> tensor<f32> {
  // expected-error@+1 {{'stablehlo.broadcast_in_dim' has a result of type tensor<1000000x1000000x1000xf32>: 3638 TiB, more than any machine can address}}
  %0 = stablehlo.broadcast_in_dim %x, dims = [] : (tensor<f32>) -> tensor<1000000x1000000x1000xf32>
  return %x : tensor<f32>
}

// -----

func.func private @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
func.func public @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{the call of @f cannot be compiled}}
  %0 = call @f(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
