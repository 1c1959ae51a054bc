// RUN: wengert-opt %s -p "distribute-products{least=1 smallest=1 reassociate=true}" | filecheck %s --check-prefixes=CHECK,FREE
// RUN: wengert-opt %s -p "distribute-products{least=1 smallest=1}" | filecheck %s --check-prefixes=CHECK,STRICT
// RUN: wengert-opt %s -p "distribute-products{reassociate=true}" | filecheck %s --check-prefixes=SMALL

// Rows of a stack times a matrix: one product in front of the loop. (What is small stays.)
// CHECK-LABEL: @front
// CHECK: %[[ALL:.*]] = stablehlo.dot_general %xs, %w, contracting_dims = [2] x [0]
// CHECK-SAME: -> tensor<5x2x16xf32>
// CHECK: core.for
// CHECK-NOT: dot_general
// CHECK: dynamic_slice
// CHECK-NOT: dot_general
// CHECK: return
// SMALL-LABEL: @front
// SMALL: core.for
// SMALL: dot_general
func.func public @front(%xs: tensor<5x2x8xf32>, %w: tensor<8x16xf32>, %h: tensor<2x16xf32>) -> tensor<2x16xf32> {
  %n = stablehlo.constant dense<5> : tensor<i64>
  %r = core.for %i to %n constants(%a = %xs: tensor<5x2x8xf32>, %m = %w: tensor<8x16xf32>) carried(%c = %h: tensor<2x16xf32>) {
    %z = stablehlo.constant dense<0> : tensor<i64>
    %s = stablehlo.dynamic_slice %a, %i, %z, %z, sizes = [1, 2, 8] : (tensor<5x2x8xf32>, tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<1x2x8xf32>
    %x = stablehlo.reshape %s : (tensor<1x2x8xf32>) -> tensor<2x8xf32>
    %p = stablehlo.dot_general %x, %m, contracting_dims = [1] x [0] : (tensor<2x8xf32>, tensor<8x16xf32>) -> tensor<2x16xf32>
    %q = stablehlo.multiply %c, %p : tensor<2x16xf32>
    stablehlo.return %q : tensor<2x16xf32>
  }
  return %r : tensor<2x16xf32>
}

// A sum of products of rows, gone through in reverse: one product over all rows, behind a loop that writes the rows which are not there yet.
// CHECK-LABEL: @sum
// FREE: %[[LOOP:.*]]:2 = core.for
// FREE-NOT: dot_general
// FREE: dynamic_update_slice
// FREE: stablehlo.dot_general %xs, %[[LOOP]]#1, contracting_dims = [0, 1] x [0, 1]
// FREE-SAME: -> tensor<8x16xf32>
// STRICT: core.for
// STRICT: dot_general
// STRICT-NOT: dynamic_update_slice
// STRICT: return
func.func public @sum(%xs: tensor<5x2x8xf32>, %h: tensor<2x16xf32>) -> (tensor<2x16xf32>, tensor<8x16xf32>) {
  %n = stablehlo.constant dense<5> : tensor<i64>
  %zero = stablehlo.constant dense<0.0> : tensor<8x16xf32>
  %r, %t = core.for %i to %n constants(%a = %xs: tensor<5x2x8xf32>) carried(%c = %h: tensor<2x16xf32>, %g = %zero: tensor<8x16xf32>) {
    %z = stablehlo.constant dense<0> : tensor<i64>
    %last = stablehlo.constant dense<4> : tensor<i64>
    %j = stablehlo.subtract %last, %i : tensor<i64>
    %s = stablehlo.dynamic_slice %a, %j, %z, %z, sizes = [1, 2, 8] : (tensor<5x2x8xf32>, tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<1x2x8xf32>
    %x = stablehlo.reshape %s : (tensor<1x2x8xf32>) -> tensor<2x8xf32>
    %y = stablehlo.sine %c : tensor<2x16xf32>
    %p = stablehlo.dot_general %x, %y, contracting_dims = [0] x [0] : (tensor<2x8xf32>, tensor<2x16xf32>) -> tensor<8x16xf32>
    %u = stablehlo.add %g, %p : tensor<8x16xf32>
    stablehlo.return %y, %u : tensor<2x16xf32>, tensor<8x16xf32>
  }
  return %r, %t : tensor<2x16xf32>, tensor<8x16xf32>
}

// A stack of which the loop does not write all rows in order stays.
// CHECK-LABEL: @every_second
// CHECK: core.for
// CHECK: dot_general
// CHECK: return
// CHECK-NOT: dot_general
func.func public @every_second(%h: tensor<2x8xf32>, %w: tensor<8x16xf32>, %e: tensor<10x2x16xf32>) -> tensor<10x2x16xf32> {
  %n = stablehlo.constant dense<5> : tensor<i64>
  %r, %t = core.for %i to %n constants(%m = %w: tensor<8x16xf32>) carried(%c = %h: tensor<2x8xf32>, %g = %e: tensor<10x2x16xf32>) {
    %z = stablehlo.constant dense<0> : tensor<i64>
    %j = stablehlo.add %i, %i : tensor<i64>
    %y = stablehlo.sine %c : tensor<2x8xf32>
    %p = stablehlo.dot_general %y, %m, contracting_dims = [1] x [0] : (tensor<2x8xf32>, tensor<8x16xf32>) -> tensor<2x16xf32>
    %q = stablehlo.reshape %p : (tensor<2x16xf32>) -> tensor<1x2x16xf32>
    %u = stablehlo.dynamic_update_slice %g, %q, %j, %z, %z : (tensor<10x2x16xf32>, tensor<1x2x16xf32>, tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<10x2x16xf32>
    stablehlo.return %y, %u : tensor<2x8xf32>, tensor<10x2x16xf32>
  }
  return %t : tensor<10x2x16xf32>
}
