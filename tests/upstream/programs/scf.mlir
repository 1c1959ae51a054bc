// scf_parallel_reduce
func.func @main(%m: memref<4x5xf64>) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c5 = arith.constant 5 : index
  %one = arith.constant 1.0 : f64
  %s = scf.parallel (%i, %j) = (%c0, %c0) to (%c4, %c5) step (%c1, %c1) init (%one) -> f64 {
    %v = memref.load %m[%i, %j] : memref<4x5xf64>
    %t = math.tanh %v : f64
    scf.reduce(%t : f64) {
    ^bb0(%a: f64, %b: f64):
      %q = arith.addf %a, %b : f64
      scf.reduce.return %q : f64
    }
  }
  return %s : f64
}

// -----

// parallel_two_inits
func.func @main(%x: memref<6xf64>) -> (f64, f64) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c6 = arith.constant 6 : index
  %z = arith.constant 0.0 : f64
  %o = arith.constant 1.0 : f64
  %r:2 = scf.parallel (%i) = (%c0) to (%c6) step (%c1) init (%z, %o) -> (f64, f64) {
    %v = memref.load %x[%i] : memref<6xf64>
    scf.reduce(%v, %v : f64, f64) {
    ^bb0(%a: f64, %b: f64):
      %q = arith.maximumf %a, %b : f64
      scf.reduce.return %q : f64
    }, { ^bb0(%a: f64, %b: f64):
      %q = arith.mulf %a, %b : f64
      scf.reduce.return %q : f64
    }
  }
  return %r#0, %r#1 : f64, f64
}

// -----

// forall_insert
func.func @main(%m: tensor<4x5xf64>, %o: tensor<4x5xf64>) -> tensor<4x5xf64> {
  %r = scf.forall (%i) in (4) shared_outs(%t = %o) -> (tensor<4x5xf64>) {
    %row = tensor.extract_slice %m[%i, 0] [1, 5] [1, 1] : tensor<4x5xf64> to tensor<1x5xf64>
    %e = linalg.exp ins(%row : tensor<1x5xf64>) outs(%row : tensor<1x5xf64>) -> tensor<1x5xf64>
    scf.forall.in_parallel { tensor.parallel_insert_slice %e into %t[%i, 0] [1, 5] [1, 1] : tensor<1x5xf64> into tensor<4x5xf64> }
  }
  return %r : tensor<4x5xf64>
}

// -----

// forall_memref_steps
func.func @main(%m: memref<4x4xf64>, %o: memref<4x4xf64>) {
  scf.forall (%i, %j) = (0, 0) to (4, 4) step (2, 2) {
    %a = memref.subview %m[%i, %j] [2, 2] [1, 1] : memref<4x4xf64> to memref<2x2xf64, strided<[4, 1], offset: ?>>
    %b = memref.subview %o[%j, %i] [2, 2] [1, 1] : memref<4x4xf64> to memref<2x2xf64, strided<[4, 1], offset: ?>>
    linalg.transpose ins(%a : memref<2x2xf64, strided<[4, 1], offset: ?>>) outs(%b : memref<2x2xf64, strided<[4, 1], offset: ?>>) permutation = [1, 0]
  }
  return
}

// -----

// while_tensor
func.func @main(%x: tensor<6xf64>) -> (tensor<6xf64>, index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %r:2 = scf.while (%t = %x, %i = %c0) : (tensor<6xf64>, index) -> (tensor<6xf64>, index) {
    %c = arith.cmpi slt, %i, %c3 : index
    scf.condition(%c) %t, %i : tensor<6xf64>, index
  } do {
  ^bb0(%t: tensor<6xf64>, %i: index):
    %s = math.sin %t : tensor<6xf64>
    %n = arith.addi %i, %c1 : index
    scf.yield %s, %n : tensor<6xf64>, index
  }
  return %r#0, %r#1 : tensor<6xf64>, index
}

// -----

