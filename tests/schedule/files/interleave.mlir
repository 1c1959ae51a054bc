// RUN: wengert-opt %s -p "to-core,fuse,collapse-loops,schedule{target=avx2}" | filecheck %s
// Functions that are long chains of operations are computed for two or four registers at once, where there are many.

// CHECK-LABEL: @two
// CHECK: schedule<lanes = 8, interleave = 2>
func.func @two(%x: tensor<1024xf32>) -> tensor<1024xf32> {
  %0 = stablehlo.tanh %x : tensor<1024xf32>
  return %0 : tensor<1024xf32>
}

// CHECK-LABEL: @four
// CHECK: lanes = 8, interleave = 4>
func.func @four(%x: tensor<32768xf32>) -> tensor<32768xf32> {
  %0 = stablehlo.tanh %x : tensor<32768xf32>
  return %0 : tensor<32768xf32>
}

// CHECK-LABEL: @one
// CHECK: schedule<lanes = 8>
func.func @one(%x: tensor<128xf32>) -> tensor<128xf32> {
  %0 = stablehlo.tanh %x : tensor<128xf32>
  return %0 : tensor<128xf32>
}
