// RUN: wengert-opt %s -p "to-core,fuse,bufferize{target=avx2}" | filecheck %s
// A loop that fills all rows of a table but one writes it where it lies: the body ends in %now, and there is no second buffer for it.

// CHECK-LABEL: @main
// CHECK:       kernel.for
// CHECK-NEXT:  constants(
// CHECK-NEXT:  carried(%[[NOW:.*]]: memref<17x8xf32> = %table: memref<17x8xf32> into %out: memref<17x8xf32>)
// CHECK-NEXT:  arena(
// CHECK-NEXT:  kernel.launch ins({{.*}} outs(%[[NOW]]: memref<17x8xf32>) {
// CHECK:       kernel.end %[[NOW]] : memref<17x8xf32>
func.func @main(%table: tensor<17x8xf32>, %row: tensor<1x8xf32>) -> tensor<17x8xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %0:2 = stablehlo.while(%i = %zero, %t = %table) : tensor<i32>, tensor<17x8xf32>
   cond {
    %n = stablehlo.constant dense<16> : tensor<i32>
    %c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %j = stablehlo.add %i, %one : tensor<i32>
    %k = stablehlo.constant dense<0> : tensor<i32>
    %u = stablehlo.dynamic_update_slice %t, %row, %i, %k : (tensor<17x8xf32>, tensor<1x8xf32>, tensor<i32>, tensor<i32>) -> tensor<17x8xf32>
    stablehlo.return %j, %u : tensor<i32>, tensor<17x8xf32>
  }
  return %0#1 : tensor<17x8xf32>
}
