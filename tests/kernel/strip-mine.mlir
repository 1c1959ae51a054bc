// RUN: wengert-opt %s -p "to-core,fuse,strip-mine" | filecheck %s

// A softmax of five megabytes runs five rows at a time: the exponentials of a strip stay in the cache.
// CHECK-LABEL: @softmax
// CHECK: kernel.strip_mine (d0) = (0) to (400)
// CHECK-NEXT: ins(%[[STRIP:.*]] = %x[d0 * 1500]: tensor<2000x300xf64> as tensor<1500xf64>)
// CHECK-NEXT: outs([d0 * 1500]: tensor<2000x300xf64>) {
// CHECK: %[[NUMERATORS:.*]]:2 = kernel.nest (d0, d1) = (0, 0) to (5, 300)
// CHECK: %[[SHARES:.*]] = kernel.nest (d0, d1) = (0, 0) to (5, 300)
// CHECK-NEXT: ins(%{{.*}} = %[[NUMERATORS]]#0: tensor<1500xf64>, %{{.*}} = %[[NUMERATORS]]#1: tensor<5xf64>)
// CHECK: kernel.yield %[[SHARES]] : tensor<1500xf64>
func.func public @softmax(%x: tensor<2000x300xf64>) -> tensor<2000x300xf64> {
  %0 = stablehlo.exponential %x : tensor<2000x300xf64>
  %1 = core.reduce add %0 across [1] : (tensor<2000x300xf64>) -> tensor<2000xf64>
  %2 = stablehlo.broadcast_in_dim %1, dims = [0] : (tensor<2000xf64>) -> tensor<2000x300xf64>
  %3 = stablehlo.divide %0, %2 : tensor<2000x300xf64>
  return %3 : tensor<2000x300xf64>
}

// What fits the first cache is left as it is.
// CHECK-LABEL: @small
// CHECK-NOT: kernel.strip_mine
// CHECK: return
func.func public @small(%x: tensor<20x30xf64>) -> tensor<20x30xf64> {
  %0 = stablehlo.exponential %x : tensor<20x30xf64>
  %1 = core.reduce add %0 across [1] : (tensor<20x30xf64>) -> tensor<20xf64>
  %2 = stablehlo.broadcast_in_dim %1, dims = [0] : (tensor<20xf64>) -> tensor<20x30xf64>
  %3 = stablehlo.divide %0, %2 : tensor<20x30xf64>
  return %3 : tensor<20x30xf64>
}

// Columns are not rows: what one nest writes in a row, the next one needs from all rows.
// CHECK-LABEL: @columns
// CHECK-NOT: kernel.strip_mine
// CHECK: return
func.func public @columns(%x: tensor<2000x300xf64>) -> tensor<2000x300xf64> {
  %0 = stablehlo.exponential %x : tensor<2000x300xf64>
  %1 = core.reduce add %0 across [0] : (tensor<2000x300xf64>) -> tensor<300xf64>
  %2 = stablehlo.broadcast_in_dim %1, dims = [1] : (tensor<300xf64>) -> tensor<2000x300xf64>
  %3 = stablehlo.divide %0, %2 : tensor<2000x300xf64>
  return %3 : tensor<2000x300xf64>
}
