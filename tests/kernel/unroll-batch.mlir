// RUN: wengert-opt %s -p "unroll-batch" | filecheck %s

// Two nests over the same batch elements become one: the loop over three is unrolled, and the sum stays in a register.
// CHECK-LABEL: @normalised
// CHECK: kernel.nest (d0) = (0) to (40) iterators [parallel]
// CHECK: %[[X0:.*]] = kernel.load %{{.*}}[d0, 0]
// CHECK: %[[X1:.*]] = kernel.load %{{.*}}[d0, 1]
// CHECK: %[[X2:.*]] = kernel.load %{{.*}}[d0, 2]
// CHECK: %[[S0:.*]] = kernel.add %{{.*}}, %[[X0]]
// CHECK: %[[S1:.*]] = kernel.add %[[S0]], %[[X1]]
// CHECK: %[[S2:.*]] = kernel.add %[[S1]], %[[X2]]
// CHECK-COUNT-3: kernel.divide %{{.*}}, %[[S2]]
// CHECK-NOT: kernel.nest
func.func public @normalised(%x: tensor<40x3xf64>) -> tensor<40x3xf64> {
  %0 = kernel.nest (d0, d1) = (0, 0) to (40, 3) iterators [parallel, reduction]
      ins(%a = %x: tensor<40x3xf64>)
      outs(out0: tensor<40xf64>) {
    %2 = kernel.load %a[d0, d1] : tensor<40x3xf64>
    kernel.yield add %2 to out0[d0] : f64
  }
  %1 = kernel.nest (d0, d1) = (0, 0) to (40, 3) iterators [parallel, parallel]
      ins(%a = %x: tensor<40x3xf64>, %s = %0: tensor<40xf64>)
      outs(out0: tensor<40x3xf64>) {
    %2 = kernel.load %a[d0, d1] : tensor<40x3xf64>
    %3 = kernel.load %s[d0] : tensor<40xf64>
    %4 = kernel.divide %2, %3 : f64
    kernel.yield store %4 to out0[d0, d1] : f64
  }
  return %1 : tensor<40x3xf64>
}

// Rows of thirteen fill registers as they are.
// CHECK-LABEL: @long_rows
// CHECK: kernel.nest (d0, d1) = (0, 0) to (40, 13)
// CHECK: kernel.nest (d0, d1) = (0, 0) to (40, 13)
func.func public @long_rows(%x: tensor<40x13xf64>) -> tensor<40x13xf64> {
  %0 = kernel.nest (d0, d1) = (0, 0) to (40, 13) iterators [parallel, reduction]
      ins(%a = %x: tensor<40x13xf64>)
      outs(out0: tensor<40xf64>) {
    %2 = kernel.load %a[d0, d1] : tensor<40x13xf64>
    kernel.yield add %2 to out0[d0] : f64
  }
  %1 = kernel.nest (d0, d1) = (0, 0) to (40, 13) iterators [parallel, parallel]
      ins(%a = %x: tensor<40x13xf64>, %s = %0: tensor<40xf64>)
      outs(out0: tensor<40x13xf64>) {
    %2 = kernel.load %a[d0, d1] : tensor<40x13xf64>
    %3 = kernel.load %s[d0] : tensor<40xf64>
    %4 = kernel.divide %2, %3 : f64
    kernel.yield store %4 to out0[d0, d1] : f64
  }
  return %1 : tensor<40x13xf64>
}
