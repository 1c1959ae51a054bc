// RUN: wengert-opt %s -p "schedule{target=gpu},bufferize{target=gpu},kernels-to-gpu" | filecheck %s

// A team of two threads adds up, each every second element, and one of them adds both totals.
// CHECK-LABEL: @rows
// CHECK: gpu.launch {{.*}} workgroup(%[[PART:.*]]: memref<4xf32, 3>)
// CHECK: %[[SUM:.*]] = scf.for %{{.*}} = %{{.*}} to %{{.*}} step %{{.*}} iter_args(%[[SO_FAR:.*]] = %{{.*}}) -> (f32) {
// CHECK: %[[X:.*]] = memref.load
// CHECK: %[[NEXT:.*]] = arith.addf %[[SO_FAR]], %[[X]] : f32
// CHECK-NEXT: scf.yield %[[NEXT]] : f32
// CHECK: memref.store %[[SUM]], %[[PART]]
// CHECK-NEXT: gpu.barrier
// CHECK: scf.if
// CHECK: %[[MINE:.*]] = memref.load %[[PART]]
// CHECK-NEXT: %[[OTHER:.*]] = memref.load %[[PART]]
// CHECK-NEXT: %[[BOTH:.*]] = arith.addf %[[MINE]], %[[OTHER]] : f32
// CHECK-NEXT: memref.store %[[BOTH]], %[[PART]]
// CHECK: scf.if
// CHECK: %[[TOTAL:.*]] = memref.load %[[PART]]
// CHECK: memref.store %[[TOTAL]], %{{.*}} : memref<6xf32, 1>
func.func public @rows(%x: tensor<6x40xf32>) -> tensor<6xf32> {
  %0 = kernel.nest (d0, d1) = (0, 0) to (6, 40) iterators [parallel, reduction]
      ins(%a = %x: tensor<6x40xf32>)
      outs(out0: tensor<6xf32>)
      gpu_schedule<threads = [0], reduce = {loops = [1], threads = 2}, group = 4, positions = i32> {
    %1 = kernel.load %a[d0, d1] : tensor<6x40xf32>
    kernel.yield add %1 to out0[d0] : f32
  }
  return %0 : tensor<6xf32>
}

// A 16-bit float is added up in f32 and rounded once.
// CHECK-LABEL: @rounded
// CHECK: scf.for {{.*}} -> (f32) {
// CHECK: arith.extf %{{.*}} : bf16 to f32
// CHECK: arith.addf %{{.*}} : f32
// CHECK: arith.truncf %{{.*}} : f32 to bf16
// CHECK-NEXT: memref.store
func.func public @rounded(%x: tensor<6x40xbf16>) -> tensor<6xbf16> {
  %0 = kernel.nest (d0, d1) = (0, 0) to (6, 40) iterators [parallel, reduction]
      ins(%a = %x: tensor<6x40xbf16>)
      outs(out0: tensor<6xbf16>)
      gpu_schedule<threads = [0], serial = [1], group = 6, positions = i32> {
    %1 = kernel.load %a[d0, d1] : tensor<6x40xbf16>
    kernel.yield add %1 to out0[d0] : bf16
  }
  return %0 : tensor<6xbf16>
}

// Two kernels where a sum has parts: the totals of the parts lie in scratch memory between them.
// CHECK-LABEL: @parts
// CHECK: %[[SCRATCH:.*]] = kernel.view %{{.*}}[0] : {{.*}} to memref<3xf64, 1>
// CHECK: gpu.launch
// CHECK: memref.store %{{.*}}, %[[SCRATCH]]
// CHECK: gpu.launch
// CHECK: memref.load %[[SCRATCH]]
// CHECK: memref.store %{{.*}} : memref<1xf64, 1>
func.func public @parts(%x: tensor<400xf64>) -> tensor<f64> {
  %0 = kernel.nest (d0) = (0) to (400) iterators [reduction]
      ins(%a = %x: tensor<400xf64>)
      outs(out0: tensor<f64>)
      gpu_schedule<reduce = {loops = [0], threads = 4, parts = 3}, group = 4, positions = i32> {
    %1 = kernel.load %a[d0] : tensor<400xf64>
    kernel.yield add %1 to out0[] : f64
  }
  return %0 : tensor<f64>
}

