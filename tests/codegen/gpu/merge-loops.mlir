// RUN: wengert-opt %s -p "to-core,fuse,schedule{target=gpu},bufferize{target=gpu},kernels-to-gpu,merge-launches" | filecheck %s

// A counted loop of one group: the number of the iteration is a value, what is carried is copied back at the end of the body, all accesses that meet have a
// barrier between them, and the last of them one before the next iteration.
// CHECK-LABEL: @counted
// CHECK: %[[OUT:.*]] = kernel.view %out[0]
// CHECK: %[[NEXT:.*]] = kernel.view %arena[0]
// CHECK: gpu.launch {{.*}} threads(%[[T:.*]], %{{.*}}, %{{.*}}) in
// CHECK-NOT: workgroup
// CHECK: %[[COUNT:.*]] = arith.constant 5 : index
// CHECK: memref.store %{{.*}}, %[[OUT]][%[[T]]]
// CHECK: gpu.barrier
// CHECK-NEXT: scf.for %[[I:.*]] = %{{.*}} to %[[COUNT]] step
// CHECK-NEXT: arith.index_cast %[[I]] : index to i64
// CHECK: memref.load %[[OUT]]
// CHECK: memref.store %{{.*}}, %[[NEXT]]
// CHECK: gpu.barrier
// CHECK: %[[MOVED:.*]] = memref.load %[[NEXT]]
// CHECK-NEXT: memref.store %[[MOVED]], %[[OUT]]
// CHECK: gpu.barrier
// CHECK-NEXT: }
// CHECK-NEXT: gpu.terminator
// CHECK-NOT: gpu.launch
// CHECK: func.func
func.func public @counted(%x: tensor<20xf32>) -> tensor<20xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i64>
  %one = stablehlo.constant dense<1> : tensor<i64>
  %count = stablehlo.constant dense<5> : tensor<i64>
  %0:2 = stablehlo.while(%i = %zero, %y = %x) : tensor<i64>, tensor<20xf32> cond {
    %c = stablehlo.compare LT, %i, %count : (tensor<i64>, tensor<i64>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %f = stablehlo.convert %i : (tensor<i64>) -> tensor<f32>
    %b = stablehlo.broadcast_in_dim %f, dims = [] : (tensor<f32>) -> tensor<20xf32>
    %r = stablehlo.reverse %y, dims = [0] : tensor<20xf32>
    %s = stablehlo.add %r, %b : tensor<20xf32>
    %n = stablehlo.add %i, %one : tensor<i64>
    stablehlo.return %n, %s : tensor<i64>, tensor<20xf32>
  }
  return %0#1 : tensor<20xf32>
}

// One thread alone has its cells for itself, and waits for nobody.
// CHECK-LABEL: @newton
// CHECK: gpu.launch
// CHECK-COUNT-3: memref.alloca()
// CHECK-NOT: gpu.barrier
// CHECK: scf.while () : () -> () {
// CHECK: arith.cmpf ogt
// CHECK: scf.condition
// CHECK: arith.divf
// CHECK-NOT: gpu.barrier
// CHECK: gpu.terminator
func.func public @newton(%a: tensor<f32>) -> tensor<f32> {
  %half = stablehlo.constant dense<0.5> : tensor<f32>
  %tol = stablehlo.constant dense<1.0e-3> : tensor<f32>
  %0 = stablehlo.while(%y = %a) : tensor<f32> cond {
    %s = stablehlo.multiply %y, %y : tensor<f32>
    %d = stablehlo.subtract %s, %a : tensor<f32>
    %e = stablehlo.abs %d : tensor<f32>
    %c = stablehlo.compare GT, %e, %tol : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %q = stablehlo.divide %a, %y : tensor<f32>
    %s = stablehlo.add %q, %y : tensor<f32>
    %n = stablehlo.multiply %s, %half : tensor<f32>
    stablehlo.return %n : tensor<f32>
  }
  return %0 : tensor<f32>
}

