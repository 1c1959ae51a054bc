// RUN: wengert-opt %s -p "elide-copies" | filecheck %s

// A value that is used and copied into a row is computed there.
// CHECK-LABEL: @recorded
// CHECK: core.for %[[I:.*]] to
// CHECK-NEXT: %[[NEW:.*]] = kernel.nest (d0) = (0) to (200) iterators [parallel]
// CHECK-NEXT: ins(%{{.*}} = %y: tensor<200xf64>, %[[N:.*]] = %[[I]]: tensor<i64>)
// CHECK-NEXT: outs(out0 = %s: tensor<5x200xf64>)
// CHECK: kernel.load %[[N]][] : tensor<i64>
// CHECK: %[[BASE:.*]] = kernel.multiply
// CHECK: kernel.yield store %{{.*}} to out0[%[[BASE]] + d0] : f64, i64
// CHECK: kernel.nest (d0) = (0) to (200) iterators [parallel]
// CHECK-NEXT: ins(%[[ROWS:.*]] = %[[NEW]]: tensor<5x200xf64>, %{{.*}} = %[[I]]: tensor<i64>)
// CHECK: %[[AGAIN:.*]] = kernel.multiply
// CHECK: kernel.load %[[ROWS]][%[[AGAIN]] - d0 + 199] : tensor<5x200xf64>, i64
// CHECK-NOT: kernel.nest
// CHECK: stablehlo.return %{{.*}}, %[[NEW]]
func.func public @recorded(%x: tensor<200xf64>, %stack: tensor<5x200xf64>) -> (tensor<200xf64>, tensor<5x200xf64>) {
  %k = stablehlo.constant dense<5> : tensor<i64>
  %0:2 = core.for %i to %k carried(%y = %x: tensor<200xf64>, %s = %stack: tensor<5x200xf64>) {
    %1 = kernel.nest (d0) = (0) to (200) iterators [parallel]
        ins(%a = %y: tensor<200xf64>)
        outs(out0: tensor<200xf64>) {
      %4 = kernel.load %a[d0] : tensor<200xf64>
      %5 = kernel.sine %4 : f64
      kernel.yield store %5 to out0[d0] : f64
    }
    %2 = kernel.nest (d0) = (0) to (200) iterators [parallel]
        ins(%a = %1: tensor<200xf64>)
        outs(out0: tensor<200xf64>) {
      %4 = kernel.load %a[-d0 + 199] : tensor<200xf64>
      %5 = kernel.tanh %4 : f64
      kernel.yield store %5 to out0[d0] : f64
    }
    %3 = kernel.nest (d0) = (0) to (200) iterators [parallel]
        ins(%a = %1: tensor<200xf64>, %n = %i: tensor<i64>)
        outs(out0 = %s: tensor<5x200xf64>) {
      %4 = kernel.load %a[d0] : tensor<200xf64>
      %5 = kernel.load %n[] : tensor<i64>
      %6 = kernel.constant 200 : i64
      %7 = kernel.multiply %5, %6 : i64
      kernel.yield store %4 to out0[%7 + d0] : f64, i64
    }
    stablehlo.return %2, %3 : tensor<200xf64>, tensor<5x200xf64>
  }
  return %0#0, %0#1 : tensor<200xf64>, tensor<5x200xf64>
}

// An array that no loop carries may be somebody else's.
// CHECK-LABEL: @not_carried
// CHECK-COUNT-2: kernel.nest
// CHECK: return
func.func public @not_carried(%x: tensor<200xf64>, %y: tensor<5x200xf64>) -> (tensor<200xf64>, tensor<5x200xf64>) {
  %0 = kernel.nest (d0) = (0) to (200) iterators [parallel]
      ins(%a = %x: tensor<200xf64>)
      outs(out0: tensor<200xf64>) {
    %2 = kernel.load %a[d0] : tensor<200xf64>
    %3 = kernel.sine %2 : f64
    kernel.yield store %3 to out0[d0] : f64
  }
  %1 = kernel.nest (d0) = (0) to (200) iterators [parallel]
      ins(%a = %0: tensor<200xf64>)
      outs(out0 = %y: tensor<5x200xf64>) {
    %2 = kernel.load %a[d0] : tensor<200xf64>
    kernel.yield store %2 to out0[d0 + 400] : f64
  }
  return %0, %1 : tensor<200xf64>, tensor<5x200xf64>
}
