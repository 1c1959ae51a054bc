// y[p[i]] += x[i] by atomic additions, into a buffer that a first launch clears.
module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @clear(%y: memref<10xf32, 1>) kernel attributes {known_block_size = array<i32: 10, 1, 1>} {
      %zero = arith.constant 0.000000e+00 : f32
      %t = gpu.thread_id x
      memref.store %zero, %y[%t] : memref<10xf32, 1>
      gpu.return
    }
    gpu.func @scatter_add(%x: memref<64xf32, 1>, %p: memref<64xi32, 1>, %y: memref<10xf32, 1>) kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
      %t = gpu.global_id x
      %i = memref.load %p[%t] : memref<64xi32, 1>
      %at = arith.index_cast %i : i32 to index
      %v = memref.load %x[%t] : memref<64xf32, 1>
      %old = memref.atomic_rmw addf %v, %y[%at] : (f32, memref<10xf32, 1>) -> f32
      gpu.return
    }
  }
  func.func @main(%x: memref<64xf32, 1>, %p: memref<64xi32, 1>, %y: memref<10xf32, 1> {kernel.result}) {
    %one = arith.constant 1 : index
    %two = arith.constant 2 : index
    %ten = arith.constant 10 : index
    %block = arith.constant 32 : index
    gpu.launch_func @kernels::@clear blocks in (%one, %one, %one) threads in (%ten, %one, %one) args(%y : memref<10xf32, 1>)
    gpu.launch_func @kernels::@scatter_add blocks in (%two, %one, %one) threads in (%block, %one, %one) args(%x : memref<64xf32, 1>, %p : memref<64xi32, 1>, %y : memref<10xf32, 1>)
    return
  }
}
