// complex_scalar
func.func @main(%x: f64, %y: f64) -> (f64, f64) {
  %z = complex.create %x, %y : complex<f64>
  %e = complex.exp %z : complex<f64>
  %w = complex.mul %e, %z : complex<f64>
  %a = complex.abs %w : complex<f64>
  %s = complex.sqrt %w : complex<f64>
  %i = complex.im %s : complex<f64>
  return %a, %i : f64, f64
}

// -----

// complex_more
func.func @main(%x: f64, %y: f64) -> (f64, f64) {
  %z = complex.create %x, %y : complex<f64>
  %c = complex.constant [1.5 : f64, -0.5 : f64] : complex<f64>
  %a = complex.div %z, %c : complex<f64>
  %b = complex.conj %a : complex<f64>
  %l = complex.log %b : complex<f64>
  %p = complex.pow %z, %c : complex<f64>
  %s = complex.sin %l : complex<f64>
  %t = complex.tanh %p : complex<f64>
  %q = complex.sub %s, %t : complex<f64>
  %n = complex.neg %q : complex<f64>
  %r = complex.re %n : complex<f64>
  %g = complex.angle %p : complex<f64>
  return %r, %g : f64, f64
}

// -----

// math_many
func.func @main(%x: f64, %y: f64) -> f64 {
  %c3 = arith.constant 3 : i32
  %a = math.fma %x, %y, %x : f64
  %b = math.powf %x, %y : f64
  %c = math.fpowi %x, %c3 : f64, i32
  %d = math.cbrt %x : f64
  %e = math.erf %y : f64
  %f = math.atan2 %y, %x : f64
  %g = math.rsqrt %x : f64
  %h = math.log1p %x : f64
  %i = math.expm1 %y : f64
  %j = math.copysign %x, %y : f64
  %k = math.absf %y : f64
  %l = math.log2 %x : f64
  %m = math.exp2 %y : f64
  %n = math.asinh %y : f64
  %o = math.log10 %x : f64
  %p = math.erfc %y : f64
  %t0 = arith.addf %a, %b : f64
  %t1 = arith.addf %t0, %c : f64
  %t2 = arith.addf %t1, %d : f64
  %t3 = arith.addf %t2, %e : f64
  %t4 = arith.addf %t3, %f : f64
  %t5 = arith.addf %t4, %g : f64
  %t6 = arith.addf %t5, %h : f64
  %t7 = arith.addf %t6, %i : f64
  %t8 = arith.addf %t7, %j : f64
  %t9 = arith.addf %t8, %k : f64
  %ta = arith.addf %t9, %l : f64
  %tb = arith.addf %ta, %m : f64
  %tc = arith.addf %tb, %n : f64
  %td = arith.addf %tc, %o : f64
  %te = arith.addf %td, %p : f64
  return %te : f64
}

// -----

// math_sincos_clamp
func.func @main(%x: f64, %lo: f64, %hi: f64) -> (f64, f64, f64) {
  %s, %c = math.sincos %x : f64
  %k = math.clampf %x to [%lo, %hi] : f64
  return %s, %c, %k : f64, f64, f64
}

// -----

// index_dialect
func.func @main(%x: tensor<6xf64>, %n: index) -> f64 {
  %two = index.constant 2
  %h = index.ceildivs %n, %two
  %k = index.sub %n, %h
  %a = tensor.extract %x[%h] : tensor<6xf64>
  %b = tensor.extract %x[%k] : tensor<6xf64>
  %c = index.cmp sgt(%h, %k)
  %m = index.maxs %h, %k
  %i = index.casts %m : index to i64
  %f = arith.sitofp %i : i64 to f64
  %s = arith.select %c, %a, %b : f64
  %p = arith.mulf %s, %f : f64
  return %p : f64
}

// -----

// integer_bits
func.func @main(%a: i32, %b: i32, %x: f64) -> (i32, f64) {
  %s = arith.shli %a, %b : i32
  %u = arith.shrui %s, %b : i32
  %v = arith.xori %u, %s : i32
  %c = math.ctpop %v : i32
  %l = math.ctlz %a : i32
  %t = math.cttz %s : i32
  %lo, %hi = arith.mulsi_extended %a, %v : i32
  %q = arith.addi %c, %l : i32
  %w = arith.addi %q, %t : i32
  %y = arith.addi %w, %hi : i32
  %d = arith.ceildivsi %y, %b : i32
  %f = arith.uitofp %d : i32 to f64
  %g = arith.mulf %f, %x : f64
  return %d, %g : i32, f64
}

// -----

// splat_remainder_division
func.func @main(%x: f64, %k: i64) -> (tensor<3xf64>, f64, i64) {
  %s = tensor.splat %x : tensor<3xf64>
  %c = arith.constant 0.7 : f64
  %r = arith.remf %x, %c : f64
  %f = arith.truncf %r : f64 to f32
  %g = arith.extf %f : f32 to f64
  %k2 = arith.constant -3 : i64
  %q = arith.floordivsi %k, %k2 : i64
  return %s, %r, %q : tensor<3xf64>, f64, i64
}

// -----

// fwddiff_loop
func.func @f(%x: f64) -> f64 {
  %c = arith.constant 10.0 : f64
  %r = affine.for %i = 0 to 3 iter_args(%a = %c) -> (f64) {
    %n = arith.mulf %a, %x : f64
    affine.yield %n : f64
  }
  return %r : f64
}
func.func @main(%x: f64, %dx: f64) -> f64 {
  %r = enzyme.fwddiff @f(%x, %dx) {
    activity=[#enzyme<activity enzyme_dup>], ret_activity=[#enzyme<activity enzyme_dupnoneed>]
  } : (f64, f64) -> (f64)
  return %r : f64
}
