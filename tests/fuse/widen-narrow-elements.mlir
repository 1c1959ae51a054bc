// RUN: wengert-opt %s -p "widen-narrow-elements" | filecheck %s

// CHECK-LABEL: @four_bits
// CHECK: %[[X:.*]] = stablehlo.convert %x : (tensor<3xi4>) -> tensor<3xi8>
// CHECK: %[[Y:.*]] = stablehlo.convert %y : (tensor<3xi4>) -> tensor<3xi8>
// CHECK: %[[SUM:.*]] = stablehlo.add %[[X]], %[[Y]] : tensor<3xi8>
// CHECK: stablehlo.convert %[[SUM]] : (tensor<3xi8>) -> tensor<3xi4>
// CHECK: stablehlo.select %{{.*}} : tensor<3xi1>, tensor<3xi4>
func.func public @four_bits(%x: tensor<3xi4>, %y: tensor<3xi4>, %p: tensor<3xi1>) -> tensor<3xi4> {
  %0 = stablehlo.add %x, %y : tensor<3xi4>
  %1 = stablehlo.select %p, %0, %y : tensor<3xi1>, tensor<3xi4>
  return %1 : tensor<3xi4>
}

// CHECK-LABEL: @eight_bits
// CHECK: %[[X:.*]] = stablehlo.convert %x : (tensor<3x7xf8E5M2>) -> tensor<3x7xf32>
// CHECK: %[[SUMS:.*]] = core.cumulative add %[[X]] along 1 : tensor<3x7xf32>
// CHECK: stablehlo.convert %[[SUMS]] : (tensor<3x7xf32>) -> tensor<3x7xf8E5M2>
// CHECK: stablehlo.tanh %{{.*}} : tensor<3x7xf8E5M2>
func.func public @eight_bits(%x: tensor<3x7xf8E5M2>) -> tensor<3x7xf8E5M2> {
  %0 = core.cumulative add %x along 1 : tensor<3x7xf8E5M2>
  %1 = stablehlo.tanh %0 : tensor<3x7xf8E5M2>
  return %1 : tensor<3x7xf8E5M2>
}

// CHECK-LABEL: @booleans
// CHECK: stablehlo.dot_general %{{.*}} : (tensor<2x3xi32>, tensor<3x2xi32>) -> tensor<2x2xi32>
// CHECK: stablehlo.convert %{{.*}} : (tensor<2x2xi32>) -> tensor<2x2xi1>
func.func public @booleans(%x: tensor<2x3xi1>, %y: tensor<3x2xi1>) -> tensor<2x2xi1> {
  %0 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<2x3xi1>, tensor<3x2xi1>) -> tensor<2x2xi1>
  return %0 : tensor<2x2xi1>
}
