// RUN: wengert-opt %s --split-input-file --verify-diagnostics
// What is wrong in the text of the gpu level is said at its place.

gpu.module @m {
  // expected-error@below {{unknown operation 'gpu.thread_idx'}}
  gpu.func @k() kernel { %t = gpu.thread_idx x gpu.return }
}

// -----

gpu.module @m {
  gpu.func @k() kernel {
    // expected-error@below {{unknown dim 'w'}}
    %t = gpu.thread_id w
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @k(%x: f32, %o: i32) kernel {
    // expected-error@below {{unknown shuffle mode 'xr'}}
    %s:2 = gpu.shuffle xr %x, %o, %o : f32
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @k(%x: f32, %o: i64) kernel {
    // expected-error@below {{'%o' is used here as i32, but its type is i64}}
    %s:2 = gpu.shuffle xor %x, %o, %o : f32
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @k(%x: index, %o: i32) kernel {
    // expected-error@below {{an integer or a floating-point number is shuffled, found index}}
    %s:2 = gpu.shuffle xor %x, %o, %o : index
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @k(%x: f32) kernel {
    // expected-error@below {{'minui' does not combine values of type f32}}
    %s = gpu.subgroup_reduce minui %x : (f32) -> f32
    gpu.return
  }
}

// -----

gpu.module @m {
  // expected-error@below {{workgroup buffer #0 must be a static memref in space 3, found memref<8xf32, 1>}}
  gpu.func @k() workgroup(%w: memref<8xf32, 1>) kernel {
    gpu.return
  }
}

// -----

gpu.module @m {
  // expected-error@below {{private buffer #0 must be a static memref in space 5}}
  gpu.func @k() private(%w: memref<?xf32, 5>) kernel {
    gpu.return
  }
}

// -----

gpu.module @m {
  // expected-error@below {{a kernel returns nothing}}
  gpu.func @k(%x: f32) -> f32 kernel {
    gpu.return %x : f32
  }
}

// -----

gpu.module @m {
  gpu.func @k(%x: f32) -> f32 {
    // expected-error@below {{@k returns (f32), found ()}}
    gpu.return
  }
}

// -----

gpu.module @m {
  // expected-error@below {{'known_block_size' holds three positive i32 numbers}}
  gpu.func @k() kernel attributes {known_block_size = array<i32: 128, 1>} {
    gpu.return
  }
}

// -----

// expected-error@below {{#nvvm.target has no key 'chp'; did you mean 'chip'?}}
gpu.module @m [#nvvm.target<chp = "sm_90">] {
}

// -----

// expected-error@below {{'chip' of #rocdl.target is a string}}
gpu.module @m [#rocdl.target<chip = 942>] {
}

// -----

// expected-error@below {{unknown attribute '#gpu.objekt'}}
gpu.binary @b [#gpu.objekt<#nvvm.target, "">]

// -----

// expected-error@below {{a binary holds a list of #gpu.object, at least one}}
gpu.binary @b []

// -----

func.func @main(%x: memref<4xf32, 1>) {
  %one = arith.constant 1 : index
  // expected-error@below {{launches a kernel from a module that does not say that it holds modules of devices}}
  gpu.launch_func @m::@k blocks in (%one, %one, %one) threads in (%one, %one, %one)
  return
}
gpu.module @m {
  gpu.func @k() kernel {
    gpu.return
  }
}

// -----

module attributes {gpu.container_module} {
  gpu.module @m {
    gpu.func @kern() kernel {
      gpu.return
    }
  }
  func.func @main(%x: memref<4xf32, 1>) {
    %one = arith.constant 1 : index
    // expected-error@below {{there is no kernel @krn in @m}}
    gpu.launch_func @m::@krn blocks in (%one, %one, %one) threads in (%one, %one, %one)
    // expected-error@below {{there is no symbol @n in this module}}
    gpu.launch_func @n::@kern blocks in (%one, %one, %one) threads in (%one, %one, %one)
    // expected-error@below {{names a kernel as @module::@kernel}}
    gpu.launch_func @m blocks in (%one, %one, %one) threads in (%one, %one, %one)
    return
  }
}

// -----

module attributes {gpu.container_module} {
  gpu.module @m {
    gpu.func @k(%x: memref<4xf32, 1>) kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
      gpu.return
    }
  }
  func.func @main(%x: memref<4xf32, 1>, %y: memref<8xf32, 1>) {
    %one = arith.constant 1 : index
    %many = arith.constant 64 : index
    // expected-error@below {{@k takes 1 argument, found 0}}
    gpu.launch_func @m::@k blocks in (%one, %one, %one) threads in (%one, %one, %one)
    // expected-error@below {{argument #0 of @k has the type memref<4xf32, 1>, found memref<8xf32, 1>}}
    gpu.launch_func @m::@k blocks in (%one, %one, %one) threads in (%one, %one, %one) args(%y : memref<8xf32, 1>)
    // expected-error@below {{@k is compiled for work-groups of (32, 1, 1) threads, found (64, 1, 1)}}
    gpu.launch_func @m::@k blocks in (%one, %one, %one) threads in (%many, %one, %one) args(%x : memref<4xf32, 1>)
    return
  }
}

// -----

func.func @main() {
  %one = arith.constant 1 : index
  // expected-error@below {{expected a name for each of three dimensions, found 2}}
  gpu.launch blocks(%bx, %by) in (%gx = %one, %gy = %one, %gz = %one) threads(%tx, %ty, %tz) in (%sx = %one, %sy = %one, %sz = %one) {
    gpu.terminator
  }
  return
}

// -----

func.func @main() {
  %one = arith.constant 1 : index
  // expected-error@below {{'async' is not supported: launches are in order}}
  %t = gpu.launch async blocks(%bx, %by, %bz) in (%gx = %one, %gy = %one, %gz = %one) threads(%tx, %ty, %tz) in (%sx = %one, %sy = %one, %sz = %one) {
    gpu.terminator
  }
  return
}

// -----

gpu.module @m {
  gpu.func @k(%x: memref<4xf32, 1>, %v: f32, %i: index) kernel {
    // expected-error@below {{unknown atomic kind 'addg'}}
    %o = memref.atomic_rmw addg %v, %x[%i] : (f32, memref<4xf32, 1>) -> f32
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @k(%x: memref<4xf32, 1>, %v: f32, %i: index) kernel {
    // expected-error@below {{'addi' does not combine elements of type f32}}
    %o = memref.atomic_rmw addi %v, %x[%i] : (f32, memref<4xf32, 1>) -> f32
    // expected-error@below {{an element of memref<4xf32, 1> has 1 indices, found 2}}
    %p = memref.atomic_rmw addf %v, %x[%i, %i] : (f32, memref<4xf32, 1>) -> f32
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @k(%x: memref<4xf32, 1>, %v: f64, %i: index) kernel {
    %o = memref.generic_atomic_rmw %x[%i] : memref<4xf32, 1> {
    ^bb0(%c: f32):
      // expected-error@below {{the new element has the type f32, found f64}}
      memref.atomic_yield %v : f64
    }
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @k(%a: vector<4x2xbf16>, %b: vector<2x2xf16>, %c: vector<2x2xf32>) kernel {
    // expected-error@below {{the right factor has the type vector<2x2xbf16>, found vector<2x2xf16>}}
    %d = nvgpu.mma.sync(%a, %b, %c) {mmaShape = [16, 8, 16]} : (vector<4x2xbf16>, vector<2x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @k(%a: vector<4x2xbf16>, %b: vector<2x2xbf16>, %c: vector<2x2xf32>) kernel {
    // expected-error@below {{a product of bf16 has mmaShape = [16, 8, 16], found [16, 8, 8]}}
    %d = nvgpu.mma.sync(%a, %b, %c) {mmaShape = [16, 8, 8]} : (vector<4x2xbf16>, vector<2x2xbf16>, vector<2x2xf32>) -> vector<2x2xf32>
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @k(%w: memref<64xbf16, 1>, %i: index) kernel {
    // expected-error@below {{workgroup memory is read, found memref<64xbf16, 1>}}
    %a = nvgpu.ldmatrix %w[%i] {numTiles = 4 : i32, transpose = false} : memref<64xbf16, 1> -> vector<4x2xbf16>
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @k(%x: memref<64xbf16, 1>, %i: index) workgroup(%w: memref<64xbf16, 3>) kernel {
    // expected-error@below {{4, 8 or 16 bytes are copied, with bypassL1 16, found 6}}
    %t = nvgpu.device_async_copy %x[%i], %w[%i], 3 : memref<64xbf16, 1> to memref<64xbf16, 3>
    gpu.return
  }
}

// -----

gpu.module @m {
  // expected-error@below {{unknown operation 'nvgpu.mma.synch'}}
  gpu.func @k() kernel { nvgpu.mma.synch gpu.return }
}
