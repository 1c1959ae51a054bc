// RUN: wengert-opt %s -p "to-core,fuse" | filecheck %s

// A row that is shifted and scaled is computed again from the row, although its scale is a root and a quotient: that is computed once for a row.
// CHECK-LABEL: @normalised
// CHECK: %[[SCALE:.*]] = kernel.nest
// CHECK: kernel.yield add %{{.*}} to out0[d0] : f32
// CHECK: %{{.*}} = kernel.matmul
// CHECK: kernel.nest (d0, d1) = (0, 0) to (512, 256)
// CHECK-NEXT: ins(%{{.*}} = %x: tensor<512x256xf32>, %{{.*}} = %[[SCALE]]: tensor<512xf32>
func.func public @normalised(%x: tensor<512x256xf32>, %w: tensor<256x256xf32>, %d: tensor<512x256xf32>) -> (tensor<512x256xf32>, tensor<256xf32>) {
  %0 = stablehlo.multiply %x, %x : tensor<512x256xf32>
  %1 = core.reduce add %0 across [1] : (tensor<512x256xf32>) -> tensor<512xf32>
  %2 = stablehlo.rsqrt %1 : tensor<512xf32>
  %3 = stablehlo.broadcast_in_dim %2, dims = [0] : (tensor<512xf32>) -> tensor<512x256xf32>
  %4 = stablehlo.multiply %x, %3 : tensor<512x256xf32>
  %5 = stablehlo.add %4, %d : tensor<512x256xf32>
  %6 = stablehlo.dot_general %5, %w, contracting_dims = [1] x [0] : (tensor<512x256xf32>, tensor<256x256xf32>) -> tensor<512x256xf32>
  %7 = stablehlo.multiply %6, %4 : tensor<512x256xf32>
  %8 = core.reduce add %7 across [0] : (tensor<512x256xf32>) -> tensor<256xf32>
  return %6, %8 : tensor<512x256xf32>, tensor<256xf32>
}

// A sum of four large arrays that later nests read is stored, although adding up is cheap: they would read four arrays instead of one.
// CHECK-LABEL: @residual
// CHECK: %[[SUM:.*]]:2 = kernel.nest
// CHECK: kernel.yield store %{{.*}} to out0[d0, d1] : f32,
// CHECK-NEXT: add %{{.*}} to out1[d0] : f32
// CHECK: kernel.nest
// CHECK-NEXT: ins(%{{.*}} = %[[SUM]]#0: tensor<512x256xf32>, %{{.*}} = %[[SUM]]#1: tensor<512xf32>)
func.func public @residual(%a: tensor<512x256xf32>, %b: tensor<512x256xf32>, %c: tensor<512x256xf32>, %d: tensor<512x256xf32>) -> tensor<512x256xf32> {
  %0 = stablehlo.add %a, %b : tensor<512x256xf32>
  %1 = stablehlo.add %0, %c : tensor<512x256xf32>
  %2 = stablehlo.add %1, %d : tensor<512x256xf32>
  %3 = core.reduce add %2 across [1] : (tensor<512x256xf32>) -> tensor<512xf32>
  %4 = stablehlo.broadcast_in_dim %3, dims = [0] : (tensor<512xf32>) -> tensor<512x256xf32>
  %5 = stablehlo.subtract %2, %4 : tensor<512x256xf32>
  return %5 : tensor<512x256xf32>
}

// What fits the first-level cache is computed again as long as that is cheap.
// CHECK-LABEL: @small
// CHECK: %[[SMALL:.*]] = kernel.nest
// CHECK: kernel.nest
// CHECK-NEXT: ins(%{{.*}} = %a: tensor<8x16xf32>, %{{.*}} = %b: tensor<8x16xf32>, %{{.*}} = %{{.*}}: tensor<8x16xf32>, %{{.*}} = %[[SMALL]]: tensor<8xf32>)
func.func public @small(%a: tensor<8x16xf32>, %b: tensor<8x16xf32>, %c: tensor<8x16xf32>) -> tensor<8x16xf32> {
  %0 = stablehlo.add %a, %b : tensor<8x16xf32>
  %1 = stablehlo.add %0, %c : tensor<8x16xf32>
  %2 = core.reduce add %1 across [1] : (tensor<8x16xf32>) -> tensor<8xf32>
  %3 = stablehlo.broadcast_in_dim %2, dims = [0] : (tensor<8xf32>) -> tensor<8x16xf32>
  %4 = stablehlo.subtract %1, %3 : tensor<8x16xf32>
  return %4 : tensor<8x16xf32>
}

// What is put between other elements, and once more in the next sum, goes through memory between them: each dilation is read element by element behind a test.
// CHECK-LABEL: @interleaved_twice
// CHECK: %[[ONCE:.*]] = kernel.nest (d0) = (0) to (8)
// CHECK: kernel.nest (d0) = (0) to (16)
// CHECK-NEXT: ins(%{{.*}} = %[[ONCE]]: tensor<8xf32>, %{{.*}} = %{{.*}}: tensor<8xf32>)
// CHECK: return
func.func public @interleaved_twice(%a: tensor<4xf32>, %b: tensor<4xf32>, %c: tensor<8xf32>) -> tensor<16xf32> {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.pad %a, %z, low = [0], high = [1], interior = [1] : (tensor<4xf32>, tensor<f32>) -> tensor<8xf32>
  %1 = stablehlo.pad %b, %z, low = [1], high = [0], interior = [1] : (tensor<4xf32>, tensor<f32>) -> tensor<8xf32>
  %2 = stablehlo.add %0, %1 : tensor<8xf32>
  %3 = stablehlo.pad %2, %z, low = [0], high = [1], interior = [1] : (tensor<8xf32>, tensor<f32>) -> tensor<16xf32>
  %4 = stablehlo.pad %c, %z, low = [1], high = [0], interior = [1] : (tensor<8xf32>, tensor<f32>) -> tensor<16xf32>
  %5 = stablehlo.add %3, %4 : tensor<16xf32>
  return %5 : tensor<16xf32>
}
