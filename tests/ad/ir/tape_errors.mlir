// RUN: wengert-opt %s --split-input-file --verify-diagnostics
// Tapes of known length are written by place, and hold what has a size.

func.func @main(%t: !core.tape<5, tensor<f64>>, %x: tensor<f64>) -> !core.tape<5, tensor<f64>> {
  // expected-error@below {{operand #0 must be a tape that grows, found !core.tape<5, tensor<f64>>}}
  %0 = core.tape_push %t, %x : (!core.tape<5, tensor<f64>>, tensor<f64>) -> !core.tape<5, tensor<f64>>
  return %0 : !core.tape<5, tensor<f64>>
}

// -----

func.func @main() -> !core.tape<5, !core.tape<tensor<f64>>> {
  // expected-error@below {{a tape holds tensors, or tapes of a length, found !core.tape<tensor<f64>>}}
  %0 = core.tape_create : !core.tape<5, !core.tape<tensor<f64>>>
  return %0 : !core.tape<5, !core.tape<tensor<f64>>>
}
