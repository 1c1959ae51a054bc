// Numbers of 16 and 8 bits: products in f32 of f16 and bytes, rounded to bf16, where a mask of booleans says so.
module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @conversions(%x: memref<32xf16, 1>, %i: memref<32xi8, 1>, %m: memref<32xi1, 1>, %y: memref<32xbf16, 1>) kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
      %zero = arith.constant 0.000000e+00 : f32
      %t = gpu.thread_id x
      %v = memref.load %x[%t] : memref<32xf16, 1>
      %w = arith.extf %v : f16 to f32
      %b = memref.load %i[%t] : memref<32xi8, 1>
      %n = arith.extui %b : i8 to i32
      %f = arith.sitofp %n : i32 to f32
      %p = arith.mulf %w, %f : f32
      %taken = memref.load %m[%t] : memref<32xi1, 1>
      %r = arith.select %taken, %p, %zero : f32
      %s = arith.truncf %r : f32 to bf16
      memref.store %s, %y[%t] : memref<32xbf16, 1>
      gpu.return
    }
  }
  func.func @main(%x: memref<32xf16, 1>, %i: memref<32xi8, 1>, %m: memref<32xi1, 1>, %y: memref<32xbf16, 1> {kernel.result}) {
    %one = arith.constant 1 : index
    %block = arith.constant 32 : index
    gpu.launch_func @kernels::@conversions blocks in (%one, %one, %one) threads in (%block, %one, %one)
        args(%x : memref<32xf16, 1>, %i : memref<32xi8, 1>, %m : memref<32xi1, 1>, %y : memref<32xbf16, 1>)
    return
  }
}
