// RUN: wengert-opt %s -p "fuse" | filecheck %s

// A reduction joins the nest that computes what it reduces; both results come out of it.
// CHECK-LABEL: @outputs
// CHECK: %[[BOTH:.*]]:2 = kernel.nest (d0, d1) = (0, 0) to (8, 128) iterators [parallel, reduction]
// CHECK: %[[E:.*]] = kernel.exponential
// CHECK-NEXT: kernel.yield store %[[E]] to out0[d0, d1] : f32,
// CHECK-NEXT: add %[[E]] to out1[d0] : f32
// CHECK: return %[[BOTH]]#0, %[[BOTH]]#1
func.func public @outputs(%x: tensor<8x128xf32>) -> (tensor<8x128xf32>, tensor<8xf32>) {
  %0 = stablehlo.exponential %x : tensor<8x128xf32>
  %1 = core.reduce add %0 across [1] : (tensor<8x128xf32>) -> tensor<8xf32>
  return %0, %1 : tensor<8x128xf32>, tensor<8xf32>
}

// A softmax is three nests: what combines a row ends one.
// CHECK-LABEL: @softmax
// CHECK: kernel.yield max
// CHECK: kernel.yield store
// CHECK-NEXT: add
// CHECK: kernel.divide
// CHECK-NOT: kernel.nest
func.func public @softmax(%x: tensor<8x128xf32>) -> tensor<8x128xf32> {
  %m = core.reduce max %x across [1] : (tensor<8x128xf32>) -> tensor<8xf32>
  %mb = stablehlo.broadcast_in_dim %m, dims = [0] : (tensor<8xf32>) -> tensor<8x128xf32>
  %d = stablehlo.subtract %x, %mb : tensor<8x128xf32>
  %e = stablehlo.exponential %d : tensor<8x128xf32>
  %s = core.reduce add %e across [1] : (tensor<8x128xf32>) -> tensor<8xf32>
  %sb = stablehlo.broadcast_in_dim %s, dims = [0] : (tensor<8xf32>) -> tensor<8x128xf32>
  %y = stablehlo.divide %e, %sb : tensor<8x128xf32>
  return %y : tensor<8x128xf32>
}
