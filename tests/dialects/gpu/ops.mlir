// RUN: wengert-opt %s | filecheck %s
// Every op and attribute of the gpu level, in the form in which it is printed.

module attributes {gpu.container_module} {
  gpu.module @kernels [#nvvm.target<O = 3, chip = "sm_90", features = "+ptx80", flags = {fast, ftz}>, #rocdl.target<chip = "gfx942">, #spirv.target_env<#spirv.vce<v1.4, [Kernel, Addresses], [SPV_KHR_expect_assume]>, api=OpenCL, Intel:CPU:12, #spirv.resource_limits<subgroup_size = 64>>, #nvvm.target] attributes {a = 1 : i32} {
    func.func private @wg.remainder.f32.f32.f32(f32, f32) -> f32
    gpu.func @k(%x: memref<64xf32, 1> {llvm.noalias}, %n: index, %z: memref<4xcomplex<f32>, 1>) workgroup(%w: memref<128xf32, 3>, %v: memref<1xi32, 3>) private(%p: memref<4xf32, 5>) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
      %t = gpu.thread_id x upper_bound 128
      %ty = gpu.thread_id y
      %b = gpu.block_id x
      %d = gpu.block_dim z
      %g = gpu.grid_dim x
      %gi = gpu.global_id x
      %l = gpu.lane_id
      %sg = gpu.subgroup_id : index
      %ns = gpu.num_subgroups : index
      %ss = gpu.subgroup_size : index
      %f = arith.constant 1.0 : f32
      %q = arith.constant 0x7FC00000 : f32
      %o = arith.constant 3 : i32
      %wd = arith.constant 32 : i32
      %s, %ok = gpu.shuffle xor %f, %o, %wd : f32
      %s1, %ok1 = gpu.shuffle down %f, %o, %wd : f32
      %r = gpu.subgroup_reduce add %f : (f32) -> f32
      %r1 = gpu.subgroup_reduce maximumf %f uniform cluster(size = 8, stride = 2) : (f32) -> f32
      %m = memref.alloca() : memref<4xf32>
      %old = memref.atomic_rmw addf %f, %x[%t] : (f32, memref<64xf32, 1>) -> f32
      %old1 = memref.generic_atomic_rmw %x[%t] : memref<64xf32, 1> {
      ^bb0(%cur: f32):
        %new = arith.mulf %cur, %f : f32
        memref.atomic_yield %new : f32
      }
      gpu.barrier
      %c = arith.cmpi ult, %t, %n : index
      %c1 = arith.cmpf olt, %f, %r : f32
      %i = scf.if %c -> (f32) {
        scf.yield %f : f32
      } else {
        %y = func.call @wg.remainder.f32.f32.f32(%f, %r) : (f32, f32) -> f32
        scf.yield %y : f32
      }
      %wh = scf.while (%a = %t) : (index) -> (index) {
        %cc = arith.cmpi ult, %a, %n : index
        scf.condition(%cc) %a : index
      } do {
      ^bb0(%a: index):
        %aa = arith.addi %a, %a : index
        scf.yield %aa : index
      }
      %e = math.exp %f : f32
      %re = memref.load %z[%t] : memref<4xcomplex<f32>, 1>
      %re1 = complex.re %re : complex<f32>
      %cm = complex.create %re1, %f : complex<f32>
      %cmm = complex.mul %cm, %re : complex<f32>
      %sel = arith.select %c, %f, %r : f32
      %h = arith.truncf %f : f32 to f16
      %ix = arith.index_cast %t : index to i64
      %si = arith.sitofp %o : i32 to f32
      gpu.return
    }
    gpu.func @dev(%a: f32) -> f32 {
      gpu.return %a : f32
    }
  }
  gpu.binary @bin [#gpu.object<#nvvm.target<chip = "sm_90">, assembly = "abc\00\FFd\22">, #gpu.object<#nvvm.target, properties = {O = 3 : i32}, "x">, #gpu.object<#spirv.target_env<#spirv.vce<v1.0, [], []>, #spirv.resource_limits<>>, bin = "">]
  func.func @main(%x: memref<64xf32, 1>, %n: index, %z: memref<4xcomplex<f32>, 1>) {
    %c1 = arith.constant 1 : index
    %c128 = arith.constant 128 : index
    gpu.launch_func @kernels::@k blocks in (%c1, %c1, %c1) threads in (%c128, %c1, %c1) args(%x : memref<64xf32, 1>, %n : index, %z : memref<4xcomplex<f32>, 1>)
    gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1) threads(%tx, %ty, %tz) in (%sx = %c128, %sy = %c1, %sz = %c1) module(@m) function(@f) workgroup(%w : memref<8xf32, 3>) {
      gpu.terminator
    } {k = 1 : i64}
    gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1) threads(%tx, %ty, %tz) in (%sx = %c128, %sy = %c1, %sz = %c1) {
      gpu.terminator
    }
    return
  }
}

