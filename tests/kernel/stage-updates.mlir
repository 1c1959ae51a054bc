// RUN: wengert-opt %s -p "stage-updates" | filecheck %s

// A row is computed from its neighbour: the new elements are computed first, and written by a nest that reads nothing else of the array.
// CHECK-LABEL: @row
// CHECK: %[[ALL:.*]] = kernel.nest (d0) = (0) to (2000)
// CHECK: %[[NEW:.*]] = kernel.nest (d0) = (0) to (50) iterators [parallel]
// CHECK-NEXT: ins(%[[OLD:.*]] = %[[ALL]]: tensor<40x50xf64>)
// CHECK-NEXT: outs(out0: tensor<50xf64>)
// CHECK-NEXT: kernel.load %[[OLD]][1, d0]
// CHECK: kernel.nest (d0) = (0) to (50) iterators [parallel]
// CHECK-NEXT: ins(%{{.*}} = %[[NEW]]: tensor<50xf64>)
// CHECK-NEXT: outs(out0 = %[[ALL]]: tensor<40x50xf64>)
// CHECK: kernel.yield store %{{.*}} to out0[2, d0]
func.func public @row(%x: tensor<40x50xf64>) -> tensor<40x50xf64> {
  %0 = kernel.nest (d0) = (0) to (2000) iterators [parallel]
      ins(%a = %x: tensor<40x50xf64>)
      outs(out0: tensor<40x50xf64>) {
    %2 = kernel.load %a[d0] : tensor<40x50xf64>
    %3 = kernel.sine %2 : f64
    kernel.yield store %3 to out0[d0] : f64
  }
  %1 = kernel.nest (d0) = (0) to (50) iterators [parallel]
      ins(%a = %0: tensor<40x50xf64>)
      outs(out0 = %0: tensor<40x50xf64>) {
    %2 = kernel.load %a[1, d0] : tensor<40x50xf64>
    %3 = kernel.tanh %2 : f64
    kernel.yield store %3 to out0[2, d0] : f64
  }
  return %1 : tensor<40x50xf64>
}

// An element is replaced by a function of itself: that is in place already.
// CHECK-LABEL: @same_row
// CHECK: kernel.nest (d0) = (0) to (2000)
// CHECK: kernel.nest (d0) = (0) to (50)
// CHECK-NOT: kernel.nest
func.func public @same_row(%x: tensor<40x50xf64>) -> tensor<40x50xf64> {
  %0 = kernel.nest (d0) = (0) to (2000) iterators [parallel]
      ins(%a = %x: tensor<40x50xf64>)
      outs(out0: tensor<40x50xf64>) {
    %2 = kernel.load %a[d0] : tensor<40x50xf64>
    %3 = kernel.sine %2 : f64
    kernel.yield store %3 to out0[d0] : f64
  }
  %1 = kernel.nest (d0) = (0) to (50) iterators [parallel]
      ins(%a = %0: tensor<40x50xf64>)
      outs(out0 = %0: tensor<40x50xf64>) {
    %2 = kernel.load %a[2, d0] : tensor<40x50xf64>
    %3 = kernel.tanh %2 : f64
    kernel.yield store %3 to out0[2, d0] : f64
  }
  return %1 : tensor<40x50xf64>
}
