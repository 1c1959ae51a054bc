// Square roots by Newton's method: each thread loops until its own number has settled.
module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @square_roots(%x: memref<48xf64, 1>, %y: memref<48xf64, 1>) kernel attributes {known_block_size = array<i32: 16, 1, 1>} {
      %half = arith.constant 5.000000e-01 : f64
      %near = arith.constant 1.000000e-12 : f64
      %g = gpu.global_id x
      %v = memref.load %x[%g] : memref<48xf64, 1>
      %root = scf.while (%r = %v) : (f64) -> f64 {
        %square = arith.mulf %r, %r : f64
        %off = arith.subf %square, %v : f64
        %away = math.absf %off : f64
        %bound = arith.mulf %near, %v : f64
        %more = arith.cmpf ogt, %away, %bound : f64
        scf.condition(%more) %r : f64
      } do {
      ^bb0(%r: f64):
        %q = arith.divf %v, %r : f64
        %s = arith.addf %r, %q : f64
        %next = arith.mulf %s, %half : f64
        scf.yield %next : f64
      }
      memref.store %root, %y[%g] : memref<48xf64, 1>
      gpu.return
    }
  }
  func.func @main(%x: memref<48xf64, 1>, %y: memref<48xf64, 1> {kernel.result}) {
    %one = arith.constant 1 : index
    %grid = arith.constant 3 : index
    %block = arith.constant 16 : index
    gpu.launch_func @kernels::@square_roots blocks in (%grid, %one, %one) threads in (%block, %one, %one) args(%x : memref<48xf64, 1>, %y : memref<48xf64, 1>)
    return
  }
}
