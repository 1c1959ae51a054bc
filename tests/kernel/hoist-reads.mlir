// RUN: wengert-opt %s -p "hoist-reads" | filecheck %s

// The nest that reads %0 goes before the one that overwrites a part of it, which then need not copy.
// CHECK-LABEL: @behind
// CHECK: %[[OLD:.*]] = kernel.nest
// CHECK: kernel.cosine
// CHECK: outs(out0 = %[[OLD]]: tensor<100xf64>)
func.func public @behind(%x: tensor<100xf64>, %y: tensor<10xf64>) -> (tensor<100xf64>, tensor<100xf64>) {
  %0 = kernel.nest (d0) = (0) to (100) iterators [parallel]
      ins(%a = %x: tensor<100xf64>)
      outs(out0: tensor<100xf64>) {
    %3 = kernel.load %a[d0] : tensor<100xf64>
    %4 = kernel.sine %3 : f64
    kernel.yield store %4 to out0[d0] : f64
  }
  %1 = kernel.nest (d0) = (0) to (10) iterators [parallel]
      ins(%a = %y: tensor<10xf64>)
      outs(out0 = %0: tensor<100xf64>) {
    %3 = kernel.load %a[d0] : tensor<10xf64>
    kernel.yield store %3 to out0[d0 + 5] : f64
  }
  %2 = kernel.nest (d0) = (0) to (100) iterators [parallel]
      ins(%a = %0: tensor<100xf64>)
      outs(out0: tensor<100xf64>) {
    %3 = kernel.load %a[d0] : tensor<100xf64>
    %4 = kernel.cosine %3 : f64
    kernel.yield store %4 to out0[d0] : f64
  }
  return %1, %2 : tensor<100xf64>, tensor<100xf64>
}

// What reads both the old and the new array has to come after the change.
// CHECK-LABEL: @both
// CHECK: %[[OLD:.*]] = kernel.nest
// CHECK: outs(out0 = %[[OLD]]: tensor<100xf64>)
// CHECK: kernel.subtract
func.func public @both(%x: tensor<100xf64>, %y: tensor<10xf64>) -> (tensor<100xf64>, tensor<100xf64>) {
  %0 = kernel.nest (d0) = (0) to (100) iterators [parallel]
      ins(%a = %x: tensor<100xf64>)
      outs(out0: tensor<100xf64>) {
    %3 = kernel.load %a[d0] : tensor<100xf64>
    %4 = kernel.sine %3 : f64
    kernel.yield store %4 to out0[d0] : f64
  }
  %1 = kernel.nest (d0) = (0) to (10) iterators [parallel]
      ins(%a = %y: tensor<10xf64>)
      outs(out0 = %0: tensor<100xf64>) {
    %3 = kernel.load %a[d0] : tensor<10xf64>
    kernel.yield store %3 to out0[d0 + 5] : f64
  }
  %2 = kernel.nest (d0) = (0) to (100) iterators [parallel]
      ins(%a = %0: tensor<100xf64>, %b = %1: tensor<100xf64>)
      outs(out0: tensor<100xf64>) {
    %3 = kernel.load %a[d0] : tensor<100xf64>
    %4 = kernel.load %b[d0] : tensor<100xf64>
    %5 = kernel.subtract %3, %4 : f64
    kernel.yield store %5 to out0[d0] : f64
  }
  return %1, %2 : tensor<100xf64>, tensor<100xf64>
}
