// RUN: wengert-opt %s -p "to-core,promote-accumulators{target=zen4},convert-operands{target=zen4},fuse,schedule{target=zen4}" | filecheck %s
// RUN: wengert-opt %s -p "to-core,promote-accumulators{target=avx512},convert-operands{target=avx512},fuse,schedule{target=avx512}" | filecheck %s --check-prefix=SINGLE
// Panels of large products hold pairs where the processor multiplies them quickly; elsewhere elements are converted when they are copied, or before.

// CHECK-LABEL: @floats
// CHECK: kernel.matmul %x, %y
// CHECK: schedule<kernel = blocked, tile = {rows = 14, columns = 2, lanes = 16}, blocks = {{{[^}]*}}}, together = {{[0-9]+}}, paired, parallel
// CHECK-SAME: (tensor<640x600xbf16>, tensor<600x700xbf16>) -> tensor<640x700xf32>
// SINGLE-LABEL: @floats
// SINGLE: kernel.matmul %x, %y
// SINGLE-NOT: paired
// SINGLE: return
func.func @floats(%x: tensor<640x600xbf16>, %y: tensor<600x700xbf16>) -> tensor<640x700xbf16> {
  %0 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<640x600xbf16>, tensor<600x700xbf16>) -> tensor<640x700xbf16>
  return %0 : tensor<640x700xbf16>
}

// CHECK-LABEL: @integers
// CHECK: kernel.matmul %x, %y
// CHECK: schedule<kernel = blocked{{.*}} paired
// SINGLE-LABEL: @integers
// SINGLE: kernel.convert
// SINGLE: kernel.matmul {{.*}}
// SINGLE-NOT: paired
// SINGLE: return
func.func @integers(%x: tensor<128x128xi8>, %y: tensor<128x128xi8>) -> tensor<128x128xi32> {
  %0 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<128x128xi8>, tensor<128x128xi8>) -> tensor<128x128xi32>
  return %0 : tensor<128x128xi32>
}
