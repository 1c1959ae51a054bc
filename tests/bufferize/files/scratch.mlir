// RUN: wengert-opt %s -p "to-core,fuse,bufferize{target=avx2}" | filecheck %s
// A sort merges from one array to another: it needs memory besides what it reads and writes, for as long as it runs. The next kernel has the same bytes.

// CHECK-LABEL: @main
// CHECK:       %[[VALUE:.*]] = kernel.view %arena[0]
// CHECK:       %[[SCRATCH:.*]] = kernel.view %arena[2048] : {{.*}} to memref<{{[0-9]+}}xi8, #kernel.space<arena>>
// CHECK:       outs(%[[VALUE]]: memref<512xf32, #kernel.space<arena>>) scratch(%[[SCRATCH]]: memref<{{[0-9]+}}xi8, #kernel.space<arena>>) {
// CHECK:       outs(%out: memref<512xf32>) scratch(%[[SCRATCH]]: memref<{{[0-9]+}}xi8, #kernel.space<arena>>) {
func.func @main(%x: tensor<512xf32>) -> tensor<512xf32> {
  %0 = "stablehlo.sort"(%x) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }) : (tensor<512xf32>) -> tensor<512xf32>
  %1 = "stablehlo.sort"(%0) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = stablehlo.compare GT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }) : (tensor<512xf32>) -> tensor<512xf32>
  return %1 : tensor<512xf32>
}
