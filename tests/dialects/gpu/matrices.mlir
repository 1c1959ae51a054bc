// RUN: wengert-opt %s | filecheck %s
// Products of matrices by a warp, and copies that arrive later, in the form in which they are printed.

module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @k(%x: memref<64xbf16, 1>, %f: memref<64xf32, 1>) workgroup(%w: memref<64xbf16, 3>, %h: memref<64xf16, 3>, %v: memref<64xf32, 3>) kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
      %i = arith.constant 8 : index
      %zero = arith.constant dense<0.000000e+00> : vector<2x2xf32>
      // CHECK: nvgpu.device_async_copy %x[%{{.*}}], %w[%{{.*}}], 8 {bypassL1} : memref<64xbf16, 1> to memref<64xbf16, 3>
      %t = nvgpu.device_async_copy %x[%i], %w[%i], 8 {bypassL1} : memref<64xbf16, 1> to memref<64xbf16, 3>
      // CHECK: nvgpu.device_async_copy %f[%{{.*}}], %v[%{{.*}}], 1, %{{.*}} : memref<64xf32, 1> to memref<64xf32, 3>
      %u = nvgpu.device_async_copy %f[%i], %v[%i], 1, %i : memref<64xf32, 1> to memref<64xf32, 3>
      // CHECK: nvgpu.device_async_create_group %{{.*}}, %{{.*}}
      %g = nvgpu.device_async_create_group %t, %u
      // CHECK: "nvgpu.device_async_create_group"() : () -> !nvgpu.device.async.token
      %n = "nvgpu.device_async_create_group"() : () -> !nvgpu.device.async.token
      // CHECK: nvgpu.device_async_wait %{{.*}} {numGroups = 1 : i32}
      nvgpu.device_async_wait %g {numGroups = 1 : i32}
      // CHECK: nvgpu.device_async_wait
      nvgpu.device_async_wait %n
      // CHECK: nvgpu.ldmatrix %w[%{{.*}}] {numTiles = 4 : i32, transpose = false} : memref<64xbf16, 3> -> vector<4x2xbf16>
      %a = nvgpu.ldmatrix %w[%i] {numTiles = 4 : i32, transpose = false} : memref<64xbf16, 3> -> vector<4x2xbf16>
      %b = nvgpu.ldmatrix %w[%i] {numTiles = 2 : i32, transpose = true} : memref<64xbf16, 3> -> vector<2x2xbf16>
      // CHECK: nvgpu.mma.sync(%{{.*}}, %{{.*}}, %{{.*}}) {mmaShape = [16 : i64, 8 : i64, 16 : i64]} : (vector<4x2xbf16>, vector<2x2xbf16>, vector<2x2xf32>) -> vector<2x2xf32>
      %d = nvgpu.mma.sync(%a, %b, %zero) {mmaShape = [16, 8, 16]} : (vector<4x2xbf16>, vector<2x2xbf16>, vector<2x2xf32>) -> vector<2x2xf32>
      %p = nvgpu.ldmatrix %v[%i] {numTiles = 4 : i32, transpose = false} : memref<64xf32, 3> -> vector<4x1xf32>
      %q = nvgpu.ldmatrix %v[%i] {numTiles = 2 : i32, transpose = false} : memref<64xf32, 3> -> vector<2x1xf32>
      // CHECK: nvgpu.mma.sync(%{{.*}}, %{{.*}}, %{{.*}}) {mmaShape = [16 : i64, 8 : i64, 8 : i64], tf32Enabled} : (vector<4x1xf32>, vector<2x1xf32>, vector<2x2xf32>) -> vector<2x2xf32>
      %e = nvgpu.mma.sync(%p, %q, %d) {mmaShape = [16, 8, 8], tf32Enabled} : (vector<4x1xf32>, vector<2x1xf32>, vector<2x2xf32>) -> vector<2x2xf32>
      %s = vector.extract %e[1, 0] : f32 from vector<2x2xf32>
      memref.store %s, %f[%i] : memref<64xf32, 1>
      gpu.return
    }
  }
}