// CHECK: gpu.module @kernels [#nvvm.target<O = 3, chip = "sm_90", features = "+ptx80", flags = {fast, ftz}>, #rocdl.target<chip = "gfx942">, #spirv.target_env<#spirv.vce<v1.4, [Kernel, Addresses], [SPV_KHR_expect_assume]>, api=OpenCL, Intel:CPU:12, #spirv.resource_limits<subgroup_size = 64>>, #nvvm.target] attributes {a = 1 : i32} {
// CHECK: gpu.func @k(%x: memref<64xf32, 1> {llvm.noalias}, %n: index, %z: memref<4xcomplex<f32>, 1>) workgroup(%w: memref<128xf32, 3>, %v: memref<1xi32, 3>) private(%p: memref<4xf32, 5>) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
// CHECK: %t = gpu.thread_id x upper_bound 128
// CHECK: %l = gpu.lane_id
// CHECK: %sg = gpu.subgroup_id : index
// CHECK: %s:2 = gpu.shuffle xor %f, %o, %wd : f32
// CHECK: %s1:2 = gpu.shuffle down %f, %o, %wd : f32
// CHECK: %r = gpu.subgroup_reduce add %f : (f32) -> f32
// CHECK: %r1 = gpu.subgroup_reduce maximumf %f uniform cluster(size = 8, stride = 2) : (f32) -> f32
// CHECK: %m = memref.alloca() : memref<4xf32>
// CHECK: %old = memref.atomic_rmw addf %f, %x[%t] : (f32, memref<64xf32, 1>) -> f32
// CHECK: %old1 = memref.generic_atomic_rmw %x[%t] : memref<64xf32, 1> {
// CHECK: memref.atomic_yield %new : f32
// CHECK: gpu.barrier
// CHECK: gpu.func @dev(%a: f32) -> f32 {
// CHECK: gpu.binary @bin [#gpu.object<#nvvm.target<chip = "sm_90">, assembly = "abc\00\FFd\22">, #gpu.object<#nvvm.target, properties = {O = 3 : i32}, "x">, #gpu.object<#spirv.target_env<#spirv.vce<v1.0, [], []>, #spirv.resource_limits<>>, bin = "">]
// CHECK: gpu.launch_func @kernels::@k blocks in (%0, %0, %0) threads in (%1, %0, %0) args(%x : memref<64xf32, 1>, %n : index, %z : memref<4xcomplex<f32>, 1>)
// CHECK: gpu.launch blocks(%bx, %by, %bz) in (%gx = %0, %gy = %0, %gz = %0) threads(%tx, %ty, %tz) in (%sx = %1, %sy = %0, %sz = %0) module(@m) function(@f) workgroup(%w: memref<8xf32, 3>) {
// CHECK: gpu.terminator
// CHECK: gpu.launch blocks(%bx, %by, %bz) in (%gx = %0, %gy = %0, %gz = %0) threads(%tx, %ty, %tz) in (%sx = %1, %sy = %0, %sz = %0) {
// CHECK: gpu.terminator
