// RUN: wengert-opt %s -p "to-core,fuse,collapse-loops,schedule{target=avx2}" | filecheck %s
// The outermost loop is shared by the thread pool where there is enough to do. One loop is cut into ranges: of equal length if a divisor of its own is
// near, overlapping at the end if not.

// CHECK-LABEL: @rows
// CHECK: schedule<parallel = {chunk = 6, nanoseconds = {{[0-9]+}}}, lanes = 8
func.func @rows(%x: tensor<256x4096xf32>, %b: tensor<256xf32>) -> tensor<256x4096xf32> {
  %0 = stablehlo.broadcast_in_dim %b, dims = [0] : (tensor<256xf32>) -> tensor<256x4096xf32>
  %1 = stablehlo.add %x, %0 : tensor<256x4096xf32>
  return %1 : tensor<256x4096xf32>
}

// CHECK-LABEL: @range
// CHECK: schedule<cut = {loop = 0, size = 32768}, parallel = {chunk = 1, nanoseconds = {{[0-9]+}}}, lanes = 8
func.func @range(%x: tensor<1048576xf32>) -> tensor<1048576xf32> {
  %0 = stablehlo.add %x, %x : tensor<1048576xf32>
  return %0 : tensor<1048576xf32>
}

// CHECK-LABEL: @prime
// CHECK: schedule<cut = {loop = 0, size = {{[0-9]+}}, overlapping}, parallel = {chunk = 1, nanoseconds = {{[0-9]+}}}, lanes = 8
func.func @prime(%x: tensor<1000003xf32>) -> tensor<1000003xf32> {
  %0 = stablehlo.add %x, %x : tensor<1000003xf32>
  return %0 : tensor<1000003xf32>
}

// CHECK-LABEL: @little
// CHECK: schedule<lanes = 8, interleave = 2>
func.func @little(%x: tensor<1000xf32>) -> tensor<1000xf32> {
  %0 = stablehlo.add %x, %x : tensor<1000xf32>
  return %0 : tensor<1000xf32>
}

// Rows that are updated at computed positions: a thread goes through all of them, and updates the elements of its own ranges.
// CHECK-LABEL: @updates
// CHECK: schedule<owned = 4096, parallel = {chunk = 1, nanoseconds = {{[0-9]+}}}, lanes = 8
func.func @updates(%x: tensor<1000x256xf32>, %i: tensor<512x1xi32>, %u: tensor<512x256xf32>) -> tensor<1000x256xf32> {
  %0 = "core.scatter"(%x, %i, %u) <{kind = #core<kind add>, indices_are_sorted = false, unique_indices = false,
    scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}>
    : (tensor<1000x256xf32>, tensor<512x1xi32>, tensor<512x256xf32>) -> tensor<1000x256xf32>
  return %0 : tensor<1000x256xf32>
}
