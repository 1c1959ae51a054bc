// RUN: wengert-opt %s -p join | filecheck %s
// The linear part comes behind what gives its residuals, wherever these stand, and uses what is computed there already.

// CHECK:      func.func @main(%x: tensor<3xf64>, %t: tensor<3xf64>) -> (tensor<3xf64>, tensor<3xf64>) {
// CHECK-NEXT:   [[SIN:%.*]] = stablehlo.sine %x
// CHECK-NEXT:   [[COS:%.*]] = stablehlo.cosine %x
// CHECK-NEXT:   [[SUM:%.*]] = stablehlo.add [[COS]], [[SIN]]
// CHECK-NEXT:   [[DOT:%.*]] = stablehlo.multiply %t, [[SUM]]
// CHECK-NEXT:   return [[SIN]], [[DOT]]
// CHECK-NOT:  @main_linear
func.func @main(%x: tensor<3xf64>) -> (tensor<3xf64>, tensor<3xf64>, tensor<3xf64>) attributes {ad.linear_part = @main_linear, ad.residuals = array<i64: 0, 2>} {
  %0 = stablehlo.sine %x : tensor<3xf64>
  %1 = stablehlo.cosine %x : tensor<3xf64>
  return %1, %0, %x : tensor<3xf64>, tensor<3xf64>, tensor<3xf64>
}
func.func @main_linear(%c: tensor<3xf64>, %t: tensor<3xf64>, %x: tensor<3xf64>) -> tensor<3xf64> attributes {ad.linear = array<i64: 1>} {
  %0 = stablehlo.sine %x : tensor<3xf64>
  %1 = stablehlo.add %c, %0 : tensor<3xf64>
  %2 = stablehlo.multiply %t, %1 : tensor<3xf64>
  return %2 : tensor<3xf64>
}
