// RUN: wengert-opt %s -p "to-core,fuse" | filecheck %s

// Four products are added up as they come: each sum is in memory before the next product is computed. What uses the last sum is in its kernel.
// CHECK-LABEL: @four
// CHECK: %[[C1:.*]] = kernel.matmul
// CHECK: %[[C2:.*]] = kernel.matmul
// CHECK: %[[S2:.*]] = kernel.nest
// CHECK-NEXT: ins(%{{.*}} = %[[C1]]: tensor<64x64xf64>, %{{.*}} = %[[C2]]: tensor<64x64xf64>)
// CHECK: %[[C3:.*]] = kernel.matmul
// CHECK: %[[S3:.*]] = kernel.nest
// CHECK-NEXT: ins(%{{.*}} = %[[S2]]: tensor<64x64xf64>, %{{.*}} = %[[C3]]: tensor<64x64xf64>)
// CHECK: %[[C4:.*]] = kernel.matmul
// CHECK: %{{.*}} = kernel.nest
// CHECK-NEXT: ins(%{{.*}} = %[[S3]]: tensor<64x64xf64>, %{{.*}} = %[[C4]]: tensor<64x64xf64>)
// CHECK: kernel.tanh
func.func public @four(%a: tensor<64x64xf64>, %b: tensor<64x64xf64>, %c: tensor<64x64xf64>, %d: tensor<64x64xf64>) -> tensor<64x64xf64> {
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [0] x [0] : (tensor<64x64xf64>, tensor<64x64xf64>) -> tensor<64x64xf64>
  %1 = stablehlo.dot_general %b, %c, contracting_dims = [0] x [0] : (tensor<64x64xf64>, tensor<64x64xf64>) -> tensor<64x64xf64>
  %2 = stablehlo.dot_general %c, %d, contracting_dims = [0] x [0] : (tensor<64x64xf64>, tensor<64x64xf64>) -> tensor<64x64xf64>
  %3 = stablehlo.dot_general %d, %a, contracting_dims = [0] x [0] : (tensor<64x64xf64>, tensor<64x64xf64>) -> tensor<64x64xf64>
  %4 = stablehlo.add %0, %1 : tensor<64x64xf64>
  %5 = stablehlo.add %4, %2 : tensor<64x64xf64>
  %6 = stablehlo.add %5, %3 : tensor<64x64xf64>
  %7 = stablehlo.tanh %6 : tensor<64x64xf64>
  return %7 : tensor<64x64xf64>
}

// Three products, and four of which one is used elsewhere too, are added up in one kernel.
// CHECK-LABEL: @three
// CHECK-COUNT-3: kernel.matmul
// CHECK: kernel.nest
// CHECK-NOT: kernel.nest
// CHECK-LABEL: @used
// CHECK-COUNT-4: kernel.matmul
// CHECK: kernel.nest
// CHECK-NOT: kernel.nest
func.func public @three(%a: tensor<64x64xf64>, %b: tensor<64x64xf64>, %c: tensor<64x64xf64>) -> tensor<64x64xf64> {
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [0] x [0] : (tensor<64x64xf64>, tensor<64x64xf64>) -> tensor<64x64xf64>
  %1 = stablehlo.dot_general %b, %c, contracting_dims = [0] x [0] : (tensor<64x64xf64>, tensor<64x64xf64>) -> tensor<64x64xf64>
  %2 = stablehlo.dot_general %c, %a, contracting_dims = [0] x [0] : (tensor<64x64xf64>, tensor<64x64xf64>) -> tensor<64x64xf64>
  %3 = stablehlo.add %0, %1 : tensor<64x64xf64>
  %4 = stablehlo.add %3, %2 : tensor<64x64xf64>
  return %4 : tensor<64x64xf64>
}

func.func public @used(%a: tensor<64x64xf64>, %b: tensor<64x64xf64>, %c: tensor<64x64xf64>) -> (tensor<64x64xf64>, tensor<64x64xf64>) {
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [0] x [0] : (tensor<64x64xf64>, tensor<64x64xf64>) -> tensor<64x64xf64>
  %1 = stablehlo.dot_general %b, %c, contracting_dims = [0] x [0] : (tensor<64x64xf64>, tensor<64x64xf64>) -> tensor<64x64xf64>
  %2 = stablehlo.dot_general %c, %a, contracting_dims = [0] x [0] : (tensor<64x64xf64>, tensor<64x64xf64>) -> tensor<64x64xf64>
  %3 = stablehlo.dot_general %a, %a, contracting_dims = [0] x [0] : (tensor<64x64xf64>, tensor<64x64xf64>) -> tensor<64x64xf64>
  %4 = stablehlo.add %0, %1 : tensor<64x64xf64>
  %5 = stablehlo.add %4, %2 : tensor<64x64xf64>
  %6 = stablehlo.add %5, %3 : tensor<64x64xf64>
  return %0, %6 : tensor<64x64xf64>, tensor<64x64xf64>
}
