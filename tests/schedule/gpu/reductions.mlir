// RUN: wengert-opt %s -p "fuse,fission,collapse-loops,schedule{target=sm_90}" | filecheck %s
// RUN: wengert-opt %s -p "fuse,fission,collapse-loops,schedule{target=sm_90 strict=true}" | filecheck %s --check-prefix=STRICT
// RUN: wengert-opt %s -p "fuse,fission,collapse-loops,schedule{target=gfx942}" | filecheck %s --check-prefix=WIDE

// A warp for each row, which reads four elements a thread; eight rows in a group. A warp of AMD's has 64 threads.
// CHECK-LABEL: @rows
// CHECK: gpu_schedule<threads = [0], elements = 4, reduce = {loops = [1], threads = 32, shuffle}, group = 256, positions = i32>
// STRICT-LABEL: @rows
// STRICT: gpu_schedule<threads = [0], serial = [1], group = 256, positions = i32>
// WIDE-LABEL: @rows
// WIDE: reduce = {loops = [1], threads = {{64|128}}}
func.func public @rows(%x: tensor<16384x1024xf32>) -> tensor<16384xf32> {
  %0 = core.reduce add %x across [1] : (tensor<16384x1024xf32>) -> tensor<16384xf32>
  return %0 : tensor<16384xf32>
}

// A group for each of a few long rows.
// CHECK-LABEL: @long_rows
// CHECK: gpu_schedule<threads = [0], elements = 4, reduce = {loops = [1], threads = 256, parts = {{[0-9]+}}, shuffle}, group = 256, positions = i32>
func.func public @long_rows(%x: tensor<16x131072xf32>) -> tensor<16xf32> {
  %0 = core.reduce add %x across [1] : (tensor<16x131072xf32>) -> tensor<16xf32>
  return %0 : tensor<16xf32>
}

// Short sums are a thread's.
// CHECK-LABEL: @short_rows
// CHECK: gpu_schedule<threads = [0], serial = [1], group = 256, positions = i32>
func.func public @short_rows(%x: tensor<16384x10xf32>) -> tensor<16384xf32> {
  %0 = core.reduce add %x across [1] : (tensor<16384x10xf32>) -> tensor<16384xf32>
  return %0 : tensor<16384xf32>
}

// Columns are read in rows: neighbouring threads have neighbouring columns.
// CHECK-LABEL: @columns
// CHECK: gpu_schedule<threads = [1], reduce = {loops = [0], threads = 8, columns, parts = 16}, group = 256, positions = i32>
func.func public @columns(%x: tensor<4096x1024xf32>) -> tensor<1024xf32> {
  %0 = core.reduce add %x across [0] : (tensor<4096x1024xf32>) -> tensor<1024xf32>
  return %0 : tensor<1024xf32>
}

// So many columns that each may have a thread of its own.
// CHECK-LABEL: @many_columns
// CHECK: gpu_schedule<threads = [1], serial = [0], group = 256, positions = i32>
func.func public @many_columns(%x: tensor<128x262144xf32>) -> tensor<262144xf32> {
  %0 = core.reduce add %x across [0] : (tensor<128x262144xf32>) -> tensor<262144xf32>
  return %0 : tensor<262144xf32>
}

// All of it: parts, and a second kernel.
// CHECK-LABEL: @everything
// CHECK: gpu_schedule<elements = 4, reduce = {loops = [0], threads = 256, parts = 512, shuffle}, group = 256, positions = i32>
// STRICT-LABEL: @everything
// STRICT: gpu_schedule<serial = [0], group = 1, positions = i32>
func.func public @everything(%x: tensor<4096x1024xf32>) -> tensor<f32> {
  %0 = core.reduce add %x across [0, 1] : (tensor<4096x1024xf32>) -> tensor<f32>
  return %0 : tensor<f32>
}

// A sum and the elements that it is of are written by one kernel.
// CHECK-LABEL: @stored_too
// CHECK: gpu_schedule<threads = [0], elements = 4, reduce = {loops = [1], threads = 32, shuffle}, group = 256, positions = i32>
// CHECK: kernel.yield store
// CHECK-NEXT: add
func.func public @stored_too(%x: tensor<16384x1024xf32>) -> (tensor<16384x1024xf32>, tensor<16384xf32>) {
  %0 = stablehlo.exponential %x : tensor<16384x1024xf32>
  %1 = core.reduce add %0 across [1] : (tensor<16384x1024xf32>) -> tensor<16384xf32>
  return %0, %1 : tensor<16384x1024xf32>, tensor<16384xf32>
}
