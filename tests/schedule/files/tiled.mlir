// RUN: wengert-opt %s -p "to-core,fuse,collapse-loops,schedule{target=avx2}" | filecheck %s
// What is read transposed is read in tiles; the loop along which it is contiguous is moved next to the innermost one.

// CHECK-LABEL: @matrix
// CHECK: schedule<lanes = 8, tiled>
func.func @matrix(%x: tensor<24x40xf32>) -> tensor<40x24xf32> {
  %0 = stablehlo.transpose %x, dims = [1, 0] : (tensor<24x40xf32>) -> tensor<40x24xf32>
  return %0 : tensor<40x24xf32>
}

// CHECK-LABEL: @stack
// CHECK: schedule<order = [1, 0, 2], lanes = 8, tiled>
func.func @stack(%x: tensor<24x5x40xf32>) -> tensor<40x5x24xf32> {
  %0 = stablehlo.transpose %x, dims = [2, 1, 0] : (tensor<24x5x40xf32>) -> tensor<40x5x24xf32>
  return %0 : tensor<40x5x24xf32>
}

// Loops of three iterations are not worth it.
// CHECK-LABEL: @narrow
// CHECK-NOT: tiled
func.func @narrow(%x: tensor<3x40xf32>) -> tensor<40x3xf32> {
  %0 = stablehlo.transpose %x, dims = [1, 0] : (tensor<3x40xf32>) -> tensor<40x3xf32>
  return %0 : tensor<40x3xf32>
}
