// RUN: wengert-opt %s -p "to-core,fuse,unroll-batch" | filecheck %s

// Passes on kernels go into loops and branches by themselves.
// CHECK: core.for
// CHECK: kernel.nest (d0) = (0) to (40) iterators [parallel]
// CHECK-NOT: kernel.nest
// CHECK: return
func.func public @main(%x: tensor<40x3xf64>, %n: tensor<i64>) -> tensor<40x3xf64> {
  %0 = core.for %i to %n carried(%y = %x: tensor<40x3xf64>) {
    %1 = core.reduce add %y across [1] : (tensor<40x3xf64>) -> tensor<40xf64>
    %2 = stablehlo.broadcast_in_dim %1, dims = [0] : (tensor<40xf64>) -> tensor<40x3xf64>
    %3 = stablehlo.divide %y, %2 : tensor<40x3xf64>
    stablehlo.return %3 : tensor<40x3xf64>
  }
  return %0 : tensor<40x3xf64>
}
