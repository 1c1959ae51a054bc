// RUN: wengert-opt %s -p "to-core,expand-regions" | filecheck %s

// All pairs of neighbours at once, by the region's ops on whole tensors: 4 elements take two steps, and the initial values a third.
// CHECK-LABEL: @larger_of_pairs
// CHECK-NOT: stablehlo.reduce
// CHECK: stablehlo.compare GT, %{{.*}} : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xi1>
// CHECK: stablehlo.compare GT, %{{.*}} : (tensor<1xf32>, tensor<1xf32>) -> tensor<1xi1>
func.func public @larger_of_pairs(%x: tensor<4xf32>, %y: tensor<4xf64>) -> (tensor<f32>, tensor<f64>) {
  %least = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %zero = stablehlo.constant dense<0.0> : tensor<f64>
  %0:2 = "stablehlo.reduce"(%x, %y, %least, %zero) <{dimensions = array<i64: 0>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f64>, %c: tensor<f32>, %d: tensor<f64>):
    %1 = stablehlo.compare GT, %a, %c : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %2 = stablehlo.select %1, %a, %c : tensor<i1>, tensor<f32>
    %3 = stablehlo.select %1, %b, %d : tensor<i1>, tensor<f64>
    stablehlo.return %2, %3 : tensor<f32>, tensor<f64>
  }) : (tensor<4xf32>, tensor<4xf64>, tensor<f32>, tensor<f64>) -> (tensor<f32>, tensor<f64>)
  return %0#0, %0#1 : tensor<f32>, tensor<f64>
}

// What has a name stays as it is.
// CHECK-LABEL: @sum
// CHECK: core.reduce add
func.func public @sum(%x: tensor<4xf32>) -> tensor<f32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}
