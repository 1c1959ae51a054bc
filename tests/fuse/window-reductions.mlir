// RUN: wengert-opt %s -p "window-reductions" | filecheck %s --check-prefixes=CHECK,STRICT
// RUN: wengert-opt %s -p "window-reductions{reassociate=true}" | filecheck %s --check-prefixes=CHECK,FREE

// A maximum combines in any order: 7 + 7 steps instead of 49, and the padding is written beforehand.
// CHECK-LABEL: @max
// CHECK: stablehlo.pad %x
// CHECK: core.window_reduce max {{.*}} window = [{{7, 1|1, 7}}], {{.*}} padding = [0, 0, 0, 0]
// CHECK: core.window_reduce max {{.*}} window = [{{7, 1|1, 7}}], {{.*}} padding = [0, 0, 0, 0]
func.func public @max(%x: tensor<40x40xf32>) -> tensor<40x40xf32> {
  %0 = core.window_reduce max %x, window = [7, 7], strides = [1, 1], base_dilations = [1, 1], window_dilations = [1, 1], padding = [3, 3, 3, 3] : (tensor<40x40xf32>) -> tensor<40x40xf32>
  return %0 : tensor<40x40xf32>
}

// A sum is folded by dimensions only if it may be reassociated.
// CHECK-LABEL: @sum
// STRICT: core.window_reduce add {{.*}} window = [7, 7]
// FREE: core.window_reduce add {{.*}} window = [{{7, 1|1, 7}}]
// FREE: core.window_reduce add {{.*}} window = [{{7, 1|1, 7}}]
func.func public @sum(%x: tensor<40x40xf32>) -> tensor<34x34xf32> {
  %0 = core.window_reduce add %x, window = [7, 7], strides = [1, 1], base_dilations = [1, 1], window_dilations = [1, 1], padding = [0, 0, 0, 0] : (tensor<40x40xf32>) -> tensor<34x34xf32>
  return %0 : tensor<34x34xf32>
}
