// RUN: wengert-opt %s -p "split-reductions" | filecheck %s

// A million numbers are added up in 125 parts, which can run in parallel and round less, and the parts by a second nest.
// CHECK-LABEL: @long
// CHECK: %[[PARTS:.*]] = kernel.nest (d0, d1) = (0, 0) to (125, 8000) iterators [parallel, reduction]
// CHECK-NEXT: ins(%[[X:.*]] = %x: tensor<1000000xf32>)
// CHECK-NEXT: outs(out0: tensor<125xf32>)
// CHECK: kernel.load %[[X]][d0 * 8000 + d1]
// CHECK: kernel.yield add %{{.*}} to out0[d0]
// CHECK: kernel.nest (d0, d1) = (0, 0) to (125, 1) iterators [reduction, parallel]
// CHECK-NEXT: ins(%{{.*}} = %[[PARTS]]: tensor<125xf32>)
// CHECK-NEXT: outs(out0: tensor<f32>)
func.func public @long(%x: tensor<1000000xf32>) -> tensor<f32> {
  %0 = kernel.nest (d0) = (0) to (1000000) iterators [reduction]
      ins(%a = %x: tensor<1000000xf32>)
      outs(out0: tensor<f32>) {
    %1 = kernel.load %a[d0] : tensor<1000000xf32>
    kernel.yield add %1 to out0[] : f32
  }
  return %0 : tensor<f32>
}

// Sums of rows are parallel already, and short.
// CHECK-LABEL: @rows
// CHECK: kernel.nest (d0, d1) = (0, 0) to (1000, 100) iterators [parallel, reduction]
// CHECK-NOT: kernel.nest
func.func public @rows(%x: tensor<1000x100xf32>) -> tensor<1000xf32> {
  %0 = kernel.nest (d0, d1) = (0, 0) to (1000, 100) iterators [parallel, reduction]
      ins(%a = %x: tensor<1000x100xf32>)
      outs(out0: tensor<1000xf32>) {
    %1 = kernel.load %a[d0, d1] : tensor<1000x100xf32>
    kernel.yield add %1 to out0[d0] : f32
  }
  return %0 : tensor<1000xf32>
}

// A sum of 16-bit floats would be rounded between the parts.
// CHECK-LABEL: @narrow
// CHECK: kernel.nest (d0) = (0) to (1000000) iterators [reduction]
// CHECK-NOT: kernel.nest
func.func public @narrow(%x: tensor<1000000xbf16>) -> tensor<bf16> {
  %0 = kernel.nest (d0) = (0) to (1000000) iterators [reduction]
      ins(%a = %x: tensor<1000000xbf16>)
      outs(out0: tensor<bf16>) {
    %1 = kernel.load %a[d0] : tensor<1000000xbf16>
    kernel.yield add %1 to out0[] : bf16
  }
  return %0 : tensor<bf16>
}

// No number of parts divides a prime number of rows: the nine that are left over continue the sums.
// CHECK-LABEL: @prime
// CHECK: %[[PARTS:.*]] = kernel.nest (d0, d1, d2) = (0, 0, 0) to (40, 25, 1000)
// CHECK: kernel.load %{{.*}}[d0 * 25 + d1, d2] : tensor<1009x1000xf32>
// CHECK: %[[SUMS:.*]] = kernel.nest (d0, d1) = (0, 0) to (40, 1000)
// CHECK: kernel.nest (d0, d1) = (0, 0) to (9, 1000)
// CHECK: outs(out0 = %[[SUMS]]: tensor<1000xf32>)
// CHECK: kernel.load %{{.*}}[d0 + 1000, d1] : tensor<1009x1000xf32>
func.func public @prime(%x: tensor<1009x1000xf32>) -> tensor<1000xf32> {
  %0 = kernel.nest (d0, d1) = (0, 0) to (1009, 1000) iterators [reduction, parallel]
      ins(%a = %x: tensor<1009x1000xf32>)
      outs(out0: tensor<1000xf32>) {
    %1 = kernel.load %a[d0, d1] : tensor<1009x1000xf32>
    kernel.yield add %1 to out0[d1] : f32
  }
  return %0 : tensor<1000xf32>
}
