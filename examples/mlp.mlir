module @jit_mlp attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<32x16xf64>, %arg1: tensor<16x64xf64>, %arg2: tensor<64xf64>, %arg3: tensor<64x64xf64>, %arg4: tensor<64xf64>, %arg5: tensor<64x10xf64>, %arg6: tensor<10xf64>, %arg7: tensor<32xi32>) -> (tensor<f64> {jax.result_info = "result"}) {
    %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<32x16xf64>, tensor<16x64xf64>) -> tensor<32x64xf64>
    %1 = stablehlo.broadcast_in_dim %arg2, dims = [1] : (tensor<64xf64>) -> tensor<1x64xf64>
    %2 = stablehlo.broadcast_in_dim %1, dims = [0, 1] : (tensor<1x64xf64>) -> tensor<32x64xf64>
    %3 = stablehlo.add %0, %2 : tensor<32x64xf64>
    %4 = stablehlo.tanh %3 : tensor<32x64xf64>
    %5 = stablehlo.dot_general %4, %arg3, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<32x64xf64>, tensor<64x64xf64>) -> tensor<32x64xf64>
    %6 = stablehlo.broadcast_in_dim %arg4, dims = [1] : (tensor<64xf64>) -> tensor<1x64xf64>
    %7 = stablehlo.broadcast_in_dim %6, dims = [0, 1] : (tensor<1x64xf64>) -> tensor<32x64xf64>
    %8 = stablehlo.add %5, %7 : tensor<32x64xf64>
    %9 = stablehlo.tanh %8 : tensor<32x64xf64>
    %10 = call @_one_hot(%arg7) : (tensor<32xi32>) -> tensor<32x10xf64>
    %11 = stablehlo.dot_general %9, %arg5, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<32x64xf64>, tensor<64x10xf64>) -> tensor<32x10xf64>
    %12 = stablehlo.broadcast_in_dim %arg6, dims = [1] : (tensor<10xf64>) -> tensor<1x10xf64>
    %13 = stablehlo.broadcast_in_dim %12, dims = [0, 1] : (tensor<1x10xf64>) -> tensor<32x10xf64>
    %14 = stablehlo.add %11, %13 : tensor<32x10xf64>
    %15 = call @log_softmax(%14) : (tensor<32x10xf64>) -> tensor<32x10xf64>
    %16 = stablehlo.multiply %10, %15 : tensor<32x10xf64>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %17 = stablehlo.reduce(%16 init: %cst) applies stablehlo.add across dimensions = [1] : (tensor<32x10xf64>, tensor<f64>) -> tensor<32xf64>
    %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %18 = stablehlo.reduce(%17 init: %cst_0) applies stablehlo.add across dimensions = [0] : (tensor<32xf64>, tensor<f64>) -> tensor<f64>
    %cst_1 = stablehlo.constant dense<3.200000e+01> : tensor<f64>
    %19 = stablehlo.divide %18, %cst_1 : tensor<f64>
    %20 = stablehlo.negate %19 : tensor<f64>
    return %20 : tensor<f64>
  }
  func.func private @_one_hot(%arg0: tensor<32xi32>) -> tensor<32x10xf64> {
    %0 = stablehlo.broadcast_in_dim %arg0, dims = [0] : (tensor<32xi32>) -> tensor<32x1xi32>
    %1 = stablehlo.iota dim = 1 : tensor<1x10xi32>
    %2 = stablehlo.broadcast_in_dim %0, dims = [0, 1] : (tensor<32x1xi32>) -> tensor<32x10xi32>
    %3 = stablehlo.broadcast_in_dim %1, dims = [0, 1] : (tensor<1x10xi32>) -> tensor<32x10xi32>
    %4 = stablehlo.compare EQ, %2, %3, SIGNED : (tensor<32x10xi32>, tensor<32x10xi32>) -> tensor<32x10xi1>
    %5 = stablehlo.convert %4 : (tensor<32x10xi1>) -> tensor<32x10xf64>
    return %5 : tensor<32x10xf64>
  }
  func.func private @log_softmax(%arg0: tensor<32x10xf64>) -> tensor<32x10xf64> {
    %cst = stablehlo.constant dense<0xFFF0000000000000> : tensor<f64>
    %0 = stablehlo.reduce(%arg0 init: %cst) applies stablehlo.maximum across dimensions = [1] : (tensor<32x10xf64>, tensor<f64>) -> tensor<32xf64>
    %cst_0 = stablehlo.constant dense<0xFFF0000000000000> : tensor<f64>
    %1 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f64>) -> tensor<32xf64>
    %2 = stablehlo.maximum %1, %0 : tensor<32xf64>
    %3 = stablehlo.broadcast_in_dim %2, dims = [0] : (tensor<32xf64>) -> tensor<32x1xf64>
    %4 = stablehlo.broadcast_in_dim %3, dims = [0, 1] : (tensor<32x1xf64>) -> tensor<32x10xf64>
    %5 = stablehlo.subtract %arg0, %4 : tensor<32x10xf64>
    %6 = stablehlo.exponential %5 : tensor<32x10xf64>
    %cst_1 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %7 = stablehlo.reduce(%6 init: %cst_1) applies stablehlo.add across dimensions = [1] : (tensor<32x10xf64>, tensor<f64>) -> tensor<32xf64>
    %8 = stablehlo.broadcast_in_dim %7, dims = [0] : (tensor<32xf64>) -> tensor<32x1xf64>
    %9 = stablehlo.log %8 : tensor<32x1xf64>
    %10 = stablehlo.broadcast_in_dim %9, dims = [0, 1] : (tensor<32x1xf64>) -> tensor<32x10xf64>
    %11 = stablehlo.subtract %5, %10 : tensor<32x10xf64>
    return %11 : tensor<32x10xf64>
  }
}
