// RUN: wengert-opt %s | filecheck %s
// Once buffers are chosen a nest reads and writes memrefs, and has no results.

// CHECK-LABEL: func.func @in_place
// CHECK:         kernel.nest (d0) = (0) to (5) iterators [parallel]
// CHECK-NEXT:        ins(%a = %x: memref<5xf32>)
// CHECK-NEXT:        outs(out0 = %y: memref<2x5xf32>) {
// CHECK-NEXT:      %0 = kernel.load %a[d0] : memref<5xf32>
// CHECK-NEXT:      kernel.yield store %0 to out0[1, d0] : f32
func.func @in_place(%x: memref<5xf32>, %y: memref<2x5xf32>) {
  kernel.nest (d0) = (0) to (5) iterators [parallel] ins(%a = %x: memref<5xf32>) outs(out0 = %y: memref<2x5xf32>) {
    %0 = kernel.load %a[d0] : memref<5xf32>
    kernel.yield store %0 to out0[1, d0] : f32
  }
  return
}
