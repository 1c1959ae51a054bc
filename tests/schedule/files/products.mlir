// RUN: wengert-opt %s -p "to-core,fuse,schedule{target=avx2}" | filecheck %s
// Each product has the kernel for its layout and sizes, a tile that fits the registers, and parts for threads where they pay.

// CHECK-LABEL: @rows
// CHECK: schedule<tile = {rows = 5, columns = 2, lanes = 8}> :
func.func @rows(%x: tensor<5x40xf32>, %y: tensor<40x50xf32>) -> tensor<5x50xf32> {
  %0 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<5x40xf32>, tensor<40x50xf32>) -> tensor<5x50xf32>
  return %0 : tensor<5x50xf32>
}

// The columns of the second operand are not neighbours.
// CHECK-LABEL: @packed
// CHECK: schedule<kernel = packed, tile = {rows = 2, columns = 5, lanes = 8}> :
func.func @packed(%x: tensor<53x50xf32>, %y: tensor<40x50xf32>) -> tensor<53x40xf32> {
  %0 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [1] : (tensor<53x50xf32>, tensor<40x50xf32>) -> tensor<53x40xf32>
  return %0 : tensor<53x40xf32>
}

// CHECK-LABEL: @dot
// CHECK: schedule<kernel = dot, turned, tile = {rows = 4, columns = 3, lanes = 8}> :
func.func @dot(%x: tensor<60x70xf32>, %y: tensor<70x3xf32>) -> tensor<60x3xf32> {
  %0 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<60x70xf32>, tensor<70x3xf32>) -> tensor<60x3xf32>
  return %0 : tensor<60x3xf32>
}

// A small tile is there several times, since its sums wait for one another.
// CHECK-LABEL: @exchanged
// CHECK: schedule<exchanged, tile = {rows = 1, columns = 4, lanes = 8}, accumulators = 8> :
func.func @exchanged(%x: tensor<70x60xf32>, %y: tensor<70x1xf32>) -> tensor<60x1xf32> {
  %0 = stablehlo.dot_general %x, %y, contracting_dims = [0] x [0] : (tensor<70x60xf32>, tensor<70x1xf32>) -> tensor<60x1xf32>
  return %0 : tensor<60x1xf32>
}

// CHECK-LABEL: @converted
// CHECK: schedule<tile = {rows = 5, columns = 2, lanes = 8}> :
func.func @converted(%x: tensor<5x40xbf16>, %y: tensor<40x50xbf16>) -> tensor<5x50xbf16> {
  %0 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<5x40xbf16>, tensor<40x50xbf16>) -> tensor<5x50xbf16>
  return %0 : tensor<5x50xbf16>
}

// CHECK-LABEL: @copied
// CHECK: schedule<copied = [lhs], tile = {rows = 5, columns = 2, lanes = 8}> :
func.func @copied(%x: tensor<40x5x6xf32>, %y: tensor<40x6x50xf32>) -> tensor<5x50xf32> {
  %0 = stablehlo.dot_general %x, %y, contracting_dims = [0, 2] x [0, 1] : (tensor<40x5x6xf32>, tensor<40x6x50xf32>) -> tensor<5x50xf32>
  return %0 : tensor<5x50xf32>
}

// CHECK-LABEL: @complex
// CHECK: schedule<kernel = scalar> :
func.func @complex(%x: tensor<5x4xcomplex<f32>>, %y: tensor<4x5xcomplex<f32>>) -> tensor<5x5xcomplex<f32>> {
  %0 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<5x4xcomplex<f32>>, tensor<4x5xcomplex<f32>>) -> tensor<5x5xcomplex<f32>>
  return %0 : tensor<5x5xcomplex<f32>>
}

// CHECK-LABEL: @empty
// CHECK: schedule<kernel = zero> :
func.func @empty(%x: tensor<5x0xf32>, %y: tensor<0x5xf32>) -> tensor<5x5xf32> {
  %0 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<5x0xf32>, tensor<0x5xf32>) -> tensor<5x5xf32>
  return %0 : tensor<5x5xf32>
}

// CHECK-LABEL: @large
// CHECK: schedule<kernel = blocked, tile = {rows = 6, columns = 2, lanes = 4}, blocks = {rows = 54, columns = 176, depth = 96}, together = 704, parallel = {over = blocks, chunk = 1, nanoseconds = {{[0-9]+}}}> :
func.func @large(%x: tensor<640x600xf64>, %y: tensor<600x700xf64>) -> tensor<640x700xf64> {
  %0 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<640x600xf64>, tensor<600x700xf64>) -> tensor<640x700xf64>
  return %0 : tensor<640x700xf64>
}

// CHECK-LABEL: @batch
// CHECK: parallel = {over = loop, chunk = 5, nanoseconds = {{[0-9]+}}}> :
func.func @batch(%x: tensor<100x32x32xf32>, %y: tensor<100x32x32xf32>) -> tensor<100x32x32xf32> {
  %0 = stablehlo.dot_general %x, %y, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<100x32x32xf32>, tensor<100x32x32xf32>) -> tensor<100x32x32xf32>
  return %0 : tensor<100x32x32xf32>
}

// The last part is smaller than the others, and has a tile of its own where as much of the others' as fits is not the best one for it.
// CHECK-LABEL: @last
// CHECK: last = {rows = {{[0-9]+}}, columns = {{[0-9]+}}, lanes = {{[0-9]+}}}, {{.*}}parallel = {over = columns,
func.func @last(%x: tensor<100x100xf32>, %y: tensor<100x130xf32>) -> tensor<100x130xf32> {
  %0 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<100x100xf32>, tensor<100x130xf32>) -> tensor<100x130xf32>
  return %0 : tensor<100x130xf32>
}

// Two loops around a product, since its operands lie in other orders: threads share all iterations of both.
// CHECK-LABEL: @loops
// CHECK: parallel = {over = loops, chunk = {{[0-9]+}}, nanoseconds = {{[0-9]+}}}> :
func.func @loops(%x: tensor<4x128x4x64xf64>, %y: tensor<4x4x64x128xf64>) -> tensor<4x4x128x128xf64> {
  %0 = stablehlo.dot_general %x, %y, batching_dims = [0, 2] x [0, 1], contracting_dims = [3] x [2] : (tensor<4x128x4x64xf64>, tensor<4x4x64x128xf64>) -> tensor<4x4x128x128xf64>
  return %0 : tensor<4x4x128x128xf64>
}
