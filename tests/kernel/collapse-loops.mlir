// RUN: wengert-opt %s -p "collapse-loops" | filecheck %s

// Neighbouring loops that every access walks through as one become one.
// CHECK-LABEL: @merged
// CHECK: kernel.nest (d0) = (0) to (1024)
func.func @merged(%x: tensor<8x128xf32>) -> tensor<8x128xf32> {
  %0 = kernel.nest (d0, d1) = (0, 0) to (8, 128) iterators [parallel, parallel]
      ins(%a = %x: tensor<8x128xf32>) outs(out0: tensor<8x128xf32>) {
    %1 = kernel.load %a[d0, d1] : tensor<8x128xf32>
    %2 = kernel.negate %1 : f32
    kernel.yield store %2 to out0[d0, d1] : f32
  }
  return %0 : tensor<8x128xf32>
}

// A loop of one iteration goes; a row that is read in every iteration of the outer loop keeps the two apart.
// CHECK-LABEL: @kept_apart
// CHECK: kernel.nest (d0, d1) = (0, 0) to (8, 128)
func.func @kept_apart(%x: tensor<8x1x128xf32>, %w: tensor<128xf32>) -> tensor<8x1x128xf32> {
  %0 = kernel.nest (d0, d1, d2) = (0, 0, 0) to (8, 1, 128) iterators [parallel, parallel, parallel]
      ins(%a = %x: tensor<8x1x128xf32>, %b = %w: tensor<128xf32>) outs(out0: tensor<8x1x128xf32>) {
    %1 = kernel.load %a[d0, d1, d2] : tensor<8x1x128xf32>
    %2 = kernel.load %b[d2] : tensor<128xf32>
    %3 = kernel.add %1, %2 : f32
    kernel.yield store %3 to out0[d0, d1, d2] : f32
  }
  return %0 : tensor<8x1x128xf32>
}

// A loop that occurs only divided by a constant becomes two.
// CHECK-LABEL: @split
// CHECK: kernel.nest (d0, d1) = (0, 0) to (50, 2)
// CHECK: kernel.load %{{.*}}[d0]
func.func @split(%x: tensor<50xf32>) -> tensor<100xf32> {
  %0 = kernel.nest (d0) = (0) to (100) iterators [parallel]
      ins(%a = %x: tensor<50xf32>) outs(out0: tensor<100xf32>) {
    %1 = kernel.load %a[d0 floordiv 2] : tensor<50xf32>
    kernel.yield store %1 to out0[d0] : f32
  }
  return %0 : tensor<100xf32>
}

// A nest that has a schedule stays as it is: the schedule names its loops.
// CHECK-LABEL: @scheduled
// CHECK: kernel.nest (d0, d1) = (0, 0) to (8, 128)
func.func @scheduled(%x: tensor<8x128xf32>) -> tensor<8x128xf32> {
  %0 = kernel.nest (d0, d1) = (0, 0) to (8, 128) iterators [parallel, parallel]
      ins(%a = %x: tensor<8x128xf32>) outs(out0: tensor<8x128xf32>) schedule <lanes = 8> {
    %1 = kernel.load %a[d0, d1] : tensor<8x128xf32>
    %2 = kernel.negate %1 : f32
    kernel.yield store %2 to out0[d0, d1] : f32
  }
  return %0 : tensor<8x128xf32>
}
