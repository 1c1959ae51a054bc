// RUN: wengert-opt %s | filecheck %s
// RUN: wengert-opt %s --print-generic
// Scalar functions stand under their own names; one type says all where operands and result share it.

// CHECK-LABEL: func.func @functions
// CHECK:           kernel.constant 2.500000e+00 : f64
// CHECK-NEXT:      kernel.constant 0x7FF8000000000000 : f64
// CHECK-NEXT:      kernel.constant (1.000000e+00, -2.000000e+00) : complex<f32>
// CHECK-NEXT:      kernel.constant true : i1
// CHECK-NEXT:      kernel.tanh %{{.*}} : f64
// CHECK-NEXT:      kernel.multiply %{{.*}}, %{{.*}} : f64
// CHECK-NEXT:      kernel.lt %{{.*}}, %{{.*}} : f64
// CHECK-NEXT:      kernel.total_eq %{{.*}}, %{{.*}} : f64
// CHECK-NEXT:      kernel.select %{{.*}}, %{{.*}}, %{{.*}} : f64
// CHECK-NEXT:      kernel.clamp %{{.*}}, %{{.*}}, %{{.*}} : f64
// CHECK-NEXT:      kernel.convert %{{.*}} : (f64) -> f32
// CHECK-NEXT:      kernel.real %{{.*}} : (complex<f32>) -> f32
// CHECK-NEXT:      kernel.reduce_precision_e5m10 %{{.*}} : f32
// CHECK-NEXT:      kernel.is_finite %{{.*}} : (f32) -> i1
func.func @functions(%x: tensor<4xf64>) -> tensor<4xf64> {
  %0 = kernel.nest (d0) = (0) to (4) iterators [parallel] ins(%a = %x: tensor<4xf64>) outs(out0: tensor<4xf64>) {
    %1 = kernel.load %a[d0] : tensor<4xf64>
    %2 = kernel.constant 2.5 : f64
    %3 = kernel.constant 0x7FF8000000000000 : f64
    %4 = kernel.constant (1.0, -2.0) : complex<f32>
    %5 = kernel.constant true : i1
    %6 = kernel.tanh %1 : f64
    %7 = kernel.multiply %6, %2 : f64
    %8 = kernel.lt %7, %3 : f64
    %9 = kernel.total_eq %7, %3 : (f64, f64) -> i1
    %10 = kernel.select %8, %7, %2 : f64
    %11 = kernel.clamp %1, %2, %3 : f64
    %12 = kernel.convert %10 : (f64) -> f32
    %13 = kernel.real %4 : (complex<f32>) -> f32
    %14 = kernel.reduce_precision_e5m10 %12 : f32
    %15 = "kernel.apply"(%14) <{function = "is_finite"}> : (f32) -> i1
    kernel.yield store %10 to out0[d0] : f64
  }
  return %0 : tensor<4xf64>
}
