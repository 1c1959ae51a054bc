// alloca_if_store
func.func @main(%x: f64, %c: i1) -> f64 {
  %two = arith.constant 2.0 : f64
  %m = memref.alloca() : memref<1xf64>
  affine.store %two, %m[0] : memref<1xf64>
  scf.if %c {
    %q = arith.mulf %x, %x : f64
    affine.store %q, %m[0] : memref<1xf64>
  }
  %r = affine.load %m[0] : memref<1xf64>
  %s = arith.mulf %two, %r : f64
  return %s : f64
}

// -----

// subview_matmul
func.func @main(%a: memref<4x5xf64>, %b: memref<5x3xf64>, %o: memref<4x3xf64>) {
  %z = arith.constant 0.0 : f64
  linalg.fill ins(%z : f64) outs(%o : memref<4x3xf64>)
  %s = memref.subview %a[1, 0] [2, 5] [2, 1] : memref<4x5xf64> to memref<2x5xf64, strided<[10, 1], offset: 5>>
  %t = memref.subview %o[0, 0] [2, 3] [1, 1] : memref<4x3xf64> to memref<2x3xf64, strided<[3, 1]>>
  linalg.matmul ins(%s, %b : memref<2x5xf64, strided<[10, 1], offset: 5>>, memref<5x3xf64>) outs(%t : memref<2x3xf64, strided<[3, 1]>>)
  %n = memref.alloc() : memref<4x3xf64>
  memref.copy %o, %n : memref<4x3xf64> to memref<4x3xf64>
  linalg.add ins(%o, %n : memref<4x3xf64>, memref<4x3xf64>) outs(%o : memref<4x3xf64>)
  memref.dealloc %n : memref<4x3xf64>
  return
}

// -----

// strided_argument
func.func @main(%m: memref<4x4xf64, strided<[4, 1], offset: 0>>) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %m, %c0 : memref<4x4xf64, strided<[4, 1], offset: 0>>
  %z = arith.constant 0.0 : f64
  %t = scf.for %i = %c0 to %n step %c1 iter_args(%a = %z) -> (f64) {
    %v = memref.load %m[%i, %i] : memref<4x4xf64, strided<[4, 1], offset: 0>>
    %s = arith.addf %a, %v : f64
    scf.yield %s : f64
  }
  return %t : f64
}

// -----

// global_constant
memref.global "private" constant @w : memref<6xf64> = dense<[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]>
func.func @main(%x: memref<6xf64>) -> f64 {
  %w = memref.get_global @w : memref<6xf64>
  %z = arith.constant 0.0 : f64
  %r = affine.for %i = 0 to 6 iter_args(%a = %z) -> (f64) {
    %v = affine.load %x[%i] : memref<6xf64>
    %u = affine.load %w[5 - %i] : memref<6xf64>
    %q = arith.mulf %u, %v : f64
    %s = arith.addf %a, %q : f64
    affine.yield %s : f64
  }
  return %r : f64
}

// -----

// bufferization_ops
func.func @main(%x: tensor<6xf64>) -> tensor<6xf64> {
  %m = bufferization.to_buffer %x : tensor<6xf64> to memref<6xf64>
  %n = memref.alloc() : memref<6xf64>
  memref.copy %m, %n : memref<6xf64> to memref<6xf64>
  affine.for %i = 1 to 6 {
    %a = affine.load %n[%i] : memref<6xf64>
    %b = affine.load %n[%i - 1] : memref<6xf64>
    %s = arith.addf %a, %b : f64
    affine.store %s, %n[%i] : memref<6xf64>
  }
  %r = bufferization.to_tensor %n restrict : memref<6xf64> to tensor<6xf64>
  return %r : tensor<6xf64>
}

// -----

// atomic_rmw
func.func @main(%x: memref<6xf64>, %h: memref<3xf64>) {
  affine.for %i = 0 to 6 {
    %v = affine.load %x[%i] : memref<6xf64>
    %k = affine.apply affine_map<(d0) -> (d0 floordiv 2)>(%i)
    %u = memref.atomic_rmw addf %v, %h[%k] : (f64, memref<3xf64>) -> f64
  }
  return
}

// -----

