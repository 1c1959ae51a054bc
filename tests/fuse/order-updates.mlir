// RUN: wengert-opt %s -p "order-updates" | filecheck %s

// Windows of 3 elements at 2 positions may overlap in part: the second is written after the first.
// CHECK-LABEL: @overlapping
// CHECK: %[[MOVED:.*]] = stablehlo.transpose %u, dims = [1, 0] : (tensor<3x2xf64>) -> tensor<2x3xf64>
// CHECK: core.scatter set %x, %i, %[[MOVED]], dims = #stablehlo.scatter<update_window_dims = [1], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>
func.func public @overlapping(%x: tensor<8xf64>, %i: tensor<2x1xi64>, %u: tensor<3x2xf64>) -> tensor<8xf64> {
  %0 = core.scatter set %x, %i, %u, dims = #stablehlo.scatter<update_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, sorted = false, unique = false : (tensor<8xf64>, tensor<2x1xi64>, tensor<3x2xf64>) -> tensor<8xf64>
  return %0 : tensor<8xf64>
}

// Whole columns at computed places share all elements or none: the updates stay as they lie.
// CHECK-LABEL: @columns
// CHECK-NOT: stablehlo.transpose
// CHECK: return
func.func public @columns(%x: tensor<3x8xf64>, %i: tensor<2x1xi64>, %u: tensor<3x2xf64>) -> tensor<3x8xf64> {
  %0 = core.scatter set %x, %i, %u, dims = #stablehlo.scatter<update_window_dims = [0], inserted_window_dims = [1], scatter_dims_to_operand_dims = [1], index_vector_dim = 1>, sorted = false, unique = false : (tensor<3x8xf64>, tensor<2x1xi64>, tensor<3x2xf64>) -> tensor<3x8xf64>
  return %0 : tensor<3x8xf64>
}

// CHECK-LABEL: @unique
// CHECK-NOT: stablehlo.transpose
// CHECK: return
func.func public @unique(%x: tensor<8xf64>, %i: tensor<2x1xi64>, %u: tensor<3x2xf64>) -> tensor<8xf64> {
  %0 = core.scatter set %x, %i, %u, dims = #stablehlo.scatter<update_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, sorted = false, unique = true : (tensor<8xf64>, tensor<2x1xi64>, tensor<3x2xf64>) -> tensor<8xf64>
  return %0 : tensor<8xf64>
}
