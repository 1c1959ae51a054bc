// RUN: wengert-opt %s -p "to-core,vjp,simplify,cse,dce,lower-ad,fuse,bufferize{target=avx2}" | filecheck %s
// The reverse mode of a loop of unknown length records on tapes. Their memory grows while the program runs; what has a place is the handle.

// CHECK-LABEL: @main
// CHECK:       kernel.view %arena[{{[0-9]+}}] : {{.*}} to memref<!core.tape<tensor<f64>>, #kernel.space<arena>>
// CHECK:       carried(
// CHECK-NEXT:  %{{.*}}: memref<!core.tape<tensor<f64>>, #kernel.space<stack>> =
// CHECK:       core.tape_push
func.func @main(%x: tensor<f64>) -> tensor<f64> {
  %0 = stablehlo.while(%y = %x) : tensor<f64>
   cond {
    %n = stablehlo.constant dense<100.0> : tensor<f64>
    %c = stablehlo.compare LT, %y, %n : (tensor<f64>, tensor<f64>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %z = stablehlo.multiply %y, %y : tensor<f64>
    stablehlo.return %z : tensor<f64>
  }
  return %0 : tensor<f64>
}
