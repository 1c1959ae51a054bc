// RUN: wengert-opt %s -p "fuse,fission" | filecheck %s

// Sums of rows and of columns leave no loop to threads together, and one each apart.
// CHECK-LABEL: @rows_and_columns
// CHECK: kernel.nest {{.*}} iterators [parallel, reduction]
// CHECK: kernel.yield add %{{.*}} to out0[d0] : f32
// CHECK: kernel.nest {{.*}} iterators [reduction, parallel]
// CHECK: kernel.yield add %{{.*}} to out0[d1] : f32
func.func public @rows_and_columns(%x: tensor<40x50xf32>) -> (tensor<40xf32>, tensor<50xf32>) {
  %0 = stablehlo.exponential %x : tensor<40x50xf32>
  %1 = core.reduce add %0 across [1] : (tensor<40x50xf32>) -> tensor<40xf32>
  %2 = core.reduce add %0 across [0] : (tensor<40x50xf32>) -> tensor<50xf32>
  return %1, %2 : tensor<40xf32>, tensor<50xf32>
}

// What is stored, and sums of the same rows, stay together.
// CHECK-LABEL: @rows_twice
// CHECK: kernel.nest
// CHECK: kernel.yield store
// CHECK-NEXT: add
// CHECK-NEXT: max
// CHECK-NOT: kernel.nest
func.func public @rows_twice(%x: tensor<40x50xf32>) -> (tensor<40x50xf32>, tensor<40xf32>, tensor<40xf32>) {
  %0 = stablehlo.exponential %x : tensor<40x50xf32>
  %1 = core.reduce add %0 across [1] : (tensor<40x50xf32>) -> tensor<40xf32>
  %2 = core.reduce max %0 across [1] : (tensor<40x50xf32>) -> tensor<40xf32>
  return %0, %1, %2 : tensor<40x50xf32>, tensor<40xf32>, tensor<40xf32>
}

// A few iterations are sooner run by one thread than a second kernel is launched.
// CHECK-LABEL: @few
// CHECK: kernel.nest
// CHECK: kernel.yield add
// CHECK-NEXT: add
// CHECK-NOT: kernel.nest
func.func public @few(%x: tensor<4x5xf32>) -> (tensor<4xf32>, tensor<5xf32>) {
  %0 = stablehlo.exponential %x : tensor<4x5xf32>
  %1 = core.reduce add %0 across [1] : (tensor<4x5xf32>) -> tensor<4xf32>
  %2 = core.reduce add %0 across [0] : (tensor<4x5xf32>) -> tensor<5xf32>
  return %1, %2 : tensor<4xf32>, tensor<5xf32>
}
