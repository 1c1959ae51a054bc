// RUN: wengert-opt %s -p "to-core,fuse,products-to-nests,collapse-loops,schedule{target=gpu},bufferize{target=gpu},kernels-to-gpu" | filecheck %s

// Whole groups ask nothing; the last group of others asks whether a thread has an element.
// CHECK-LABEL: @whole
// CHECK: %[[X:.*]] = kernel.view %x[0] : memref<64x4xf32> to memref<256xf32, 1>
// CHECK: gpu.launch
// CHECK-NOT: scf.if
// CHECK: %[[V:.*]] = memref.load %[[X]][%[[I:.*]]] : memref<256xf32, 1>
// CHECK-NEXT: %[[E:.*]] = math.exp %[[V]] : f32
// CHECK-NEXT: memref.store %[[E]], %{{.*}}[%[[I]]] : memref<256xf32, 1>
// CHECK-NEXT: gpu.terminator
func.func public @whole(%x: tensor<64x4xf32>) -> tensor<64x4xf32> {
  %0 = stablehlo.exponential %x : tensor<64x4xf32>
  return %0 : tensor<64x4xf32>
}

// CHECK-LABEL: @part
// CHECK: %[[IN:.*]] = arith.cmpi ult
// CHECK-NEXT: scf.if %[[IN]] {
// CHECK: memref.store
func.func public @part(%x: tensor<41xf32>) -> tensor<41xf32> {
  %0 = stablehlo.sine %x : tensor<41xf32>
  return %0 : tensor<41xf32>
}

// Integers have no sign; what an op does to them says it. What has no op is a call.
// CHECK-LABEL: @integers
// CHECK: arith.maxui %{{.*}}, %{{.*}} : i32
// CHECK: call @wg.divide.ui32.ui32.ui32(%{{.*}}, %{{.*}}) : (i32, i32) -> i32
func.func public @integers(%x: tensor<64xui32>, %y: tensor<64xui32>) -> tensor<64xui32> {
  %0 = stablehlo.maximum %x, %y : tensor<64xui32>
  %1 = stablehlo.divide %0, %y : tensor<64xui32>
  return %1 : tensor<64xui32>
}

// A guard is a branch that reads, or zero.
// CHECK-LABEL: @padded
// CHECK: %[[HOLDS:.*]] = arith.cmpi ult
// CHECK-NEXT: %{{.*}} = scf.if %[[HOLDS]] -> (f32) {
// CHECK-NEXT: memref.load
// CHECK: arith.select %[[HOLDS]]
func.func public @padded(%x: tensor<60xf32>) -> tensor<64xf32> {
  %c = stablehlo.constant dense<0.5> : tensor<f32>
  %0 = stablehlo.pad %x, %c, low = [3], high = [1], interior = [0] : (tensor<60xf32>, tensor<f32>) -> tensor<64xf32>
  return %0 : tensor<64xf32>
}

// A nest that overwrites what it reads has one buffer.
// CHECK-LABEL: @in_place
// CHECK: gpu.launch
// CHECK: gpu.launch
// CHECK: %[[V:.*]] = memref.load %[[B:.*]][%[[I:.*]]] : memref<64xf32, 1>
// CHECK-NEXT: %[[T:.*]] = math.tanh %[[V]] : f32
// CHECK-NEXT: memref.store %[[T]], %[[B]][%[[I]]] : memref<64xf32, 1>
func.func public @in_place(%x: tensor<8x8xf32>, %y: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %0 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %1 = stablehlo.tanh %0 : tensor<8x8xf32>
  %2 = stablehlo.dot_general %1, %y, contracting_dims = [1] x [0] : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  return %2 : tensor<8x8xf32>
}

// Integers of four bits are bytes whose upper half is zero; those from 8 on are negative.
// CHECK-LABEL: @narrow
// CHECK: kernel.view %x[0] : memref<64xi4> to memref<64xi8, 1>
// CHECK: gpu.launch
// CHECK: %[[BYTE:.*]] = memref.load %{{.*}} : memref<64xi8, 1>
// CHECK: %[[LIFTED:.*]] = arith.xori %[[BYTE]], %[[EIGHT:.*]] : i8
// CHECK: %[[NUMBER:.*]] = arith.subi %[[LIFTED]], %[[EIGHT]] : i8
// CHECK: arith.sitofp %[[NUMBER]] : i8 to f32
func.func public @narrow(%x: tensor<64xi4>) -> tensor<64xf32> {
  %0 = stablehlo.convert %x : (tensor<64xi4>) -> tensor<64xf32>
  return %0 : tensor<64xf32>
}

// CHECK: func.func private @wg.divide.ui32.ui32.ui32(i32, i32) -> i32
