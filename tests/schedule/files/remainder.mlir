// RUN: wengert-opt %s -p "to-core,fuse,collapse-loops,schedule{target=avx2}" | filecheck %s
// A long body is there once: the last register begins early enough to end with the loop, and some iterations are repeated.

// CHECK-LABEL: @long
// CHECK: remainder = repeated
func.func @long(%x: tensor<99xf32>, %y: tensor<99xf32>) -> tensor<99xf32> {
  %0 = stablehlo.multiply %x, %y : tensor<99xf32>
  %1 = stablehlo.subtract %0, %y : tensor<99xf32>
  %2 = stablehlo.multiply %1, %x : tensor<99xf32>
  %3 = stablehlo.add %2, %y : tensor<99xf32>
  %4 = stablehlo.multiply %3, %x : tensor<99xf32>
  %5 = stablehlo.subtract %4, %y : tensor<99xf32>
  %6 = stablehlo.multiply %5, %x : tensor<99xf32>
  %7 = stablehlo.add %6, %y : tensor<99xf32>
  %8 = stablehlo.multiply %7, %x : tensor<99xf32>
  %9 = stablehlo.subtract %8, %y : tensor<99xf32>
  %10 = stablehlo.multiply %9, %x : tensor<99xf32>
  %11 = stablehlo.add %10, %y : tensor<99xf32>
  return %11 : tensor<99xf32>
}

// CHECK-LABEL: @light
// CHECK-NOT: remainder
func.func @light(%x: tensor<99xf32>, %y: tensor<99xf32>) -> tensor<99xf32> {
  %0 = stablehlo.multiply %x, %y : tensor<99xf32>
  return %0 : tensor<99xf32>
}
