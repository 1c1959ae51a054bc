// RUN: wengert-opt %s -p "gpu-kernel-outlining" | filecheck %s
// Bodies of launches become kernels: constants move in, everything else is an argument; equal bodies are one kernel.

module {
  func.func private @wg.remainder.f32.f32.f32(f32, f32) -> f32
  func.func private @host(memref<4xf32>)
  func.func public @main(%x: memref<64xf32>, %y: memref<64xf32> {kernel.result}, %z: memref<64xf32> {kernel.result}) {
    %one = arith.constant 1 : index
    %two = arith.constant 2 : index
    %many = arith.constant 32 : index
    %half = arith.constant 5.000000e-01 : f32
    %a = kernel.view %x[0] : memref<64xf32> to memref<64xf32, 1>
    %b = kernel.view %y[0] : memref<64xf32> to memref<64xf32, 1>
    %c = kernel.view %z[0] : memref<64xf32> to memref<64xf32, 1>
    gpu.launch blocks(%bx, %by, %bz) in (%gx = %two, %gy = %one, %gz = %one) threads(%tx, %ty, %tz) in (%sx = %many, %sy = %one, %sz = %one) workgroup(%w : memref<32xf32, 3>) {
      %0 = arith.muli %bx, %sx : index
      %at = arith.addi %0, %tx : index
      %v = memref.load %a[%at] : memref<64xf32, 1>
      %r = func.call @wg.remainder.f32.f32.f32(%v, %half) : (f32, f32) -> f32
      memref.store %r, %w[%tx] : memref<32xf32, 3>
      gpu.barrier
      %first = arith.cmpi eq, %tx, %many : index
      scf.if %first {
        gpu.barrier
      }
      memref.store %r, %b[%at] : memref<64xf32, 1>
      gpu.terminator
    } {kernel.positions = "i32"}
    gpu.launch blocks(%bx, %by, %bz) in (%gx = %two, %gy = %one, %gz = %one) threads(%tx, %ty, %tz) in (%sx = %many, %sy = %one, %sz = %one) workgroup(%shared : memref<32xf32, 3>) {
      %0 = arith.muli %bx, %sx : index
      %place = arith.addi %0, %tx : index
      %v = memref.load %b[%place] : memref<64xf32, 1>
      %r = func.call @wg.remainder.f32.f32.f32(%v, %half) : (f32, f32) -> f32
      memref.store %r, %shared[%tx] : memref<32xf32, 3>
      gpu.barrier
      %first = arith.cmpi eq, %tx, %many : index
      scf.if %first {
        gpu.barrier
      }
      memref.store %r, %c[%place] : memref<64xf32, 1>
      gpu.terminator
    } {kernel.positions = "i32"}
    gpu.launch blocks(%bx, %by, %bz) in (%gx = %one, %gy = %one, %gz = %one) threads(%tx, %ty, %tz) in (%sx = %two, %sy = %one, %sz = %one) {
      %v = memref.load %a[%tx] : memref<64xf32, 1>
      memref.store %v, %b[%tx] : memref<64xf32, 1>
      gpu.terminator
    } loc("jit(main)/jit(softmax)"("f.py":3:4))
    gpu.launch blocks(%bx, %by, %bz) in (%gx = %one, %gy = %one, %gz = %one) threads(%tx, %ty, %tz) in (%sx = %two, %sy = %one, %sz = %one) function(@mine) {
      memref.store %half, %b[%tx] : memref<64xf32, 1>
      gpu.terminator
    }
    kernel.end
  }
}

// CHECK:      module attributes {gpu.container_module} {
// CHECK-NEXT:   gpu.module @kernels {
// CHECK-NEXT:     func.func private @wg.remainder.f32.f32.f32(f32, f32) -> f32
// CHECK-NEXT:     gpu.func @main_k0(%a: memref<64xf32, 1> {llvm.noalias, llvm.readonly}, %b: memref<64xf32, 1>) workgroup(%w: memref<32xf32, 3>) kernel attributes {kernel.positions = "i32", known_block_size = array<i32: 32, 1, 1>} {
// CHECK-DAG:        %half = arith.constant 5.000000e-01 : f32
// CHECK-DAG:        %many = arith.constant 32 : index
// CHECK-DAG:        %bx = gpu.block_id x
// CHECK-DAG:        %tx = gpu.thread_id x
// CHECK-DAG:        %sx = gpu.block_dim x
// CHECK:            memref.store %r, %b[%at] : memref<64xf32, 1>
// CHECK-NEXT:       gpu.return
// CHECK-NEXT:     }
// CHECK-NEXT:     gpu.func @main_k1_softmax(%a: memref<64xf32, 1> {llvm.noalias, llvm.readonly}, %b: memref<64xf32, 1> {llvm.noalias}) kernel attributes {known_block_size = array<i32: 2, 1, 1>} {
// CHECK-NEXT:       %tx = gpu.thread_id x
// CHECK:          gpu.func @mine(%b: memref<64xf32, 1> {llvm.noalias})
// CHECK-NOT:      gpu.func
// CHECK-NOT:    func.func private @wg
// CHECK:        func.func private @host(memref<4xf32>)
// CHECK:        func.func public @main
// CHECK:          gpu.launch_func @kernels::@main_k0 blocks in (%two, %one, %one) threads in (%many, %one, %one) args(%a : memref<64xf32, 1>, %b : memref<64xf32, 1>)
// CHECK-NEXT:     gpu.launch_func @kernels::@main_k0 blocks in (%two, %one, %one) threads in (%many, %one, %one) args(%b : memref<64xf32, 1>, %0 : memref<64xf32, 1>)
// CHECK-NEXT:     gpu.launch_func @kernels::@main_k1_softmax blocks in
// CHECK-NEXT:     gpu.launch_func @kernels::@mine blocks in (%one, %one, %one) threads in (%two, %one, %one) args(%b : memref<64xf32, 1>)
// CHECK-NEXT:     kernel.end
