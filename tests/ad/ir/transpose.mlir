// RUN: wengert-opt %s -p transpose | filecheck %s
// Without options every function that says in what it is linear is transposed; the others stay, and so do the residuals.

// CHECK:      func.func @main(%x: tensor<2xf64>)
// CHECK:      func.func @rows(%a: tensor<3x2xf64>, %arg0: tensor<3xf64>) -> tensor<2xf64> attributes {ad.linear = array<i64: 1>}
// CHECK:        stablehlo.dot_general %arg0, %a, contracting_dims = [0] x [0]
// CHECK:      func.func @scaled(%r: tensor<2xf64>, %arg0: tensor<2xf64>) -> tensor<2xf64> attributes {ad.linear = array<i64: 1>, ad.recompute}
// CHECK-NEXT:   [[SINE:%.*]] = stablehlo.sine %r
// CHECK-NEXT:   [[BAR:%.*]] = stablehlo.multiply %arg0, [[SINE]]
// CHECK-NEXT:   return [[BAR]]
func.func @main(%x: tensor<2xf64>) -> tensor<2xf64> {
  return %x : tensor<2xf64>
}
func.func @rows(%a: tensor<3x2xf64>, %x: tensor<2xf64>) -> tensor<3xf64> attributes {ad.linear = array<i64: 1>} {
  %0 = stablehlo.dot_general %a, %x, contracting_dims = [1] x [0] : (tensor<3x2xf64>, tensor<2xf64>) -> tensor<3xf64>
  return %0 : tensor<3xf64>
}
func.func @scaled(%x: tensor<2xf64>, %r: tensor<2xf64>) -> tensor<2xf64> attributes {ad.linear = array<i64: 0>, ad.recompute} {
  %0 = stablehlo.sine %r : tensor<2xf64>
  %1 = stablehlo.multiply %x, %0 : tensor<2xf64>
  return %1 : tensor<2xf64>
}
