// y = tanh(x) exp(x), one element per thread, the last group not full.
module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @elementwise(%x: memref<1000xf32, 1>, %y: memref<1000xf32, 1>) kernel attributes {known_block_size = array<i32: 256, 1, 1>} {
      %n = arith.constant 1000 : index
      %t = gpu.thread_id x
      %b = gpu.block_id x
      %d = gpu.block_dim x
      %base = arith.muli %b, %d : index
      %at = arith.addi %base, %t : index
      %in = arith.cmpi ult, %at, %n : index
      scf.if %in {
        %v = memref.load %x[%at] : memref<1000xf32, 1>
        %h = math.tanh %v : f32
        %e = math.exp %v : f32
        %p = arith.mulf %h, %e : f32
        memref.store %p, %y[%at] : memref<1000xf32, 1>
      }
      gpu.return
    }
  }
  func.func @main(%x: memref<1000xf32, 1>, %y: memref<1000xf32, 1> {kernel.result}) {
    %one = arith.constant 1 : index
    %grid = arith.constant 4 : index
    %block = arith.constant 256 : index
    gpu.launch_func @kernels::@elementwise blocks in (%grid, %one, %one) threads in (%block, %one, %one) args(%x : memref<1000xf32, 1>, %y : memref<1000xf32, 1>)
    return
  }
}
