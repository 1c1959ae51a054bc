// RUN: wengert-opt %s -p "to-core,fuse,bufferize{target=avx2}" | filecheck %s
// Results are memory of the caller, and written there at once. One that is returned twice, or that is an input, is copied at the end.

// CHECK-LABEL: @twice
// CHECK-SAME:  (%x: memref<4xf32>, %out: memref<4xf32> {kernel.result}, %out_0: memref<4xf32> {kernel.result}) {
// CHECK:       outs(%out: memref<4xf32>)
// CHECK:       kernel.copy %out, %out_0 : memref<4xf32> to memref<4xf32>
// CHECK-NEXT:  return
func.func @twice(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = stablehlo.tanh %x : tensor<4xf32>
  return %0, %0 : tensor<4xf32>, tensor<4xf32>
}

// CHECK-LABEL: @an_input
// CHECK-SAME:  (%x: memref<2x3xf32> {wengert.name = "x"}, %out: memref<6xf32> {kernel.result, wengert.name = "flat"}) {
// CHECK-NEXT:  %0 = kernel.view %x[0] : memref<2x3xf32> to memref<6xf32>
// CHECK-NEXT:  kernel.copy %0, %out : memref<6xf32> to memref<6xf32>
// CHECK-NEXT:  return
func.func @an_input(%x: tensor<2x3xf32> {wengert.name = "x"}) -> (tensor<6xf32> {wengert.name = "flat"}) {
  %0 = stablehlo.reshape %x : (tensor<2x3xf32>) -> tensor<6xf32>
  return %0 : tensor<6xf32>
}
