// Sums of rows: a group per row, each thread adds up its share, then a tree in the group's memory.
module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @row_sums(%x: memref<3000xf32, 1>, %y: memref<3xf32, 1>) workgroup(%part: memref<64xf32, 3>) kernel attributes {known_block_size = array<i32: 64, 1, 1>} {
      %n = arith.constant 1000 : index
      %zero = arith.constant 0.000000e+00 : f32
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c2 = arith.constant 2 : index
      %steps = arith.constant 6 : index
      %t = gpu.thread_id x
      %b = gpu.block_id x
      %d = gpu.block_dim x
      %base = arith.muli %b, %n : index
      %sum = scf.for %i = %t to %n step %d iter_args(%acc = %zero) -> (f32) {
        %at = arith.addi %base, %i : index
        %v = memref.load %x[%at] : memref<3000xf32, 1>
        %s = arith.addf %acc, %v : f32
        scf.yield %s : f32
      }
      memref.store %sum, %part[%t] : memref<64xf32, 3>
      gpu.barrier
      %half = arith.divui %d, %c2 : index
      %rest = scf.for %k = %c0 to %steps step %c1 iter_args(%width = %half) -> (index) {
        %in = arith.cmpi ult, %t, %width : index
        scf.if %in {
          %o = arith.addi %t, %width : index
          %a = memref.load %part[%t] : memref<64xf32, 3>
          %c = memref.load %part[%o] : memref<64xf32, 3>
          %s = arith.addf %a, %c : f32
          memref.store %s, %part[%t] : memref<64xf32, 3>
        }
        gpu.barrier
        %next = arith.divui %width, %c2 : index
        scf.yield %next : index
      }
      %first = arith.cmpi eq, %t, %c0 : index
      scf.if %first {
        %r = memref.load %part[%c0] : memref<64xf32, 3>
        memref.store %r, %y[%b] : memref<3xf32, 1>
      }
      gpu.return
    }
  }
  func.func @main(%x: memref<3000xf32, 1>, %y: memref<3xf32, 1> {kernel.result}) {
    %one = arith.constant 1 : index
    %grid = arith.constant 3 : index
    %block = arith.constant 64 : index
    gpu.launch_func @kernels::@row_sums blocks in (%grid, %one, %one) threads in (%block, %one, %one) args(%x : memref<3000xf32, 1>, %y : memref<3xf32, 1>)
    return
  }
}
