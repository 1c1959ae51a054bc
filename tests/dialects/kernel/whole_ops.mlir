// RUN: wengert-opt %s | filecheck %s
// Ops that run as a whole: by code of their own, or in the interpreter. What they yield are their results.

// CHECK-LABEL: func.func @whole
// CHECK:         %0 = kernel.native ins(%a = %x: tensor<3x3xf64>) {
// CHECK-NEXT:      %2 = stablehlo.cholesky %a, lower = true : tensor<3x3xf64>
// CHECK-NEXT:      kernel.yield %2 : tensor<3x3xf64>
// CHECK-NEXT:    }
// CHECK-NEXT:    %1 = kernel.interpret ins(%a = %0: tensor<3x3xf64>) {
// CHECK-NEXT:      %2 = stablehlo.reverse %a, dims = [0] : tensor<3x3xf64>
// CHECK-NEXT:      kernel.yield %2 : tensor<3x3xf64>
func.func @whole(%x: tensor<3x3xf64>) -> tensor<3x3xf64> {
  %0 = kernel.native ins(%a = %x: tensor<3x3xf64>) {
    %1 = stablehlo.cholesky %a, lower = true : tensor<3x3xf64>
    kernel.yield %1 : tensor<3x3xf64>
  }
  %2 = kernel.interpret ins(%a = %0: tensor<3x3xf64>) {
    %1 = stablehlo.reverse %a, dims = [0] : tensor<3x3xf64>
    kernel.yield %1 : tensor<3x3xf64>
  }
  return %2 : tensor<3x3xf64>
}
