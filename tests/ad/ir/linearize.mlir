// RUN: wengert-opt %s -p linearize | filecheck %s
// The text says which results are residuals, and in which arguments the linear part is linear.

// CHECK:      func.func @main(%arg0: tensor<3xf64>, %arg1: tensor<i32>) -> (tensor<3xf64>, tensor<3xf64>)
// CHECK-SAME: attributes {ad.linear_part = @main_linear, ad.residuals = array<i64: 1>}
// CHECK:        [[COS:%.*]] = stablehlo.cosine %arg0
// CHECK:        return {{%.*}}, [[COS]]
// CHECK:      func.func @main_linear(%arg0: tensor<3xf64>, %arg1: tensor<3xf64>) -> tensor<3xf64>
// CHECK-SAME: attributes {ad.linear = array<i64: 1>}
// CHECK:        [[DOT:%.*]] = stablehlo.multiply %arg1, %arg0
// CHECK:        return [[DOT]]
func.func @main(%x: tensor<3xf64>, %n: tensor<i32>) -> tensor<3xf64> {
  %0 = stablehlo.sine %x : tensor<3xf64>
  return %0 : tensor<3xf64>
}
