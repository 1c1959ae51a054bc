// affine_if_set
#s = affine_set<(d0)[s0] : (d0 - 2 >= 0, s0 - d0 - 2 >= 0)>
func.func @main(%x: tensor<6xf64>) -> f64 {
  %z = arith.constant 0.0 : f64
  %c6 = arith.constant 6 : index
  %r = affine.for %i = 0 to 6 iter_args(%a = %z) -> (f64) {
    %v = tensor.extract %x[%i] : tensor<6xf64>
    %w = affine.if #s(%i)[%c6] -> f64 {
      %q = arith.mulf %v, %v : f64
      affine.yield %q : f64
    } else {
      affine.yield %v : f64
    }
    %n = arith.addf %a, %w : f64
    affine.yield %n : f64
  }
  return %r : f64
}

// -----

// affine_if_equalities
#e = affine_set<(d0, d1) : (d0 - d1 == 0)>
#u = affine_set<(d0, d1) : (d1 - d0 - 1 >= 0)>
func.func @main(%m: memref<4x4xf64>) {
  affine.for %i = 0 to 4 { affine.for %j = 0 to 4 {
      %v = affine.load %m[%i, %j] : memref<4x4xf64>
      affine.if #e(%i, %j) {
        %q = math.exp %v : f64
        affine.store %q, %m[%i, %j] : memref<4x4xf64>
      }
      affine.if #u(%i, %j) {
        %t = affine.load %m[%j, %i] : memref<4x4xf64>
        %s = arith.mulf %v, %t : f64
        affine.store %s, %m[%i, %j] : memref<4x4xf64>
      }
    }
  }
  return
}

// -----

// affine_parallel_reduce
func.func @main(%m: memref<4x5xf64>) -> f64 {
  %s = affine.parallel (%i, %j) = (0, 0) to (4, 5) reduce ("addf") -> f64 {
    %v = affine.load %m[%i, %j] : memref<4x5xf64>
    %q = math.exp %v : f64
    affine.yield %q : f64
  }
  return %s : f64
}

// -----

// affine_parallel_max_two
func.func @main(%m: memref<4x5xf64>) -> (f64, f64) {
  %s:2 = affine.parallel (%i, %j) = (0, 0) to (4, 5) step (2, 1) reduce ("maximumf", "mulf") -> (f64, f64) {
    %v = affine.load %m[%i, %j] : memref<4x5xf64>
    affine.yield %v, %v : f64, f64
  }
  return %s#0, %s#1 : f64, f64
}

// -----

// affine_tiled_min
#mn = affine_map<(d0) -> (d0 + 4, 6)>
func.func @main(%x: memref<6xf64>, %y: memref<6xf64>) {
  affine.for %t = 0 to 6 step 4 {
    affine.for %i = affine_map<(d0) -> (d0)>(%t) to min #mn(%t) {
      %v = affine.load %x[%i] : memref<6xf64>
      %k = affine.apply affine_map<(d0) -> (d0 mod 3)>(%i)
      %w = affine.load %x[%k] : memref<6xf64>
      %q = arith.mulf %v, %w : f64
      affine.store %q, %y[5 - %i] : memref<6xf64>
    }
  }
  return
}

// -----

// max_bounds_symbols
func.func @main(%x: memref<8xf64>, %n: index) -> f64 {
  %z = arith.constant 0.0 : f64
  %r = affine.for %i = max affine_map<(d0) -> (1, d0 - 3)>(%n) to min affine_map<(d0) -> (d0, 8)>(%n) iter_args(%a = %z) -> (f64) {
    %v = affine.load %x[%i] : memref<8xf64>
    %w = affine.load %x[(%i + symbol(%n)) mod 8] : memref<8xf64>
    %q = arith.mulf %v, %w : f64
    %s = arith.addf %a, %q : f64
    affine.yield %s : f64
  }
  return %r : f64
}

// -----

// linearize
func.func @main(%m: memref<20xf64>, %o: memref<4x5xf64>) {
  affine.for %l = 0 to 20 {
    %ij:2 = affine.delinearize_index %l into (4, 5) : index, index
    %k = affine.linearize_index [%ij#1, %ij#0] by (5, 4) : index
    %v = memref.load %m[%k] : memref<20xf64>
    %q = arith.mulf %v, %v : f64
    memref.store %q, %o[%ij#0, %ij#1] : memref<4x5xf64>
  }
  return
}

// -----

// calls_in_loop
func.func private @step(%a: f64, %b: f64) -> (f64, f64) {
  %s = arith.addf %a, %b : f64
  %m = arith.mulf %s, %b : f64
  return %s, %m : f64, f64
}
func.func @main(%x: f64, %y: f64) -> f64 {
  %r:2 = affine.for %i = 0 to 4 step 2 iter_args(%a = %x, %b = %y) -> (f64, f64) {
    %q:2 = func.call @step(%a, %b) : (f64, f64) -> (f64, f64)
    affine.yield %q#0, %q#1 : f64, f64
  }
  return %r#1 : f64
}
