// RUN: wengert-opt %s -p "fuse" | filecheck %s

// What has code of its own is a native op, and what has none runs in the interpreter; both hold the op.
// CHECK-LABEL: @native
// CHECK: kernel.native ins(%[[A:.*]] = %x: tensor<8x8xf32>)
// CHECK-NEXT: stablehlo.cholesky %[[A]]
// CHECK: kernel.interpret ins(%[[B:.*]] = %x: tensor<8x8xf32>)
// CHECK-NEXT: stablehlo.convert %[[B]] : (tensor<8x8xf32>) -> tensor<8x8xi2>
func.func public @native(%x: tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xi2>) {
  %0 = stablehlo.cholesky %x, lower = true : tensor<8x8xf32>
  %1 = stablehlo.convert %x : (tensor<8x8xf32>) -> tensor<8x8xi2>
  return %0, %1 : tensor<8x8xf32>, tensor<8x8xi2>
}

// Loops and branches stay, with kernels inside.
// CHECK-LABEL: @loop
// CHECK: core.for
// CHECK: kernel.nest (d0) = (0) to (40)
// CHECK: kernel.sine
// CHECK: stablehlo.return
// CHECK-NOT: stablehlo.sine
func.func public @loop(%x: tensor<40xf64>, %n: tensor<i64>) -> tensor<40xf64> {
  %0 = core.for %i to %n carried(%y = %x: tensor<40xf64>) {
    %1 = stablehlo.sine %y : tensor<40xf64>
    stablehlo.return %1 : tensor<40xf64>
  }
  return %0 : tensor<40xf64>
}
