// RUN: wengert-opt %s -p "to-core,fuse,schedule{target=gpu},bufferize{target=gpu},kernels-to-gpu,merge-launches" | filecheck %s

// Kernels of one group each become one; the smaller one is done by the first threads, after a barrier.
// CHECK-LABEL: @small
// CHECK: %[[SIZE:.*]] = arith.constant 160 : index
// CHECK: gpu.launch {{.*}} threads(%[[T:.*]], %{{.*}}, %{{.*}}) in (%{{.*}} = %[[SIZE]],
// CHECK: %[[N:.*]] = arith.constant 32 : index
// CHECK: math.exp
// CHECK: gpu.barrier
// CHECK-NEXT: %[[FIRST:.*]] = arith.cmpi ult, %[[T]], %[[N]] : index
// CHECK-NEXT: scf.if %[[FIRST]] {
// CHECK: scf.for
// CHECK-NOT: gpu.launch
func.func public @small(%x: tensor<20x8xf32>) -> (tensor<20x8xf32>, tensor<8xf32>) {
  %0 = stablehlo.exponential %x : tensor<20x8xf32>
  %1 = stablehlo.transpose %0, dims = [1, 0] : (tensor<20x8xf32>) -> tensor<8x20xf32>
  %2 = core.reduce add %1 across [1] : (tensor<8x20xf32>) -> tensor<8xf32>
  %3 = stablehlo.broadcast_in_dim %2, dims = [1] : (tensor<8xf32>) -> tensor<20x8xf32>
  %4 = stablehlo.add %0, %3 : tensor<20x8xf32>
  return %4, %2 : tensor<20x8xf32>, tensor<8xf32>
}

// Several groups do not wait for one another.
// CHECK-LABEL: @large
// CHECK: gpu.launch
// CHECK: gpu.launch
func.func public @large(%x: tensor<200x80xf32>) -> tensor<200x80xf32> {
  %0 = stablehlo.exponential %x : tensor<200x80xf32>
  %1 = core.reduce add %0 across [0] : (tensor<200x80xf32>) -> tensor<80xf32>
  %2 = stablehlo.broadcast_in_dim %1, dims = [1] : (tensor<80xf32>) -> tensor<200x80xf32>
  %3 = stablehlo.add %0, %2 : tensor<200x80xf32>
  return %3 : tensor<200x80xf32>
}

// One group does the work of two, one after the other: 400 elements, and the 100 sums of four of them.
// CHECK-LABEL: @several_groups
// CHECK: gpu.launch
// CHECK: scf.for %[[GROUP:.*]] = %{{.*}} to %{{.*}} step
// CHECK-NEXT: arith.muli %[[GROUP]],
// CHECK: math.exp
// CHECK: gpu.barrier
// CHECK: arith.addf
// CHECK-NOT: gpu.launch
func.func public @several_groups(%x: tensor<100x4xf32>) -> (tensor<100x4xf32>, tensor<100xf32>) {
  %0 = stablehlo.exponential %x : tensor<100x4xf32>
  %1 = stablehlo.reverse %0, dims = [0] : tensor<100x4xf32>
  %2 = core.reduce add %1 across [1] : (tensor<100x4xf32>) -> tensor<100xf32>
  return %0, %2 : tensor<100x4xf32>, tensor<100xf32>
}
