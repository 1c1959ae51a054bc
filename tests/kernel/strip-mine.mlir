// RUN: wengert-opt %s -p "to-core,fuse,strip-mine" | filecheck %s

// A softmax of five megabytes runs four rows at a time: the exponentials of a strip stay in the cache.
// CHECK-LABEL: @softmax
// CHECK: kernel.strip_mine (d0) = (0) to (500)
// CHECK-NEXT: ins(%[[STRIP:.*]] = %x[d0 * 1200]: tensor<2000x300xf64> as tensor<1200xf64>)
// CHECK-NEXT: outs([d0 * 1200]: tensor<2000x300xf64>) {
// CHECK: %[[NUMERATORS:.*]]:2 = kernel.nest (d0, d1) = (0, 0) to (4, 300)
// CHECK: %[[SHARES:.*]] = kernel.nest (d0, d1) = (0, 0) to (4, 300)
// CHECK-NEXT: ins(%{{.*}} = %[[NUMERATORS]]#0: tensor<1200xf64>, %{{.*}} = %[[NUMERATORS]]#1: tensor<4xf64>)
// CHECK: kernel.yield %[[SHARES]] : tensor<1200xf64>
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

// Nothing large passes between the nests of a layer norm, but all three read the rows: they read them from memory once.
// CHECK-LABEL: @layer_norm
// CHECK: kernel.strip_mine (d0) = (0) to (64)
// CHECK-NEXT: ins(%[[X:.*]] = %x[d0 * 2048]: tensor<512x256xf32> as tensor<2048xf32>
// CHECK: %[[SUM:.*]] = kernel.nest (d0, d1) = (0, 0) to (8, 256) iterators [parallel, reduction]
// CHECK-NEXT: ins(%{{.*}} = %[[X]]: tensor<2048xf32>)
// CHECK: %[[SQUARES:.*]] = kernel.nest (d0, d1) = (0, 0) to (8, 256) iterators [parallel, reduction]
// CHECK-NEXT: ins(%{{.*}} = %[[X]]: tensor<2048xf32>, %{{.*}} = %[[SUM]]: tensor<8xf32>)
// CHECK: %[[NORMAL:.*]] = kernel.nest (d0, d1) = (0, 0) to (8, 256) iterators [parallel, parallel]
// CHECK-NEXT: ins(%{{.*}} = %[[X]]: tensor<2048xf32>, %{{.*}} = %[[SUM]]: tensor<8xf32>, %{{.*}} = %[[SQUARES]]: tensor<8xf32>)
// CHECK: kernel.yield %[[NORMAL]] : tensor<2048xf32>
func.func public @layer_norm(%x: tensor<512x256xf32>) -> tensor<512x256xf32> {
  %share = stablehlo.constant dense<0.00390625> : tensor<512xf32>
  %0 = core.reduce add %x across [1] : (tensor<512x256xf32>) -> tensor<512xf32>
  %1 = stablehlo.multiply %0, %share : tensor<512xf32>
  %2 = stablehlo.broadcast_in_dim %1, dims = [0] : (tensor<512xf32>) -> tensor<512x256xf32>
  %3 = stablehlo.subtract %x, %2 : tensor<512x256xf32>
  %4 = stablehlo.multiply %3, %3 : tensor<512x256xf32>
  %5 = core.reduce add %4 across [1] : (tensor<512x256xf32>) -> tensor<512xf32>
  %6 = stablehlo.multiply %5, %share : tensor<512xf32>
  %7 = stablehlo.rsqrt %6 : tensor<512xf32>
  %8 = stablehlo.broadcast_in_dim %7, dims = [0] : (tensor<512xf32>) -> tensor<512x256xf32>
  %9 = stablehlo.multiply %3, %8 : tensor<512x256xf32>
  return %9 : tensor<512x256xf32>
}
