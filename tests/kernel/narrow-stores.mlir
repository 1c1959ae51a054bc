// RUN: wengert-opt %s -p "promote-accumulators,fuse,products-to-nests,narrow-stores" | filecheck %s

// Operands of a product are read as they are, without kernels that widen them.
// CHECK-LABEL: @product
// CHECK-COUNT-1: kernel.nest (d0, d1, d2)
// CHECK: %[[A:.*]] = kernel.load %{{.*}}[d0, d2] : tensor<4x8xbf16>
// CHECK-NEXT: kernel.convert %[[A]] : (bf16) -> f32
// CHECK-NEXT: %[[B:.*]] = kernel.load %{{.*}}[d2, d1] : tensor<8x5xbf16>
// CHECK-NEXT: kernel.convert %[[B]] : (bf16) -> f32
// CHECK: kernel.yield add %{{.*}} to out0[d0, d1] : f32
func.func public @product(%x: tensor<4x8xbf16>, %y: tensor<8x5xbf16>) -> tensor<4x5xbf16> {
  %0 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<4x8xbf16>, tensor<8x5xbf16>) -> tensor<4x5xbf16>
  return %0 : tensor<4x5xbf16>
}

// What is computed before is stored in 16 bits.
// CHECK-LABEL: @computed
// CHECK: outs(out0: tensor<4x8xf16>)
// CHECK: %[[T:.*]] = kernel.tanh %{{.*}} : f16
// CHECK-NEXT: kernel.yield store %[[T]] to out0[d0, d1] : f16
func.func public @computed(%x: tensor<4x8xf16>, %y: tensor<8x5xf16>) -> tensor<4x5xf32> {
  %t = stablehlo.tanh %x : tensor<4x8xf16>
  %0 = stablehlo.dot_general %t, %y, contracting_dims = [1] x [0] : (tensor<4x8xf16>, tensor<8x5xf16>) -> tensor<4x5xf32>
  return %0 : tensor<4x5xf32>
}

// A result of the function keeps its type.
// CHECK-LABEL: @result
// CHECK: outs(out0: tensor<4xf32>)
// CHECK: kernel.convert
// CHECK: kernel.yield store %{{.*}} to out0[d0] : f32
func.func public @result(%x: tensor<4xbf16>) -> tensor<4xf32> {
  %0 = stablehlo.convert %x : (tensor<4xbf16>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
