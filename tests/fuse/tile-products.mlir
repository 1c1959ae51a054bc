// RUN: wengert-opt %s -p "to-core,tile-products{least-bytes=1 rows=32}" | filecheck %s

// Attention over 8 elements of a batch: what is as large as the scores is as large as a tile.
// CHECK-LABEL: @attention
// CHECK-NOT: 8x64x64
// CHECK: kernel.strip_mine (d0) = (0) to (8)
// CHECK-NEXT: ins({{.*}} = %q[d0 * 256]: tensor<8x64x4xf32> as tensor<64x4xf32>
// CHECK: core.for
// CHECK: stablehlo.dynamic_slice {{.*}} sizes = [32, 4]
// CHECK: stablehlo.dot_general {{.*}} -> tensor<1x32x64xf32>
// CHECK: core.reduce add {{.*}} -> tensor<1x32xf32>
// CHECK: stablehlo.dot_general {{.*}} -> tensor<1x32x4xf32>
// CHECK: stablehlo.dynamic_update_slice
// CHECK-NOT: 8x64x64
// CHECK: return
func.func public @attention(%q: tensor<8x64x4xf32>, %k: tensor<8x64x4xf32>, %v: tensor<8x64x4xf32>) -> tensor<8x64x4xf32> {
  %0 = stablehlo.dot_general %q, %k, batching_dims = [0] x [0], contracting_dims = [2] x [2] : (tensor<8x64x4xf32>, tensor<8x64x4xf32>) -> tensor<8x64x64xf32>
  %1 = stablehlo.exponential %0 : tensor<8x64x64xf32>
  %2 = core.reduce add %1 across [2] : (tensor<8x64x64xf32>) -> tensor<8x64xf32>
  %3 = stablehlo.broadcast_in_dim %2, dims = [0, 1] : (tensor<8x64xf32>) -> tensor<8x64x64xf32>
  %4 = stablehlo.divide %1, %3 : tensor<8x64x64xf32>
  %5 = stablehlo.dot_general %4, %v, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<8x64x64xf32>, tensor<8x64x4xf32>) -> tensor<8x64x4xf32>
  return %5 : tensor<8x64x4xf32>
}

// A mask is computed from the positions of the tile.
// CHECK-LABEL: @causal
// CHECK: core.for %[[BLOCK:.*]] to
// CHECK: %[[START:.*]] = stablehlo.multiply %[[BLOCK]]
// CHECK: stablehlo.iota dim = 0 : tensor<32x64xi32>
// CHECK: stablehlo.compare GE
// CHECK: stablehlo.select {{.*}} tensor<1x32x64xf32>
// CHECK: return
func.func public @causal(%q: tensor<8x64x4xf32>, %k: tensor<8x64x4xf32>) -> tensor<8x64xf32> {
  %0 = stablehlo.dot_general %q, %k, batching_dims = [0] x [0], contracting_dims = [2] x [2] : (tensor<8x64x4xf32>, tensor<8x64x4xf32>) -> tensor<8x64x64xf32>
  %rows = stablehlo.iota dim = 0 : tensor<64x64xi32>
  %columns = stablehlo.iota dim = 1 : tensor<64x64xi32>
  %seen = stablehlo.compare GE, %rows, %columns : (tensor<64x64xi32>, tensor<64x64xi32>) -> tensor<64x64xi1>
  %mask = stablehlo.broadcast_in_dim %seen, dims = [1, 2] : (tensor<64x64xi1>) -> tensor<8x64x64xi1>
  %hidden = stablehlo.constant dense<0xFF800000> : tensor<8x64x64xf32>
  %1 = stablehlo.select %mask, %0, %hidden : tensor<8x64x64xi1>, tensor<8x64x64xf32>
  %2 = core.reduce max %1 across [2] : (tensor<8x64x64xf32>) -> tensor<8x64xf32>
  %3 = stablehlo.broadcast_in_dim %2, dims = [0, 1] : (tensor<8x64xf32>) -> tensor<8x64x64xf32>
  %4 = stablehlo.subtract %1, %3 : tensor<8x64x64xf32>
  %5 = stablehlo.dot_general %4, %k, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<8x64x64xf32>, tensor<8x64x4xf32>) -> tensor<8x64x4xf32>
  %6 = core.reduce add %5 across [2] : (tensor<8x64x4xf32>) -> tensor<8x64xf32>
  return %6 : tensor<8x64xf32>
}

// Sums across rows are added up tile by tile only where sums may be reordered.
// CHECK-LABEL: @across
// CHECK-NOT: kernel.strip_mine
// CHECK: return
func.func public @across(%q: tensor<8x64x4xf32>, %k: tensor<8x64x4xf32>, %v: tensor<8x64x4xf32>) -> tensor<8x64x4xf32> {
  %0 = stablehlo.dot_general %q, %k, batching_dims = [0] x [0], contracting_dims = [2] x [2] : (tensor<8x64x4xf32>, tensor<8x64x4xf32>) -> tensor<8x64x64xf32>
  %1 = stablehlo.exponential %0 : tensor<8x64x64xf32>
  %2 = core.reduce max %1 across [2] : (tensor<8x64x64xf32>) -> tensor<8x64xf32>
  %3 = stablehlo.broadcast_in_dim %2, dims = [0, 1] : (tensor<8x64xf32>) -> tensor<8x64x64xf32>
  %4 = stablehlo.divide %1, %3 : tensor<8x64x64xf32>
  %5 = stablehlo.dot_general %4, %v, batching_dims = [0] x [0], contracting_dims = [1] x [1] : (tensor<8x64x64xf32>, tensor<8x64x4xf32>) -> tensor<8x64x4xf32>
  return %5 : tensor<8x64x4xf32>
}
