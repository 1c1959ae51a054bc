// RUN: wengert-opt %s -p "to-core,fuse,bufferize{target=avx2}" | filecheck %s
// Small values of a loop lie on the stack, where LLVM makes registers of them: what is carried, its second buffer, and what the body computes.

// CHECK-LABEL: @main
// CHECK:       kernel.while %[[MORE:.*]]: memref<i1, #kernel.space<stack>>
// CHECK-NEXT:  carried(%[[NOW:.*]]: memref<f64, #kernel.space<stack>> = %x: memref<f64> into %out: memref<f64>)
// CHECK-NEXT:  next(%[[NEXT:.*]]: memref<f64, #kernel.space<stack>>)
// CHECK-NEXT:  arena(
// CHECK-NEXT:  cond {
// CHECK-NEXT:  kernel.launch ins({{.*}} = %[[NOW]]: memref<f64, #kernel.space<stack>>) outs(%[[MORE]]: memref<i1, #kernel.space<stack>>) {
// CHECK:       kernel.end
// CHECK:       do {
// CHECK:       outs(%[[NEXT]]: memref<f64, #kernel.space<stack>>) {
// CHECK:       kernel.end %[[NEXT]] : memref<f64, #kernel.space<stack>>
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