// What is combined in memory begins with neutral elements, which a kernel before it writes.
// CHECK-LABEL: @in_memory
// CHECK: gpu.launch
// CHECK: memref.store %{{.*}}, %[[OUT:.*]][%{{.*}}] : memref<5xf32, 1>
// CHECK: gpu.launch
// CHECK: %[[OLD:.*]] = memref.load %[[OUT]]
// CHECK-NEXT: %[[NEW:.*]] = arith.addf %[[OLD]]
// CHECK-NEXT: memref.store %[[NEW]], %[[OUT]]
func.func public @in_memory(%x: tensor<30xf32>, %i: tensor<30xi32>) -> tensor<5xf32> {
  %0 = kernel.nest (d0) = (0) to (30) iterators [reduction]
      ins(%a = %x: tensor<30xf32>, %b = %i: tensor<30xi32>)
      outs(out0: tensor<5xf32>)
      gpu_schedule<serial = [0], group = 1, positions = i32> {
    %1 = kernel.load %a[d0] : tensor<30xf32>
    %2 = kernel.load %b[d0] : tensor<30xi32>
    kernel.yield add %1 to out0[%2] : f32, i32
  }
  return %0 : tensor<5xf32>
}

// Integers may be added by atomic operations.
// CHECK-LABEL: @atomic
// CHECK: memref.atomic_rmw addi %{{.*}} : (i32, memref<5xi32, 1>) -> i32
func.func public @atomic(%x: tensor<30xi32>, %i: tensor<30xi32>) -> tensor<5xi32> {
  %0 = kernel.nest (d0) = (0) to (30) iterators [reduction]
      ins(%a = %x: tensor<30xi32>, %b = %i: tensor<30xi32>)
      outs(out0: tensor<5xi32>)
      gpu_schedule<threads = [0], atomic, group = 32, positions = i32> {
    %1 = kernel.load %a[d0] : tensor<30xi32>
    %2 = kernel.load %b[d0] : tensor<30xi32>
    kernel.yield add %1 to out0[%2] : i32, i32
  }
  return %0 : tensor<5xi32>
}

// Both factors go through workgroup memory, between barriers.
// CHECK-LABEL: @tiles
// CHECK: gpu.launch {{.*}} workgroup(%[[A:.*]]: memref<32xf32, 3>, %[[B:.*]]: memref<32xf32, 3>)
// CHECK: scf.for {{.*}} iter_args({{.*}}) -> (f32, f32) {
// CHECK: memref.store %{{.*}}, %[[A]]
// CHECK: memref.store %{{.*}}, %[[B]]
// CHECK: gpu.barrier
// CHECK-NEXT: scf.for
// CHECK: memref.load %[[A]]
// CHECK: memref.load %[[B]]
// CHECK: arith.mulf {{.*}} fastmath<contract> : f32
// CHECK: arith.addf {{.*}} fastmath<contract> : f32
// CHECK: gpu.barrier
func.func public @tiles(%x: tensor<16x12xf32>, %y: tensor<12x8xf32>) -> tensor<16x8xf32> {
  %0 = kernel.nest (d0, d1, d2) = (0, 0, 0) to (16, 8, 12) iterators [parallel, parallel, reduction]
      ins(%a = %x: tensor<16x12xf32>, %b = %y: tensor<12x8xf32>)
      outs(out0: tensor<16x8xf32>)
      gpu_schedule<tile = {loops = [0, 1, 2], size = [4, 4, 4], thread = [1, 2]}, group = 8, positions = i32> {
    %1 = kernel.load %a[d0, d2] : tensor<16x12xf32>
    %2 = kernel.load %b[d2, d1] : tensor<12x8xf32>
    %3 = kernel.multiply %1, %2 : f32
    kernel.yield add %3 to out0[d0, d1] : f32
  }
  return %0 : tensor<16x8xf32>
}
