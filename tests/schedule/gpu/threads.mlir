// RUN: wengert-opt %s -p "to-core,fuse,fission,collapse-loops,schedule{target=sm_90}" | filecheck %s
// Loops whose iterations write different elements are shared by threads.

// 16 bytes for a thread at a time, where there are threads enough.
// CHECK-LABEL: @streaming
// CHECK: gpu_schedule<threads = [0], elements = 4, group = 256, positions = i32>
func.func @streaming(%x: tensor<4096x1024xf32>) -> tensor<4096x1024xf32> {
  %0 = stablehlo.add %x, %x : tensor<4096x1024xf32>
  return %0 : tensor<4096x1024xf32>
}

// CHECK-LABEL: @double
// CHECK: gpu_schedule<threads = [0], elements = 2, group = 256, positions = i32>
func.func @double(%x: tensor<4096x1024xf64>) -> tensor<4096x1024xf64> {
  %0 = stablehlo.add %x, %x : tensor<4096x1024xf64>
  return %0 : tensor<4096x1024xf64>
}

// The last thread has fewer where the loop is no multiple.
// CHECK-LABEL: @odd
// CHECK: gpu_schedule<threads = [0], elements = 4, group = 256, positions = i32>
func.func @odd(%x: tensor<4194303xf32>) -> tensor<4194303xf32> {
  %0 = stablehlo.add %x, %x : tensor<4194303xf32>
  return %0 : tensor<4194303xf32>
}

// Few threads have one element each, in a group of whole warps.
// CHECK-LABEL: @small
// CHECK: gpu_schedule<threads = [0], group = 64, positions = i32>
func.func @small(%x: tensor<40xf32>) -> tensor<40xf32> {
  %0 = stablehlo.add %x, %x : tensor<40xf32>
  return %0 : tensor<40xf32>
}

// Neighbouring threads read neighbours, in two loads, rather than write them in one store.
// CHECK-LABEL: @transposed_twice
// CHECK: gpu_schedule<threads = [1, 0], group = 256, positions = i32>
func.func @transposed_twice(%x: tensor<512x512xf32>, %y: tensor<512x512xf32>) -> tensor<512x512xf32> {
  %0 = stablehlo.transpose %x, dims = [1, 0] : (tensor<512x512xf32>) -> tensor<512x512xf32>
  %1 = stablehlo.transpose %y, dims = [1, 0] : (tensor<512x512xf32>) -> tensor<512x512xf32>
  %2 = stablehlo.add %0, %1 : tensor<512x512xf32>
  return %2 : tensor<512x512xf32>
}

// What is read transposed goes through workgroup memory in squares, if there is much of it.
// CHECK-LABEL: @transposed
// CHECK: gpu_schedule<threads = [0, 1], transpose = {loop = 0, side = 32}, group = 256, positions = i32>
func.func @transposed(%x: tensor<512x512xf32>, %y: tensor<512x512xf32>) -> tensor<512x512xf32> {
  %0 = stablehlo.transpose %x, dims = [1, 0] : (tensor<512x512xf32>) -> tensor<512x512xf32>
  %1 = stablehlo.add %0, %y : tensor<512x512xf32>
  return %1 : tensor<512x512xf32>
}

// What does not fit into 32 bits has positions of 64.
// CHECK-LABEL: @large
// CHECK: positions = i64>
func.func @large(%x: tensor<65536x32768xi8>) -> tensor<65536x32768xi8> {
  %0 = stablehlo.add %x, %x : tensor<65536x32768xi8>
  return %0 : tensor<65536x32768xi8>
}

// A nest without loops is one thread.
// CHECK-LABEL: @scalar
// CHECK: gpu_schedule<group = 1, positions = i32>
func.func @scalar(%x: tensor<f32>) -> tensor<f32> {
  %0 = stablehlo.add %x, %x : tensor<f32>
  return %0 : tensor<f32>
}
