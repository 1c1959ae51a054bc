// The product of two matrices of 16 by 16, both factors in tiles of 8 by 8 in the group's memory.
module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @product(%x: memref<256xf32, 1>, %z: memref<256xf32, 1>, %y: memref<256xf32, 1>) workgroup(%l: memref<64xf32, 3>, %r: memref<64xf32, 3>) kernel attributes {known_block_size = array<i32: 8, 8, 1>} {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c8 = arith.constant 8 : index
      %c16 = arith.constant 16 : index
      %zero = arith.constant 0.000000e+00 : f32
      %tx = gpu.thread_id x
      %ty = gpu.thread_id y
      %bx = gpu.block_id x
      %by = gpu.block_id y
      %0 = arith.muli %by, %c8 : index
      %row = arith.addi %0, %ty : index
      %1 = arith.muli %bx, %c8 : index
      %column = arith.addi %1, %tx : index
      %2 = arith.muli %row, %c16 : index
      %3 = arith.muli %ty, %c8 : index
      %place = arith.addi %3, %tx : index
      %sum = scf.for %k = %c0 to %c16 step %c8 iter_args(%acc = %zero) -> (f32) {
        %4 = arith.addi %2, %k : index
        %left = arith.addi %4, %tx : index
        %v = memref.load %x[%left] : memref<256xf32, 1>
        memref.store %v, %l[%place] : memref<64xf32, 3>
        %5 = arith.addi %k, %ty : index
        %6 = arith.muli %5, %c16 : index
        %right = arith.addi %6, %column : index
        %w = memref.load %z[%right] : memref<256xf32, 1>
        memref.store %w, %r[%place] : memref<64xf32, 3>
        gpu.barrier
        %part = scf.for %i = %c0 to %c8 step %c1 iter_args(%inner = %acc) -> (f32) {
          %7 = arith.addi %3, %i : index
          %a = memref.load %l[%7] : memref<64xf32, 3>
          %8 = arith.muli %i, %c8 : index
          %9 = arith.addi %8, %tx : index
          %b = memref.load %r[%9] : memref<64xf32, 3>
          %p = arith.mulf %a, %b : f32
          %s = arith.addf %inner, %p : f32
          scf.yield %s : f32
        }
        gpu.barrier
        scf.yield %part : f32
      }
      %at = arith.addi %2, %column : index
      memref.store %sum, %y[%at] : memref<256xf32, 1>
      gpu.return
    }
  }
  func.func @main(%x: memref<256xf32, 1>, %z: memref<256xf32, 1>, %y: memref<256xf32, 1> {kernel.result}) {
    %one = arith.constant 1 : index
    %two = arith.constant 2 : index
    %side = arith.constant 8 : index
    gpu.launch_func @kernels::@product blocks in (%two, %two, %one) threads in (%side, %side, %one) args(%x : memref<256xf32, 1>, %z : memref<256xf32, 1>, %y : memref<256xf32, 1>)
    return
  }
}
