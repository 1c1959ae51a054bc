// RUN: wengert-opt %s -p "unroll-phases" | filecheck %s

// Every other element is zero: the even and the odd ones are computed side by side, and no guard is left.
// CHECK-LABEL: @dilated
// CHECK: kernel.nest (d0) = (0) to (1000) iterators [parallel]
// CHECK: %[[EVEN:.*]] = kernel.load %{{.*}}[d0] : tensor<1000xf32>
// CHECK-NOT: kernel.within
// CHECK: %[[ODD:.*]] = kernel.constant 0.000000e+00
// CHECK: kernel.yield store %[[EVEN]] to out0[d0 * 2]
// CHECK-NEXT: store %[[ODD]] to out0[d0 * 2 + 1]
func.func public @dilated(%x: tensor<1000xf32>) -> tensor<2000xf32> {
  %0 = kernel.nest (d0) = (0) to (2000) iterators [parallel]
      ins(%a = %x: tensor<1000xf32>)
      outs(out0: tensor<2000xf32>) {
    %1 = kernel.load %a[d0 floordiv 2] where (0 <= d0 mod 2 < 1) : tensor<1000xf32>
    %2 = kernel.constant 0.000000e+00 : f32
    %3 = kernel.within (0 <= d0 mod 2 < 1) : i1
    %4 = kernel.select %3, %1, %2 : f32
    kernel.yield store %4 to out0[d0] : f32
  }
  return %0 : tensor<2000xf32>
}

// An odd number of elements leaves one for a nest of its own, which writes into the same array.
// CHECK-LABEL: @rest
// CHECK: %[[PAIRS:.*]] = kernel.nest (d0) = (0) to (999) iterators [parallel]
// CHECK: kernel.nest (d0) = (0) to (1) iterators [parallel]
// CHECK: outs(out0 = %[[PAIRS]]: tensor<1999xf32>)
func.func public @rest(%x: tensor<1000xf32>) -> tensor<1999xf32> {
  %0 = kernel.nest (d0) = (0) to (1999) iterators [parallel]
      ins(%a = %x: tensor<1000xf32>)
      outs(out0: tensor<1999xf32>) {
    %1 = kernel.load %a[d0 floordiv 2] where (0 <= d0 mod 2 < 1) : tensor<1000xf32>
    %2 = kernel.constant 0.000000e+00 : f32
    %3 = kernel.within (0 <= d0 mod 2 < 1) : i1
    %4 = kernel.select %3, %1, %2 : f32
    kernel.yield store %4 to out0[d0] : f32
  }
  return %0 : tensor<1999xf32>
}
