// RUN: wengert-opt %s -p "sorts-to-networks" | filecheck %s
// RUN: wengert-opt %s -p "sorts-to-networks,fuse" | filecheck %s --check-prefix NESTS

// Few elements: the stages are written out, and each is one nest, behind one that numbers the elements. The partner of an element differs from it by 1, then by 3, then by 1.
// CHECK-LABEL: @short
// CHECK-NOT: stablehlo.sort
// CHECK-NOT: core.for
// NESTS-LABEL: @short
// NESTS-COUNT-4: kernel.nest (d0, d1, d2) = (0, 0, 0) to (2, 4, 1) iterators [parallel, parallel, parallel]
// NESTS-NOT: kernel.nest
// NESTS: return
func.func public @short(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %0 = "stablehlo.sort"(%x) <{dimension = 1 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.compare LT, %a, %b, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  }) : (tensor<2x4xf32>) -> tensor<2x4xf32>
  return %0 : tensor<2x4xf32>
}

// More of them: a loop over the stages. The operand that the comparator does not look at is read at the sorted positions at the end.
// CHECK-LABEL: @long
// CHECK: %[[MASKS:.*]] = stablehlo.constant dense<[1, 3, 1, 7, 2, 1, 15, 4, 2, 1, 31, 8, 4, 2, 1]> : tensor<15xi32>
// CHECK: %[[SORTED:.*]]:2 = core.for %{{.*}} to %{{.*}} constants(%{{.*}} = %[[MASKS]]: tensor<15xi32>, %[[SCALE:.*]] = %scale: tensor<f32>) carried(
// CHECK: stablehlo.broadcast_in_dim %[[SCALE]]
// CHECK: stablehlo.compare GT, {{.*}}, TOTALORDER
// CHECK: %[[PLACES:.*]] = stablehlo.reshape %[[SORTED]]#1
// CHECK: "stablehlo.gather"(%{{.*}}, %[[PLACES]]) <{{.*}}operand_batching_dims = [0, 2]
// NESTS-LABEL: @long
// NESTS: core.for
// NESTS: kernel.nest
// NESTS-NOT: kernel.nest
// NESTS: stablehlo.return
func.func public @long(%x: tensor<20xf32>, %y: tensor<20xi32>, %scale: tensor<f32>) -> (tensor<20xf32>, tensor<20xi32>) {
  %0:2 = "stablehlo.sort"(%x, %y) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<i32>, %d: tensor<i32>):
    %1 = stablehlo.multiply %a, %scale : tensor<f32>
    %2 = stablehlo.multiply %b, %scale : tensor<f32>
    %3 = stablehlo.compare GT, %1, %2, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %3 : tensor<i1>
  }) : (tensor<20xf32>, tensor<20xi32>) -> (tensor<20xf32>, tensor<20xi32>)
  return %0#0, %0#1 : tensor<20xf32>, tensor<20xi32>
}

// The first 5 of 1000 elements: blocks of 256 are sorted, and then what remains of them.
// CHECK-LABEL: @first
// CHECK-NOT: chlo.top_k
// CHECK: core.for {{.*}}tensor<4x256x1xf32>
// CHECK: stablehlo.slice {{.*}} -> tensor<4x5x1xf32>
// CHECK: stablehlo.reshape {{.*}} -> tensor<1x20x1xf32>
// CHECK: core.for {{.*}}tensor<1x20x1xf32>
func.func public @first(%x: tensor<1000xf32>) -> (tensor<5xf32>, tensor<5xi32>) {
  %0:2 = chlo.top_k(%x, k = 5) : tensor<1000xf32> -> (tensor<5xf32>, tensor<5xi32>)
  return %0#0, %0#1 : tensor<5xf32>, tensor<5xi32>
}