// rank_reducing_views
func.func @main(%m: memref<4x5xf64>, %o: memref<20xf64>) {
  %c = memref.collapse_shape %m [[0, 1]] : memref<4x5xf64> into memref<20xf64>
  %r = memref.subview %m[2, 0] [1, 5] [1, 1] : memref<4x5xf64> to memref<5xf64, strided<[1], offset: 10>>
  affine.for %i = 0 to 5 {
    %v = affine.load %r[%i] : memref<5xf64, strided<[1], offset: 10>>
    %w = arith.mulf %v, %v : f64
    affine.store %w, %r[%i] : memref<5xf64, strided<[1], offset: 10>>
  }
  memref.copy %c, %o : memref<20xf64> to memref<20xf64>
  return
}

// -----

// reinterpret_and_expand
func.func @main(%x: memref<6xf64>) -> f64 {
  %r = memref.reinterpret_cast %x to offset: [1], sizes: [2, 2], strides: [3, 1] : memref<6xf64> to memref<2x2xf64, strided<[3, 1], offset: 1>>
  %c1 = arith.constant 1 : index
  %a = memref.load %r[%c1, %c1] : memref<2x2xf64, strided<[3, 1], offset: 1>>
  %e = memref.expand_shape %x [[0, 1]] output_shape [2, 3] : memref<6xf64> into memref<2x3xf64>
  %b = memref.load %e[%c1, %c1] : memref<2x3xf64>
  %p = arith.mulf %a, %b : f64
  return %p : f64
}

// -----

// returns_alloc
func.func private @square(%x: memref<6xf64>) -> memref<6xf64> {
  %m = memref.alloc() : memref<6xf64>
  linalg.map { arith.mulf } ins(%x, %x : memref<6xf64>, memref<6xf64>) outs(%m : memref<6xf64>)
  return %m : memref<6xf64>
}
func.func @main(%x: memref<6xf64>) -> memref<6xf64> {
  %a = call @square(%x) : (memref<6xf64>) -> memref<6xf64>
  %b = call @square(%a) : (memref<6xf64>) -> memref<6xf64>
  return %b : memref<6xf64>
}

// -----

// autodiff_memref
func.func @f(%x: memref<6xf64>) -> f64 {
  %z = arith.constant 0.0 : f64
  %r = affine.for %i = 0 to 6 iter_args(%a = %z) -> (f64) {
    %v = affine.load %x[%i] : memref<6xf64>
    %q = arith.mulf %v, %v : f64
    %s = arith.addf %a, %q : f64
    affine.yield %s : f64
  }
  return %r : f64
}
func.func @main(%x: memref<6xf64>, %dx: memref<6xf64>, %d: f64) {
  enzyme.autodiff @f(%x, %dx, %d) {
    activity=[#enzyme<activity enzyme_dup>], ret_activity=[#enzyme<activity enzyme_activenoneed>]
  } : (memref<6xf64>, memref<6xf64>, f64) -> ()
  return
}

// -----

// nested_calls
func.func private @g(%a: f64, %m: memref<2xf64>) {
  %c0 = arith.constant 0 : index
  %v = memref.load %m[%c0] : memref<2xf64>
  %s = arith.mulf %v, %a : f64
  memref.store %s, %m[%c0] : memref<2xf64>
  return
}
func.func private @h(%a: f64, %m: memref<2xf64>) {
  call @g(%a, %m) : (f64, memref<2xf64>) -> ()
  %b = math.sin %a : f64
  call @g(%b, %m) : (f64, memref<2xf64>) -> ()
  return
}
func.func @main(%a: f64, %m: memref<2xf64>) {
  call @h(%a, %m) : (f64, memref<2xf64>) -> ()
  return
}

// -----

// scope_and_alignment
func.func @main(%x: memref<6xf64>) -> f64 {
  %a = memref.assume_alignment %x, 16 : memref<6xf64>
  %c2 = arith.constant 2 : index
  %r = memref.alloca_scope -> (f64) {
    %t = memref.alloca() : memref<2xf64>
    %v = memref.load %a[%c2] {nontemporal = true} : memref<6xf64>
    affine.store %v, %t[1] : memref<2xf64>
    %w = affine.load %t[1] : memref<2xf64>
    %q = arith.mulf %w, %v : f64
    memref.alloca_scope.return %q : f64
  }
  return %r : f64
}
