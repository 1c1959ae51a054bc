// RUN: wengert-opt %s -p "to-core,fuse,bufferize{target=avx2}" | filecheck %s
// Both branches write the same buffers, and share one range of the arena, since only one of them runs. What a branch returns unchanged is copied.

// CHECK-LABEL: @main
// CHECK:       kernel.case %{{.*}}: memref<i32, #kernel.space<arena>>
// CHECK-NEXT:  ins(%[[X:.*]] = %x: memref<8x8xf32>)
// CHECK-NEXT:  outs(%[[Y:.*]] = %out: memref<8x8xf32>)
// CHECK-NEXT:  arena(%[[ARENA:.*]] = %{{.*}}: memref<256xi8, #kernel.space<arena>>)
// CHECK-NEXT:  branch {
// CHECK:       %[[A:.*]] = kernel.view %[[ARENA]][0] : memref<256xi8, #kernel.space<arena>> to memref<8x8xf32, #kernel.space<arena>>
// CHECK:       outs(%[[A]]: memref<8x8xf32, #kernel.space<arena>>) {
// CHECK:       outs(%[[Y]]: memref<8x8xf32>) {
// CHECK:       kernel.end
// CHECK:       branch {
// CHECK-NEXT:  kernel.copy %[[X]], %[[Y]] : memref<8x8xf32> to memref<8x8xf32>
// CHECK-NEXT:  kernel.end
func.func @main(%p: tensor<i1>, %x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %0 = "stablehlo.if"(%p) ({
    %a = stablehlo.dot_general %x, %x, contracting_dims = [1] x [0] : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    %b = stablehlo.dot_general %a, %x, contracting_dims = [1] x [0] : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    stablehlo.return %b : tensor<8x8xf32>
  }, {
    stablehlo.return %x : tensor<8x8xf32>
  }) : (tensor<i1>) -> tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}
