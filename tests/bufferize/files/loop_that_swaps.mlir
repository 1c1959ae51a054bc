// RUN: wengert-opt %s -p "to-core,fuse,bufferize{target=avx2}" | filecheck %s
// A large value that the body computes anew has two buffers, the result's and a spare one, which change places after every iteration: the body
// ends in %next. The count of the loop is small and lies on the stack while it runs.

// CHECK-LABEL: @main
// CHECK:       %arena = kernel.alloc
// CHECK:       %[[RANGE:.*]] = kernel.view %arena[{{.*}}] : {{.*}} to memref<{{[0-9]+}}xi8, #kernel.space<arena>>
// CHECK:       %[[SPARE:.*]] = kernel.view %[[RANGE]][0] : {{.*}} to memref<8x8xf32, #kernel.space<arena>>
// CHECK:       kernel.for %{{.*}}: memref<i64, #kernel.space<stack>> to %{{.*}}: memref<i64, #kernel.space<constant>>
// CHECK-NEXT:  constants(%[[X:.*]] = %x: memref<8x8xf32>)
// CHECK-NEXT:  carried(%[[NOW:.*]]: memref<8x8xf32> = %x: memref<8x8xf32> into %out: memref<8x8xf32>)
// CHECK-NEXT:  next(%[[NEXT:.*]]: memref<8x8xf32> = %[[SPARE]]: memref<8x8xf32, #kernel.space<arena>>)
// CHECK-NEXT:  arena(
// CHECK-NEXT:  kernel.launch ins({{.*}} = %[[NOW]]: memref<8x8xf32>, {{.*}} = %[[X]]: memref<8x8xf32>) outs(%[[NEXT]]: memref<8x8xf32>) {
// CHECK:       kernel.end %[[NEXT]] : memref<8x8xf32>
func.func @main(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %0:2 = stablehlo.while(%i = %zero, %y = %x) : tensor<i32>, tensor<8x8xf32>
   cond {
    %n = stablehlo.constant dense<10> : tensor<i32>
    %c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %j = stablehlo.add %i, %one : tensor<i32>
    %z = stablehlo.dot_general %y, %x, contracting_dims = [1] x [0] : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    stablehlo.return %j, %z : tensor<i32>, tensor<8x8xf32>
  }
  return %0#1 : tensor<8x8xf32>
}
