// RUN: wengert-opt %s -p "to-core,fuse,collapse-loops,schedule{target=avx2}" | filecheck %s
// The innermost loop is cut where padding begins and ends. What is not long enough keeps its masks.

// CHECK-LABEL: @behind
// CHECK: lanes = 8, pieces = [0 to 133, 133 to 270]
func.func @behind(%x: tensor<64x133xf32>) -> tensor<64x270xf32> {
  %c = stablehlo.constant dense<0.5> : tensor<f32>
  %0 = stablehlo.pad %x, %c, low = [0, 0], high = [0, 137], interior = [0, 0] : (tensor<64x133xf32>, tensor<f32>) -> tensor<64x270xf32>
  return %0 : tensor<64x270xf32>
}

// CHECK-LABEL: @both
// CHECK: lanes = 8, pieces = [0 to 3 masked, 3 to 136, 136 to 270]
func.func @both(%x: tensor<64x133xf32>) -> tensor<64x270xf32> {
  %c = stablehlo.constant dense<0.5> : tensor<f32>
  %0 = stablehlo.pad %x, %c, low = [0, 3], high = [0, 134], interior = [0, 0] : (tensor<64x133xf32>, tensor<f32>) -> tensor<64x270xf32>
  return %0 : tensor<64x270xf32>
}

// Short loops keep their masks, unless loops around them run them often: a stencil that is moved through a hundred steps.
// CHECK-LABEL: @once
// CHECK-NOT: pieces
// CHECK: return
func.func @once(%x: tensor<300xf32>) -> tensor<300xf32> {
  %c = stablehlo.constant dense<0.5> : tensor<f32>
  %0 = stablehlo.slice %x [8:300] : (tensor<300xf32>) -> tensor<292xf32>
  %1 = stablehlo.pad %0, %c, low = [0], high = [8], interior = [0] : (tensor<292xf32>, tensor<f32>) -> tensor<300xf32>
  return %1 : tensor<300xf32>
}

// CHECK-LABEL: @often
// CHECK: core.for
// CHECK: lanes = 8, pieces = [0 to 292, 292 to 300 masked]
func.func @often(%x: tensor<300xf32>) -> tensor<300xf32> {
  %n = stablehlo.constant dense<100> : tensor<i64>
  %2 = core.for %i to %n carried(%y = %x: tensor<300xf32>) {
    %c = stablehlo.constant dense<0.5> : tensor<f32>
    %0 = stablehlo.slice %y [8:300] : (tensor<300xf32>) -> tensor<292xf32>
    %1 = stablehlo.pad %0, %c, low = [0], high = [8], interior = [0] : (tensor<292xf32>, tensor<f32>) -> tensor<300xf32>
    stablehlo.return %1 : tensor<300xf32>
  }
  return %2 : tensor<300xf32>
}

// Guards that hold in all iterations cost nothing to decide: one piece without masks.
// CHECK-LABEL: @everywhere
// CHECK: lanes = 8, pieces = [0 to 92]
func.func @everywhere(%x: tensor<92xf32>) -> tensor<92xf32> {
  %0 = kernel.nest (d0) = (0) to (92) iterators [parallel] ins(%a = %x: tensor<92xf32>) outs(out0: tensor<92xf32>) {
    %1 = kernel.load %a[d0] where (0 <= d0 < 92) : tensor<92xf32>
    %2 = kernel.multiply %1, %1 : f32
    kernel.yield store %2 to out0[d0] : f32
  }
  return %0 : tensor<92xf32>
}
