// RUN: wengert-opt %s -p "to-core,fuse,schedule{target=avx512}" | filecheck %s
// RUN: wengert-opt %s -p "to-core,fuse,schedule{target=avx2}" | filecheck %s --check-prefix=QUICK
// Processors that compute slowly with subnormal numbers have the panels of large products of floats made normal.

// CHECK-LABEL: @floats
// CHECK: schedule<kernel = blocked, tile = {rows = 14, columns = 2, lanes = 16}, blocks = {{{[^}]*}}}, together = {{[0-9]+}}, normalised, parallel
// QUICK-LABEL: @floats
// QUICK: schedule<kernel = blocked,
// QUICK-NOT: normalised
func.func @floats(%x: tensor<640x600xf32>, %y: tensor<600x700xf32>) -> tensor<640x700xf32> {
  %0 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<640x600xf32>, tensor<600x700xf32>) -> tensor<640x700xf32>
  return %0 : tensor<640x700xf32>
}

// CHECK-LABEL: @integers
// CHECK: schedule<kernel = blocked
// CHECK-NOT: normalised
func.func @integers(%x: tensor<640x600xi32>, %y: tensor<600x700xi32>) -> tensor<640x700xi32> {
  %0 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<640x600xi32>, tensor<600x700xi32>) -> tensor<640x700xi32>
  return %0 : tensor<640x700xi32>
}
