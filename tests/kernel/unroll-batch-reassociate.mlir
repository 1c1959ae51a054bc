// RUN: wengert-opt %s -p "to-core,fuse,unroll-batch" | filecheck %s --check-prefix=STRICT
// RUN: wengert-opt %s -p "to-core,fuse,unroll-batch{reassociate=true}" | filecheck %s --check-prefix=FREE

// A sum over the batch adds up the elements of a row first only if it may be reassociated.
// STRICT: kernel.nest (d0) = (0) to (500)
// STRICT: kernel.nest (d0, d1) = (0, 0) to (500, 3) iterators [reduction, reduction]
// FREE: kernel.nest (d0) = (0) to (500) iterators [reduction]
// FREE: kernel.yield add %{{.*}} to out0[]
// FREE-NOT: kernel.nest
func.func public @main(%x: tensor<500x3xf64>) -> tensor<f64> {
  %0 = stablehlo.multiply %x, %x : tensor<500x3xf64>
  %1 = core.reduce add %0 across [1] : (tensor<500x3xf64>) -> tensor<500xf64>
  %2 = stablehlo.sqrt %1 : tensor<500xf64>
  %3 = stablehlo.broadcast_in_dim %2, dims = [0] : (tensor<500xf64>) -> tensor<500x3xf64>
  %4 = stablehlo.divide %x, %3 : tensor<500x3xf64>
  %5 = core.reduce add %4 across [0, 1] : (tensor<500x3xf64>) -> tensor<f64>
  return %5 : tensor<f64>
}
