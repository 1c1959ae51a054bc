// RUN: wengert-opt %s -p "convert-operands{target=avx2}" | filecheck %s

// CHECK-LABEL: @small
// CHECK: %[[X:.*]] = stablehlo.convert %x : (tensor<128x128xi8>) -> tensor<128x128xi32>
// CHECK: stablehlo.dot_general %[[X]], %[[X]], {{.*}} : (tensor<128x128xi32>, tensor<128x128xi32>) -> tensor<128x128xi32>
func.func public @small(%x: tensor<128x128xi8>) -> tensor<128x128xi32> {
  %0 = stablehlo.dot_general %x, %x, contracting_dims = [1] x [0] : (tensor<128x128xi8>, tensor<128x128xi8>) -> tensor<128x128xi32>
  return %0 : tensor<128x128xi32>
}

// One operand is wide already; few rows are not worth panels, however much there is to do.
// CHECK-LABEL: @one
// CHECK: %[[Y:.*]] = stablehlo.convert %y : (tensor<5x3000x1000xf32>) -> tensor<5x3000x1000xf64>
// CHECK: stablehlo.dot_general %x, %[[Y]]
func.func public @one(%x: tensor<5x8x3000xf64>, %y: tensor<5x3000x1000xf32>) -> tensor<5x8x1000xf64> {
  %0 = stablehlo.dot_general %x, %y, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<5x8x3000xf64>, tensor<5x3000x1000xf32>) -> tensor<5x8x1000xf64>
  return %0 : tensor<5x8x1000xf64>
}

// Large products convert in panels.
// CHECK-LABEL: @large
// CHECK-NOT: stablehlo.convert
// CHECK: return
func.func public @large(%x: tensor<200x200xf32>) -> tensor<200x200xf64> {
  %0 = stablehlo.dot_general %x, %x, contracting_dims = [1] x [0] : (tensor<200x200xf32>, tensor<200x200xf32>) -> tensor<200x200xf64>
  return %0 : tensor<200x200xf64>
}

// What is not narrower than the result stays: no conversion of it is exact.
// CHECK-LABEL: @wider
// CHECK-NOT: stablehlo.convert
// CHECK: return
func.func public @wider(%x: tensor<4x4xf64>) -> tensor<4x4xf32> {
  %0 = stablehlo.dot_general %x, %x, contracting_dims = [1] x [0] : (tensor<4x4xf64>, tensor<4x4xf64>) -> tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
}
