// RUN: wengert-opt %s -p "to-core,fuse,schedule{target=zen4}" | filecheck %s
// Few rows by a transposed matrix: the transposed product, whose vectors lie along the rows, reads the matrix as it lies. Rows whose distance is a multiple of
// 4096 bytes share a set of the first-level cache, so that a tile has eight of them. Many rows are worth turning it.

// CHECK-LABEL: @logits
// CHECK: kernel = packed, exchanged, tile = {rows = 14, columns = 2, lanes = 16}
func.func @logits(%x: tensor<20x768xf32>, %w: tensor<30522x768xf32>) -> tensor<20x30522xf32> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [1] : (tensor<20x768xf32>, tensor<30522x768xf32>) -> tensor<20x30522xf32>
  return %0 : tensor<20x30522xf32>
}

// CHECK-LABEL: @far_rows
// CHECK: kernel = packed, exchanged, tile = {rows = 8, columns = 1, lanes = 16}
func.func @far_rows(%x: tensor<16x2048xf32>, %w: tensor<512x2048xf32>) -> tensor<16x512xf32> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [1] : (tensor<16x2048xf32>, tensor<512x2048xf32>) -> tensor<16x512xf32>
  return %0 : tensor<16x512xf32>
}

// CHECK-LABEL: @many_rows
// CHECK: kernel = blocked
// CHECK-NOT: exchanged
func.func @many_rows(%x: tensor<64x768xf32>, %w: tensor<512x768xf32>) -> tensor<64x512xf32> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [1] : (tensor<64x768xf32>, tensor<512x768xf32>) -> tensor<64x512xf32>
  return %0 : tensor<64x512xf32>
}
