// RUN: wengert-opt %s -p "fuse" | filecheck %s

// What a loop overwrites whole begins as memory without contents: neither filled with zeros nor copied from what another array begins with.
// CHECK-LABEL: @whole
// CHECK-NOT: kernel.nest
// CHECK-DAG: %[[FIRST:.*]] = kernel.empty : tensor<5x3xf64>
// CHECK-DAG: %[[SECOND:.*]] = kernel.empty : tensor<5x3xf64>
// CHECK: core.for %{{.*}} carried(%{{.*}} = %x: tensor<3xf64>, %{{.*}} = %[[FIRST]]: tensor<5x3xf64>, %{{.*}} = %[[SECOND]]: tensor<5x3xf64>)
func.func public @whole(%x: tensor<3xf64>) -> (tensor<5x3xf64>, tensor<5x3xf64>) {
  %n = stablehlo.constant dense<5> : tensor<i64>
  %z = stablehlo.constant dense<0.0> : tensor<5x3xf64>
  %0:3 = core.for %i to %n carried(%c = %x: tensor<3xf64>, %s = %z: tensor<5x3xf64>, %t = %z: tensor<5x3xf64>) {
    %c0 = stablehlo.constant dense<0> : tensor<i64>
    %last = stablehlo.constant dense<4> : tensor<i64>
    %j = stablehlo.subtract %last, %i : tensor<i64>
    %1 = stablehlo.sine %c : tensor<3xf64>
    %2 = stablehlo.reshape %1 : (tensor<3xf64>) -> tensor<1x3xf64>
    %3 = stablehlo.dynamic_update_slice %s, %2, %i, %c0 : (tensor<5x3xf64>, tensor<1x3xf64>, tensor<i64>, tensor<i64>) -> tensor<5x3xf64>
    %4 = stablehlo.dynamic_update_slice %t, %2, %j, %c0 : (tensor<5x3xf64>, tensor<1x3xf64>, tensor<i64>, tensor<i64>) -> tensor<5x3xf64>
    stablehlo.return %1, %3, %4 : tensor<3xf64>, tensor<5x3xf64>, tensor<5x3xf64>
  }
  return %0#1, %0#2 : tensor<5x3xf64>, tensor<5x3xf64>
}

// One row keeps what it began with.
// CHECK-LABEL: @partial
// CHECK: %[[ZEROS:.*]] = {{.*}} : tensor<6x3xf64>
// CHECK-NOT: kernel.empty
// CHECK: core.for
func.func public @partial(%x: tensor<3xf64>) -> tensor<6x3xf64> {
  %n = stablehlo.constant dense<5> : tensor<i64>
  %z = stablehlo.constant dense<0.0> : tensor<6x3xf64>
  %0:2 = core.for %i to %n carried(%c = %x: tensor<3xf64>, %s = %z: tensor<6x3xf64>) {
    %c0 = stablehlo.constant dense<0> : tensor<i64>
    %1 = stablehlo.sine %c : tensor<3xf64>
    %2 = stablehlo.reshape %1 : (tensor<3xf64>) -> tensor<1x3xf64>
    %3 = stablehlo.dynamic_update_slice %s, %2, %i, %c0 : (tensor<6x3xf64>, tensor<1x3xf64>, tensor<i64>, tensor<i64>) -> tensor<6x3xf64>
    stablehlo.return %1, %3 : tensor<3xf64>, tensor<6x3xf64>
  }
  return %0#1 : tensor<6x3xf64>
}
