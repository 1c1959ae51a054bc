// The sum of 32 numbers by shuffles within a subgroup.
module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @shuffled_sum(%x: memref<64xf32, 1>, %y: memref<2xf32, 1>) kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
      %c0 = arith.constant 0 : index
      %width = arith.constant 32 : i32
      %o16 = arith.constant 16 : i32
      %o8 = arith.constant 8 : i32
      %o4 = arith.constant 4 : i32
      %o2 = arith.constant 2 : i32
      %o1 = arith.constant 1 : i32
      %t = gpu.thread_id x
      %b = gpu.block_id x
      %g = gpu.global_id x
      %v = memref.load %x[%g] : memref<64xf32, 1>
      %s16:2 = gpu.shuffle xor %v, %o16, %width : f32
      %v16 = arith.addf %v, %s16#0 : f32
      %s8:2 = gpu.shuffle xor %v16, %o8, %width : f32
      %v8 = arith.addf %v16, %s8#0 : f32
      %s4:2 = gpu.shuffle xor %v8, %o4, %width : f32
      %v4 = arith.addf %v8, %s4#0 : f32
      %s2:2 = gpu.shuffle xor %v4, %o2, %width : f32
      %v2 = arith.addf %v4, %s2#0 : f32
      %s1:2 = gpu.shuffle xor %v2, %o1, %width : f32
      %v1 = arith.addf %v2, %s1#0 : f32
      %first = arith.cmpi eq, %t, %c0 : index
      scf.if %first {
        memref.store %v1, %y[%b] : memref<2xf32, 1>
      }
      gpu.return
    }
  }
  func.func @main(%x: memref<64xf32, 1>, %y: memref<2xf32, 1> {kernel.result}) {
    %one = arith.constant 1 : index
    %two = arith.constant 2 : index
    %block = arith.constant 32 : index
    gpu.launch_func @kernels::@shuffled_sum blocks in (%two, %one, %one) threads in (%block, %one, %one) args(%x : memref<64xf32, 1>, %y : memref<2xf32, 1>)
    return
  }
}
