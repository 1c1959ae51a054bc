// Maxima of columns: a thread per column, neighbours read neighbours.
module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @column_maxima(%x: memref<640xf64, 1>, %y: memref<32xf64, 1>) kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
      %rows = arith.constant 20 : index
      %columns = arith.constant 32 : index
      %least = arith.constant 0xFFF0000000000000 : f64
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %t = gpu.thread_id x
      %m = scf.for %i = %c0 to %rows step %c1 iter_args(%acc = %least) -> (f64) {
        %row = arith.muli %i, %columns : index
        %at = arith.addi %row, %t : index
        %v = memref.load %x[%at] : memref<640xf64, 1>
        %s = arith.maximumf %acc, %v : f64
        scf.yield %s : f64
      }
      memref.store %m, %y[%t] : memref<32xf64, 1>
      gpu.return
    }
  }
  func.func @main(%x: memref<640xf64, 1>, %y: memref<32xf64, 1> {kernel.result}) {
    %one = arith.constant 1 : index
    %block = arith.constant 32 : index
    gpu.launch_func @kernels::@column_maxima blocks in (%one, %one, %one) threads in (%block, %one, %one) args(%x : memref<640xf64, 1>, %y : memref<32xf64, 1>)
    return
  }
}
