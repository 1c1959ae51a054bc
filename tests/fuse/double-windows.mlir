// RUN: wengert-opt %s -p "to-core,double-windows{reassociate=true}" | filecheck %s --check-prefixes=CHECK,FREE
// RUN: wengert-opt %s -p "to-core,double-windows" | filecheck %s --check-prefixes=CHECK,STRICT

// A running reduction by a region of its own is a scan over whole tensors, if it may be reassociated.
// CHECK-LABEL: @running
// FREE-NOT: stablehlo.reduce_window
// FREE: stablehlo.exponential {{.*}} : tensor<100xf32>
// STRICT: stablehlo.reduce_window
func.func public @running(%x: tensor<200xf32>) -> tensor<200xf32> {
  %least = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %0 = "stablehlo.reduce_window"(%x, %least) <{padding = dense<[[199, 0]]> : tensor<1x2xi64>, window_dimensions = array<i64: 200>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.exponential %a : tensor<f32>
    %2 = stablehlo.exponential %b : tensor<f32>
    %3 = stablehlo.add %1, %2 : tensor<f32>
    %4 = stablehlo.log %3 : tensor<f32>
    stablehlo.return %4 : tensor<f32>
  }) : (tensor<200xf32>, tensor<f32>) -> tensor<200xf32>
  return %0 : tensor<200xf32>
}

// Windows of few elements, and few applications, are left to the loop for the region.
// CHECK-LABEL: @narrow
// CHECK: stablehlo.reduce_window
func.func public @narrow(%x: tensor<20xf32>) -> tensor<5xf32> {
  %least = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %0 = "stablehlo.reduce_window"(%x, %least) <{window_dimensions = array<i64: 16>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.exponential %a : tensor<f32>
    %2 = stablehlo.exponential %b : tensor<f32>
    %3 = stablehlo.add %1, %2 : tensor<f32>
    %4 = stablehlo.log %3 : tensor<f32>
    stablehlo.return %4 : tensor<f32>
  }) : (tensor<20xf32>, tensor<f32>) -> tensor<5xf32>
  return %0 : tensor<5xf32>
}

// What has a kind has code of its own.
// CHECK-LABEL: @sum
// CHECK: core.cumulative add
func.func public @sum(%x: tensor<200xf32>) -> tensor<200xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = "stablehlo.reduce_window"(%x, %zero) <{padding = dense<[[199, 0]]> : tensor<1x2xi64>, window_dimensions = array<i64: 200>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<200xf32>, tensor<f32>) -> tensor<200xf32>
  return %0 : tensor<200xf32>
}
