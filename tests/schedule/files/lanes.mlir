// RUN: wengert-opt %s -p "to-core,fuse,collapse-loops,schedule{target=avx2}" | filecheck %s
// A register of 32 bytes holds eight f32 or four f64; a loop of three iterations has four lanes.

// CHECK-LABEL: @single
// CHECK: schedule<lanes = 8>
func.func @single(%x: tensor<40xf32>) -> tensor<40xf32> {
  %0 = stablehlo.add %x, %x : tensor<40xf32>
  return %0 : tensor<40xf32>
}

// CHECK-LABEL: @double
// CHECK: schedule<lanes = 4>
func.func @double(%x: tensor<40xf64>) -> tensor<40xf64> {
  %0 = stablehlo.add %x, %x : tensor<40xf64>
  return %0 : tensor<40xf64>
}

// CHECK-LABEL: @short
// CHECK: schedule<lanes = 4>
func.func @short(%x: tensor<3xf32>) -> tensor<3xf32> {
  %0 = stablehlo.add %x, %x : tensor<3xf32>
  return %0 : tensor<3xf32>
}

// A nest without loops has the neutral schedule.
// CHECK-LABEL: @scalar
// CHECK: schedule<>
func.func @scalar(%x: tensor<f32>) -> tensor<f32> {
  %0 = stablehlo.add %x, %x : tensor<f32>
  return %0 : tensor<f32>
}
