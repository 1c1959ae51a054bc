// RUN: wengert-opt %s -p "to-core,fuse,collapse-loops,schedule{target=avx512}" | filecheck %s
// A target with longer registers has more lanes.

// CHECK: schedule<lanes = 16>
func.func @main(%x: tensor<40xf32>) -> tensor<40xf32> {
  %0 = stablehlo.add %x, %x : tensor<40xf32>
  return %0 : tensor<40xf32>
}
