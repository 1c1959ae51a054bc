// RUN: wengert-opt %s -p "gpu-kernel-outlining" | filecheck %s
// What a kernel only reads, and what no write of it or of others meets, is said of its arguments; equal bodies of which other things are known are two kernels.

module {
  func.func public @main(%x: memref<64xf32>, %y: memref<64xf32> {kernel.result}) {
    %one = arith.constant 1 : index
    %many = arith.constant 32 : index
    %a = kernel.view %x[0] : memref<64xf32> to memref<32xf32, 1>
    %whole = kernel.view %x[0] : memref<64xf32> to memref<64xf32, 1>
    %b = kernel.view %y[0] : memref<64xf32> to memref<32xf32, 1>
    %c = kernel.view %y[64] : memref<64xf32> to memref<32xf32, 1>
    %d = kernel.view %y[128] : memref<64xf32> to memref<32xf32, 1>
    // CHECK:      gpu.func @reads(%{{.*}}: memref<32xf32, 1> {llvm.noalias, llvm.readonly}, %{{.*}}: memref<64xf32, 1> {llvm.noalias, llvm.readonly}, %{{.*}}: memref<32xf32, 1> {llvm.noalias})
    gpu.launch blocks(%bx, %by, %bz) in (%gx = %one, %gy = %one, %gz = %one) threads(%tx, %ty, %tz) in (%sx = %many, %sy = %one, %sz = %one) function(@reads) {
      %0 = memref.load %a[%tx] : memref<32xf32, 1>
      %1 = memref.load %whole[%tx] : memref<64xf32, 1>
      %2 = arith.addf %0, %1 : f32
      memref.store %2, %b[%tx] : memref<32xf32, 1>
      gpu.terminator
    }
    // CHECK:      gpu.func @apart(%{{.*}}: memref<32xf32, 1> {llvm.noalias, llvm.readonly}, %{{.*}}: memref<32xf32, 1> {llvm.noalias})
    gpu.launch blocks(%bx, %by, %bz) in (%gx = %one, %gy = %one, %gz = %one) threads(%tx, %ty, %tz) in (%sx = %many, %sy = %one, %sz = %one) function(@apart) {
      %0 = memref.load %b[%tx] : memref<32xf32, 1>
      memref.store %0, %d[%tx] : memref<32xf32, 1>
      gpu.terminator
    }
    // CHECK:      gpu.func @main_k2(%{{.*}}: memref<32xf32, 1> {llvm.readonly}, %{{.*}}: memref<32xf32, 1>)
    gpu.launch blocks(%bx, %by, %bz) in (%gx = %one, %gy = %one, %gz = %one) threads(%tx, %ty, %tz) in (%sx = %many, %sy = %one, %sz = %one) {
      %0 = memref.load %b[%tx] : memref<32xf32, 1>
      memref.store %0, %c[%tx] : memref<32xf32, 1>
      gpu.terminator
    }
    // CHECK:      gpu.func @changes(%{{.*}}: memref<32xf32, 1> {llvm.noalias})
    gpu.launch blocks(%bx, %by, %bz) in (%gx = %one, %gy = %one, %gz = %one) threads(%tx, %ty, %tz) in (%sx = %many, %sy = %one, %sz = %one) function(@changes) {
      %0 = memref.load %b[%tx] : memref<32xf32, 1>
      memref.store %0, %b[%tx] : memref<32xf32, 1>
      gpu.terminator
    }
    // Threads that wait see what others wrote in between: what LLVM knows of a buffer that is written must not pass the barrier.
    // CHECK:      gpu.func @waits(%{{.*}}: memref<32xf32, 1> {llvm.noalias, llvm.readonly}, %{{.*}}: memref<32xf32, 1>)
    gpu.launch blocks(%bx, %by, %bz) in (%gx = %one, %gy = %one, %gz = %one) threads(%tx, %ty, %tz) in (%sx = %many, %sy = %one, %sz = %one) function(@waits) {
      %0 = memref.load %a[%tx] : memref<32xf32, 1>
      memref.store %0, %b[%tx] : memref<32xf32, 1>
      gpu.barrier
      %first = arith.constant 0 : index
      %1 = memref.load %b[%first] : memref<32xf32, 1>
      gpu.barrier
      memref.store %1, %b[%tx] : memref<32xf32, 1>
      gpu.terminator
    }
    kernel.end
  }
}
