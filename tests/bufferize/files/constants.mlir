// RUN: wengert-opt %s -p "to-core,fuse,bufferize{target=avx2}" | filecheck %s
// A constant that is an array lies in memory of its own, which is never written; a reshape is the same memory as another type. What is a number
// everywhere is part of the kernel.

// CHECK-LABEL: @main
// CHECK-NOT:   kernel.alloc
// CHECK:       %[[C:.*]] = kernel.global dense<[1.000000e+00, 2.000000e+00, 3.000000e+00]> : tensor<3xf32>
// CHECK-NOT:   kernel.global
// CHECK:       kernel.launch ins({{.*}} = %[[C]]: memref<3xf32, #kernel.space<constant>>
// CHECK:       %[[R:.*]] = kernel.view %[[C]][0] : memref<3xf32, #kernel.space<constant>> to memref<3x1xf32, #kernel.space<constant>>
// CHECK:       kernel.copy %[[R]], %out_0 : memref<3x1xf32, #kernel.space<constant>> to memref<3x1xf32>
func.func @main(%x: tensor<3xf32>) -> (tensor<3xf32>, tensor<3x1xf32>) {
  %c = stablehlo.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
  %two = stablehlo.constant dense<2.0> : tensor<3xf32>
  %0 = stablehlo.add %x, %c : tensor<3xf32>
  %1 = stablehlo.multiply %0, %two : tensor<3xf32>
  %2 = stablehlo.reshape %c : (tensor<3xf32>) -> tensor<3x1xf32>
  return %1, %2 : tensor<3xf32>, tensor<3x1xf32>
}
