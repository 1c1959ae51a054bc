// The transpose of a matrix of 32 by 16, in tiles of 16 by 16 through the group's memory.
module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @transpose(%x: memref<512xf32, 1>, %y: memref<512xf32, 1>) workgroup(%tile: memref<272xf32, 3>) kernel attributes {known_block_size = array<i32: 16, 16, 1>} {
      %c16 = arith.constant 16 : index
      %c17 = arith.constant 17 : index
      %c32 = arith.constant 32 : index
      %tx = gpu.thread_id x
      %ty = gpu.thread_id y
      %b = gpu.block_id x
      %first = arith.muli %b, %c16 : index
      %row = arith.addi %first, %ty : index
      %0 = arith.muli %row, %c16 : index
      %from = arith.addi %0, %tx : index
      %v = memref.load %x[%from] : memref<512xf32, 1>
      %1 = arith.muli %ty, %c17 : index
      %put = arith.addi %1, %tx : index
      memref.store %v, %tile[%put] : memref<272xf32, 3>
      gpu.barrier
      %2 = arith.muli %tx, %c17 : index
      %take = arith.addi %2, %ty : index
      %w = memref.load %tile[%take] : memref<272xf32, 3>
      %3 = arith.muli %ty, %c32 : index
      %4 = arith.addi %3, %first : index
      %to = arith.addi %4, %tx : index
      memref.store %w, %y[%to] : memref<512xf32, 1>
      gpu.return
    }
  }
  func.func @main(%x: memref<512xf32, 1>, %y: memref<512xf32, 1> {kernel.result}) {
    %one = arith.constant 1 : index
    %two = arith.constant 2 : index
    %side = arith.constant 16 : index
    gpu.launch_func @kernels::@transpose blocks in (%two, %one, %one) threads in (%side, %side, %one) args(%x : memref<512xf32, 1>, %y : memref<512xf32, 1>)
    return
  }
}
