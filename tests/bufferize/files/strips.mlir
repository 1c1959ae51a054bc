// RUN: wengert-opt %s -p "to-core,fuse,strip-mine{reassociate=true},schedule{target=avx2},bufferize{target=avx2}" | filecheck %s
// A strip-mined loop sees a part of each buffer in every iteration, here four rows, and what passes between its nests lies in a range of the arena
// for one strip, not for the whole array. Threads that share the strips have such a range each.

// CHECK-LABEL: @main
// CHECK:       %[[RANGE:.*]] = kernel.view %arena[0] : {{.*}} to memref<[[BYTES:[0-9]+]]xi8, #kernel.space<arena>>
// CHECK:       kernel.strip_loop 256
// CHECK-NEXT:  ins(%{{.*}}: memref<2048xf32> = %x: memref<1024x512xf32> step 2048)
// CHECK-NEXT:  outs(%{{.*}}: memref<2048xf32> = %out: memref<1024x512xf32> step 2048)
// CHECK-NEXT:  arena(%[[ARENA:.*]] = %[[RANGE]]: memref<[[BYTES]]xi8, #kernel.space<arena>>)
// CHECK-SAME:  attributes {schedule = #kernel.schedule<parallel = {chunk = {{[0-9]+}}, nanoseconds = {{[0-9]+}}}>} {
// CHECK-NEXT:  %{{.*}} = kernel.view %[[ARENA]][0] : {{.*}} to memref<4xf32, #kernel.space<arena>>
func.func @main(%x: tensor<1024x512xf32>) -> tensor<1024x512xf32> {
  %lo = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %m = stablehlo.reduce(%x init: %lo) applies stablehlo.maximum across dimensions = [1] : (tensor<1024x512xf32>, tensor<f32>) -> tensor<1024xf32>
  %mb = stablehlo.broadcast_in_dim %m, dims = [0] : (tensor<1024xf32>) -> tensor<1024x512xf32>
  %d = stablehlo.subtract %x, %mb : tensor<1024x512xf32>
  %e = stablehlo.exponential %d : tensor<1024x512xf32>
  %s = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<1024x512xf32>, tensor<f32>) -> tensor<1024xf32>
  %sb = stablehlo.broadcast_in_dim %s, dims = [0] : (tensor<1024xf32>) -> tensor<1024x512xf32>
  %y = stablehlo.divide %e, %sb : tensor<1024x512xf32>
  return %y : tensor<1024x512xf32>
}