// while_before_values
func.func @main(%x: f64) -> (f64, i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %lim = arith.constant 3.0 : f64
  %two = arith.constant 1.5 : f64
  %r:2 = scf.while (%a = %x, %k = %c0) : (f64, i32) -> (f64, i32) {
    %b = arith.mulf %a, %two : f64
    %c = arith.cmpf olt, %b, %lim : f64
    %n = arith.addi %k, %c1 : i32
    scf.condition(%c) %b, %n : f64, i32
  } do {
  ^bb0(%a: f64, %k: i32):
    %s = arith.addf %a, %x : f64
    scf.yield %s, %k : f64, i32
  }
  return %r#0, %r#1 : f64, i32
}

// -----

// while_with_a_counter_in_memory
func.func @main(%n: i32, %x: memref<?xf64>) -> f64 {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %z = arith.constant 0.0 : f64
  %acc = memref.alloca() : memref<f64>
  memref.store %z, %acc[] : memref<f64>
  %e = scf.while (%i = %c0) : (i32) -> i32 {
    %c = arith.cmpi slt, %i, %n : i32
    scf.condition(%c) %i : i32
  } do {
  ^bb0(%i: i32):
    %k = arith.index_cast %i : i32 to index
    %v = memref.load %x[%k] : memref<?xf64>
    %a = memref.load %acc[] : memref<f64>
    %q = arith.mulf %v, %v : f64
    %s = arith.addf %a, %q : f64
    memref.store %s, %acc[] : memref<f64>
    %j = arith.addi %i, %c1 : i32
    scf.yield %j : i32
  }
  %r = memref.load %acc[] : memref<f64>
  return %r : f64
}

// -----

// for_i32
func.func @main(%x: f64, %n: i32) -> f64 {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x) -> (f64) : i32 {
    %f = arith.sitofp %i : i32 to f64
    %b = arith.mulf %a, %x : f64
    %d = arith.addf %b, %f : f64
    scf.yield %d : f64
  }
  return %r : f64
}

// -----

// index_switch_execute
func.func @main(%x: f64, %n: index) -> f64 {
  %r = scf.index_switch %n -> f64
  case 1 {
    %q = arith.mulf %x, %x : f64
    scf.yield %q : f64
  }
  case 4 {
    %q = math.sqrt %x : f64
    scf.yield %q : f64
  }
  default {
    scf.yield %x : f64
  }
  %s = scf.execute_region -> f64 {
    %t = arith.addf %r, %x : f64
    scf.yield %t : f64
  }
  return %s : f64
}

// -----

// triangular_dynamic
func.func @main(%m: tensor<4x4xf64>, %b: tensor<4xf64>) -> tensor<4xf64> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %r = scf.for %i = %c0 to %c4 step %c1 iter_args(%x = %b) -> (tensor<4xf64>) {
    %v = tensor.extract %x[%i] : tensor<4xf64>
    %s = scf.for %j = %c0 to %i step %c1 iter_args(%a = %v) -> (f64) {
      %l = tensor.extract %m[%i, %j] : tensor<4x4xf64>
      %u = tensor.extract %x[%j] : tensor<4xf64>
      %p = arith.mulf %l, %u : f64
      %d = arith.subf %a, %p : f64
      scf.yield %d : f64
    }
    %q = tensor.extract %m[%i, %i] : tensor<4x4xf64>
    %e = arith.divf %s, %q : f64
    %n = tensor.insert %e into %x[%i] : tensor<4xf64>
    scf.yield %n : tensor<4xf64>
  }
  return %r : tensor<4xf64>
}

// -----

// branches_store_differently
func.func @main(%x: memref<6xf64>, %y: memref<6xf64>, %t: f64) {
  affine.for %i = 0 to 6 {
    %v = affine.load %x[%i] : memref<6xf64>
    %c = arith.cmpf olt, %v, %t : f64
    scf.if %c {
      %n = arith.negf %v : f64
      affine.store %n, %y[%i] : memref<6xf64>
    } else {
      %q = arith.mulf %v, %t : f64
      affine.store %q, %x[%i] : memref<6xf64>
      affine.store %v, %y[%i] : memref<6xf64>
    }
  }
  return
}
