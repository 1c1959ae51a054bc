// RUN: wengert-opt %s -p "to-core,fuse,strip-mine" | filecheck %s --check-prefix=STRICT
// RUN: wengert-opt %s -p "to-core,fuse,strip-mine{reassociate=true}" | filecheck %s --check-prefix=FREE

// A sum over all rows may be one for each strip, combined by a nest that follows, if it may be reassociated.
// STRICT-NOT: kernel.strip_mine
// FREE: %[[PARTS:.*]] = kernel.strip_mine (d0) = (0) to (400)
// FREE: outs([d0]: tensor<400xf64>)
// FREE: kernel.nest (d0, d1) = (0, 0) to (400, 1) iterators [reduction, parallel]
// FREE-NEXT: ins(%{{.*}} = %[[PARTS]]: tensor<400xf64>)
func.func public @loss(%x: tensor<2000x300xf64>) -> tensor<f64> {
  %0 = stablehlo.exponential %x : tensor<2000x300xf64>
  %1 = core.reduce add %0 across [1] : (tensor<2000x300xf64>) -> tensor<2000xf64>
  %2 = stablehlo.broadcast_in_dim %1, dims = [0] : (tensor<2000xf64>) -> tensor<2000x300xf64>
  %3 = stablehlo.divide %0, %2 : tensor<2000x300xf64>
  %4 = core.reduce add %3 across [0, 1] : (tensor<2000x300xf64>) -> tensor<f64>
  return %4 : tensor<f64>
}
