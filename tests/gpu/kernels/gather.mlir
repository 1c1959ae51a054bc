// y[i] = x[p[i]], places out of range are clamped.
module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @gather(%x: memref<100xf64, 1>, %p: memref<64xi32, 1>, %y: memref<64xf64, 1>) kernel attributes {known_block_size = array<i32: 64, 1, 1>} {
      %zero = arith.constant 0 : i32
      %last = arith.constant 99 : i32
      %t = gpu.thread_id x
      %i = memref.load %p[%t] : memref<64xi32, 1>
      %low = arith.maxsi %i, %zero : i32
      %place = arith.minsi %low, %last : i32
      %at = arith.index_cast %place : i32 to index
      %v = memref.load %x[%at] : memref<100xf64, 1>
      memref.store %v, %y[%t] : memref<64xf64, 1>
      gpu.return
    }
  }
  func.func @main(%x: memref<100xf64, 1>, %p: memref<64xi32, 1>, %y: memref<64xf64, 1> {kernel.result}) {
    %one = arith.constant 1 : index
    %block = arith.constant 64 : index
    gpu.launch_func @kernels::@gather blocks in (%one, %one, %one) threads in (%block, %one, %one) args(%x : memref<100xf64, 1>, %p : memref<64xi32, 1>, %y : memref<64xf64, 1>)
    return
  }
}
