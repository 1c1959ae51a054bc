// RUN: wengert-opt %s -p "promote-accumulators" | filecheck %s

// A sum of 16-bit floats is computed in f32 and rounded once.
// CHECK-LABEL: @sum
// CHECK: %[[WIDE:.*]] = stablehlo.convert %x : (tensor<64xbf16>) -> tensor<64xf32>
// CHECK: %[[SUM:.*]] = core.reduce add %[[WIDE]] across [0] : (tensor<64xf32>) -> tensor<f32>
// CHECK: stablehlo.convert %[[SUM]] : (tensor<f32>) -> tensor<bf16>
func.func public @sum(%x: tensor<64xbf16>) -> tensor<bf16> {
  %0 = core.reduce add %x across [0] : (tensor<64xbf16>) -> tensor<bf16>
  return %0 : tensor<bf16>
}

// A product whose result is f32 already is not rounded at all.
// CHECK-LABEL: @product
// CHECK: stablehlo.dot_general {{.*}} : (tensor<4x8xf32>, tensor<8x5xf32>) -> tensor<4x5xf32>
// CHECK-NOT: stablehlo.convert
// CHECK: return
func.func public @product(%x: tensor<4x8xf16>, %y: tensor<8x5xf16>) -> tensor<4x5xf32> {
  %0 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<4x8xf16>, tensor<8x5xf16>) -> tensor<4x5xf32>
  return %0 : tensor<4x5xf32>
}

// The largest of 16-bit floats is one of them: nothing is rounded.
// CHECK-LABEL: @max
// CHECK-NOT: stablehlo.convert
// CHECK: core.reduce max %x across [0] : (tensor<64xbf16>) -> tensor<bf16>
func.func public @max(%x: tensor<64xbf16>) -> tensor<bf16> {
  %0 = core.reduce max %x across [0] : (tensor<64xbf16>) -> tensor<bf16>
  return %0 : tensor<bf16>
}
