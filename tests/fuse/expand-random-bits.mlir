// RUN: wengert-opt %s -p "expand-random-bits" | filecheck %s
// RUN: wengert-opt %s -p "expand-random-bits,fuse" | filecheck %s --check-prefix NESTS

// Three blocks of two words: the numbers of the blocks, twenty rounds that begin with a rotation by 13, pairs side by side.
// CHECK-LABEL: @threefry
// CHECK-NOT: rng_bit_generator
// CHECK: stablehlo.iota dim = 0 : tensor<3xui64>
// CHECK: stablehlo.constant dense<466688986> : tensor<3xui32>
// CHECK: stablehlo.constant dense<13> : tensor<3xui32>
// CHECK: stablehlo.shift_left
// CHECK: stablehlo.concatenate {{.*}}, dim = 1 : (tensor<3x1xui32>, tensor<3x1xui32>) -> tensor<3x2xui32>
// CHECK: stablehlo.bitcast_convert {{.*}} : (tensor<6xui32>) -> tensor<6xf32>
// NESTS-LABEL: @threefry
// NESTS: kernel.nest
func.func public @threefry(%state: tensor<2xui64>) -> (tensor<2xui64>, tensor<6xf32>) {
  %0:2 = stablehlo.rng_bit_generator %state, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<6xf32>)
  return %0#0, %0#1 : tensor<2xui64>, tensor<6xf32>
}

// Four words from a block, of which the last block gives three.
// CHECK-LABEL: @philox
// CHECK: stablehlo.iota dim = 0 : tensor<2xui64>
// CHECK: stablehlo.slice %{{.*}} [0:7] : (tensor<8xui32>) -> tensor<7xui32>
func.func public @philox(%state: tensor<3xui64>) -> (tensor<3xui64>, tensor<7xui32>) {
  %0:2 = stablehlo.rng_bit_generator %state, algorithm = PHILOX : (tensor<3xui64>) -> (tensor<3xui64>, tensor<7xui32>)
  return %0#0, %0#1 : tensor<3xui64>, tensor<7xui32>
}