// Eight threads add up the squares, in a group of 64: all pass the barriers between. The condition is a cell in memory of the group, which all threads read.
// CHECK-LABEL: @norms
// CHECK: gpu.launch {{.*}} workgroup(%[[PARTS:.*]]: memref<8xf32, 3>, %{{.*}}: memref<1xf32, 3>, %[[HOLDS:.*]]: memref<1xi1, 3>)
// CHECK: %[[IN:.*]] = arith.cmpi ult, %{{.*}}, %{{.*}} : index
// CHECK: scf.while
// CHECK: scf.if %[[IN]] {
// CHECK: scf.for
// CHECK: memref.store %{{.*}}, %[[PARTS]]
// CHECK-NEXT: }
// CHECK-NEXT: gpu.barrier
// CHECK: scf.if %[[IN]] {
// CHECK-NEXT: scf.if
// CHECK: memref.store %{{.*}}, %[[HOLDS]]
// CHECK-NEXT: }
// CHECK-NEXT: gpu.barrier
// CHECK-NEXT: %[[GOES_ON:.*]] = memref.load %[[HOLDS]]
// CHECK-NEXT: scf.condition(%[[GOES_ON]])
func.func public @norms(%x: tensor<64xf32>) -> tensor<64xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %one = stablehlo.constant dense<1.0> : tensor<f32>
  %half = stablehlo.constant dense<0.5> : tensor<f32>
  %h = stablehlo.broadcast_in_dim %half, dims = [] : (tensor<f32>) -> tensor<64xf32>
  %0 = stablehlo.while(%y = %x) : tensor<64xf32> cond {
    %q = stablehlo.multiply %y, %y : tensor<64xf32>
    %s = stablehlo.reduce(%q init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<64xf32>, tensor<f32>) -> tensor<f32>
    %c = stablehlo.compare GT, %s, %one : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %n = stablehlo.multiply %y, %h : tensor<64xf32>
    %r = stablehlo.reverse %n, dims = [0] : tensor<64xf32>
    stablehlo.return %r : tensor<64xf32>
  }
  return %0 : tensor<64xf32>
}

// All threads read the index, and act in one branch. The barrier that one needs stands outside of it: all threads pass it, whatever they do.
// CHECK-LABEL: @branches
// CHECK: gpu.launch
// CHECK: %[[INDEX:.*]] = memref.load %{{.*}} : memref<1xi32, 1>
// CHECK-NEXT: %[[FIRST:.*]] = arith.cmpi eq, %[[INDEX]], %{{.*}} : i32
// CHECK-NEXT: %[[OTHER:.*]] = arith.xori %[[FIRST]], %{{.*}} : i1
// CHECK-NEXT: scf.if %[[FIRST]] {
// CHECK: math.exp
// CHECK: gpu.barrier
// CHECK-NEXT: scf.if %[[FIRST]] {
// CHECK: %[[IS_SECOND:.*]] = arith.cmpi eq, %[[INDEX]], %{{.*}} : i32
// CHECK-NEXT: %[[SECOND:.*]] = arith.andi %[[OTHER]], %[[IS_SECOND]] : i1
// CHECK: scf.if %[[SECOND]] {
// CHECK-NOT: gpu.barrier
// CHECK: math.sin
// CHECK-NOT: gpu.launch
// CHECK: func.func
func.func public @branches(%x: tensor<40xf32>, %i: tensor<i32>) -> tensor<40xf32> {
  %0 = "stablehlo.case"(%i) ({
    %a = stablehlo.exponential %x : tensor<40xf32>
    %b = stablehlo.reverse %a, dims = [0] : tensor<40xf32>
    stablehlo.return %b : tensor<40xf32>
  }, {
    %a = stablehlo.sine %x : tensor<40xf32>
    stablehlo.return %a : tensor<40xf32>
  }, {
    stablehlo.return %x : tensor<40xf32>
  }) : (tensor<i32>) -> tensor<40xf32>
  return %0 : tensor<40xf32>
}

// Branches without barriers are branches.
// CHECK-LABEL: @simple_branches
// CHECK: scf.if %{{.*}} {
// CHECK: math.exp
// CHECK: } else {
// CHECK: math.sin
// CHECK-NOT: gpu.launch
// CHECK: func.func
func.func public @simple_branches(%x: tensor<40xf32>, %i: tensor<i32>) -> tensor<40xf32> {
  %0 = "stablehlo.case"(%i) ({
    %a = stablehlo.exponential %x : tensor<40xf32>
    stablehlo.return %a : tensor<40xf32>
  }, {
    %a = stablehlo.sine %x : tensor<40xf32>
    stablehlo.return %a : tensor<40xf32>
  }) : (tensor<i32>) -> tensor<40xf32>
  return %0 : tensor<40xf32>
}

// A loop over rows that fill many groups stays with the host: its launches take less than one group would.
// CHECK-LABEL: @large
// CHECK: kernel.for
// CHECK: gpu.launch
func.func public @large(%x: tensor<200000xf32>) -> tensor<200000xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i64>
  %one = stablehlo.constant dense<1> : tensor<i64>
  %count = stablehlo.constant dense<5> : tensor<i64>
  %0:2 = stablehlo.while(%i = %zero, %y = %x) : tensor<i64>, tensor<200000xf32> cond {
    %c = stablehlo.compare LT, %i, %count : (tensor<i64>, tensor<i64>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %r = stablehlo.reverse %y, dims = [0] : tensor<200000xf32>
    %s = stablehlo.sine %r : tensor<200000xf32>
    %n = stablehlo.add %i, %one : tensor<i64>
    stablehlo.return %n, %s : tensor<i64>, tensor<200000xf32>
  }
  return %0#1 : tensor<200000xf32>
}
