// RUN: wengert-opt %s -p "fuse" | filecheck %s

// A chain of elementwise ops is one nest, which reads and writes each element once.
// CHECK-LABEL: @chain
// CHECK: kernel.nest (d0, d1) = (0, 0) to (8, 128) iterators [parallel, parallel]
// CHECK-NEXT: ins(%[[X:.*]] = %x: tensor<8x128xf32>)
// CHECK: %[[ELEMENT:.*]] = kernel.load %[[X]][d0, d1]
// CHECK: %[[SUM:.*]] = kernel.add %{{.*}}, %[[ELEMENT]]
// CHECK-NEXT: kernel.yield store %[[SUM]] to out0[d0, d1]
// CHECK-NOT: kernel.nest
func.func public @chain(%x: tensor<8x128xf32>) -> tensor<8x128xf32> {
  %0 = stablehlo.exponential %x : tensor<8x128xf32>
  %1 = stablehlo.negate %0 : tensor<8x128xf32>
  %2 = stablehlo.add %1, %x : tensor<8x128xf32>
  return %2 : tensor<8x128xf32>
}

// An expensive value that two nests need is stored by the first.
// CHECK-LABEL: @expensive
// CHECK: %[[BOTH:.*]]:2 = kernel.nest
// CHECK: kernel.tanh
// CHECK: kernel.nest
// CHECK-NEXT: ins(%{{.*}} = %[[BOTH]]#0: tensor<64x32xf32>)
// CHECK-NOT: kernel.tanh
// CHECK: return
func.func public @expensive(%x: tensor<64x32xf32>) -> (tensor<64x32xf32>, tensor<32x64xf32>) {
  %a = stablehlo.tanh %x : tensor<64x32xf32>
  %b = stablehlo.add %a, %x : tensor<64x32xf32>
  %c = stablehlo.transpose %a, dims = [1, 0] : (tensor<64x32xf32>) -> tensor<32x64xf32>
  return %b, %c : tensor<64x32xf32>, tensor<32x64xf32>
}

// A cheap one is computed in both.
// CHECK-LABEL: @cheap
// CHECK: kernel.nest
// CHECK: kernel.negate
// CHECK: kernel.nest
// CHECK-NEXT: ins(%{{.*}} = %x: tensor<64x32xf32>)
// CHECK: kernel.negate
func.func public @cheap(%x: tensor<64x32xf32>) -> (tensor<64x32xf32>, tensor<32x64xf32>) {
  %a = stablehlo.negate %x : tensor<64x32xf32>
  %b = stablehlo.add %a, %x : tensor<64x32xf32>
  %c = stablehlo.transpose %a, dims = [1, 0] : (tensor<64x32xf32>) -> tensor<32x64xf32>
  return %b, %c : tensor<64x32xf32>, tensor<32x64xf32>
}
