module @jit_transformer_block attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x16x32xf64>, %arg1: tensor<32x96xf64>, %arg2: tensor<32x32xf64>, %arg3: tensor<32x64xf64>, %arg4: tensor<64x32xf64>, %arg5: tensor<2x32xf64>, %arg6: tensor<2x32xf64>) -> (tensor<2x16x32xf64> {jax.result_info = "result"}) {
    %0 = stablehlo.slice %arg5 [0:1, 0:32] : (tensor<2x32xf64>) -> tensor<1x32xf64>
    %1 = stablehlo.reshape %0 : (tensor<1x32xf64>) -> tensor<32xf64>
    %2 = stablehlo.slice %arg6 [0:1, 0:32] : (tensor<2x32xf64>) -> tensor<1x32xf64>
    %3 = stablehlo.reshape %2 : (tensor<1x32xf64>) -> tensor<32xf64>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %4 = stablehlo.reduce(%arg0 init: %cst) applies stablehlo.add across dimensions = [2] : (tensor<2x16x32xf64>, tensor<f64>) -> tensor<2x16xf64>
    %5 = stablehlo.broadcast_in_dim %4, dims = [0, 1] : (tensor<2x16xf64>) -> tensor<2x16x1xf64>
    %cst_0 = stablehlo.constant dense<3.200000e+01> : tensor<f64>
    %6 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f64>) -> tensor<2x16x1xf64>
    %7 = stablehlo.divide %5, %6 : tensor<2x16x1xf64>
    %8 = stablehlo.broadcast_in_dim %7, dims = [0, 1, 2] : (tensor<2x16x1xf64>) -> tensor<2x16x32xf64>
    %9 = stablehlo.subtract %arg0, %8 : tensor<2x16x32xf64>
    %10 = stablehlo.broadcast_in_dim %1, dims = [2] : (tensor<32xf64>) -> tensor<1x1x32xf64>
    %11 = stablehlo.broadcast_in_dim %10, dims = [0, 1, 2] : (tensor<1x1x32xf64>) -> tensor<2x16x32xf64>
    %12 = stablehlo.multiply %11, %9 : tensor<2x16x32xf64>
    %13 = chlo.square %9 : tensor<2x16x32xf64> -> tensor<2x16x32xf64>
    %cst_1 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %14 = stablehlo.reduce(%13 init: %cst_1) applies stablehlo.add across dimensions = [2] : (tensor<2x16x32xf64>, tensor<f64>) -> tensor<2x16xf64>
    %15 = stablehlo.broadcast_in_dim %14, dims = [0, 1] : (tensor<2x16xf64>) -> tensor<2x16x1xf64>
    %cst_2 = stablehlo.constant dense<3.200000e+01> : tensor<f64>
    %16 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f64>) -> tensor<2x16x1xf64>
    %17 = stablehlo.divide %15, %16 : tensor<2x16x1xf64>
    %cst_3 = stablehlo.constant dense<1.000000e-05> : tensor<f64>
    %18 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f64>) -> tensor<2x16x1xf64>
    %19 = stablehlo.add %17, %18 : tensor<2x16x1xf64>
    %20 = stablehlo.rsqrt %19 : tensor<2x16x1xf64>
    %21 = stablehlo.broadcast_in_dim %20, dims = [0, 1, 2] : (tensor<2x16x1xf64>) -> tensor<2x16x32xf64>
    %22 = stablehlo.multiply %12, %21 : tensor<2x16x32xf64>
    %23 = stablehlo.broadcast_in_dim %3, dims = [2] : (tensor<32xf64>) -> tensor<1x1x32xf64>
    %24 = stablehlo.broadcast_in_dim %23, dims = [0, 1, 2] : (tensor<1x1x32xf64>) -> tensor<2x16x32xf64>
    %25 = stablehlo.add %22, %24 : tensor<2x16x32xf64>
    %26 = stablehlo.dot_general %25, %arg1, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<2x16x32xf64>, tensor<32x96xf64>) -> tensor<2x16x96xf64>
    %27 = stablehlo.reshape %26 : (tensor<2x16x96xf64>) -> tensor<2x16x4x24xf64>
    %28 = stablehlo.slice %27 [0:2, 0:16, 0:4, 0:8] : (tensor<2x16x4x24xf64>) -> tensor<2x16x4x8xf64>
    %29 = stablehlo.slice %27 [0:2, 0:16, 0:4, 8:16] : (tensor<2x16x4x24xf64>) -> tensor<2x16x4x8xf64>
    %30 = stablehlo.slice %27 [0:2, 0:16, 0:4, 16:24] : (tensor<2x16x4x24xf64>) -> tensor<2x16x4x8xf64>
    %31 = stablehlo.dot_general %28, %29, batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x [3], precision = [DEFAULT, DEFAULT] : (tensor<2x16x4x8xf64>, tensor<2x16x4x8xf64>) -> tensor<2x4x16x16xf64>
    %cst_4 = stablehlo.constant dense<2.8284271247461903> : tensor<f64>
    %32 = stablehlo.broadcast_in_dim %cst_4, dims = [] : (tensor<f64>) -> tensor<2x4x16x16xf64>
    %33 = stablehlo.divide %31, %32 : tensor<2x4x16x16xf64>
    %34 = stablehlo.iota dim = 0 : tensor<16x16xi64>
    %c = stablehlo.constant dense<0> : tensor<i64>
    %35 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i64>) -> tensor<16x16xi64>
    %36 = stablehlo.add %34, %35 : tensor<16x16xi64>
    %37 = stablehlo.iota dim = 1 : tensor<16x16xi64>
    %38 = stablehlo.compare GE, %36, %37, SIGNED : (tensor<16x16xi64>, tensor<16x16xi64>) -> tensor<16x16xi1>
    %cst_5 = stablehlo.constant dense<-1.000000e+09> : tensor<f64>
    %39 = call @_where(%38, %33, %cst_5) : (tensor<16x16xi1>, tensor<2x4x16x16xf64>, tensor<f64>) -> tensor<2x4x16x16xf64>
    %cst_6 = stablehlo.constant dense<0xFFF0000000000000> : tensor<f64>
    %40 = stablehlo.reduce(%39 init: %cst_6) applies stablehlo.maximum across dimensions = [3] : (tensor<2x4x16x16xf64>, tensor<f64>) -> tensor<2x4x16xf64>
    %cst_7 = stablehlo.constant dense<0xFFF0000000000000> : tensor<f64>
    %41 = stablehlo.broadcast_in_dim %cst_7, dims = [] : (tensor<f64>) -> tensor<2x4x16xf64>
    %42 = stablehlo.maximum %41, %40 : tensor<2x4x16xf64>
    %43 = stablehlo.broadcast_in_dim %42, dims = [0, 1, 2] : (tensor<2x4x16xf64>) -> tensor<2x4x16x1xf64>
    %44 = stablehlo.broadcast_in_dim %43, dims = [0, 1, 2, 3] : (tensor<2x4x16x1xf64>) -> tensor<2x4x16x16xf64>
    %45 = stablehlo.subtract %39, %44 : tensor<2x4x16x16xf64>
    %46 = stablehlo.exponential %45 : tensor<2x4x16x16xf64>
    %cst_8 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %47 = stablehlo.reduce(%46 init: %cst_8) applies stablehlo.add across dimensions = [3] : (tensor<2x4x16x16xf64>, tensor<f64>) -> tensor<2x4x16xf64>
    %48 = stablehlo.broadcast_in_dim %47, dims = [0, 1, 2] : (tensor<2x4x16xf64>) -> tensor<2x4x16x1xf64>
    %49 = stablehlo.broadcast_in_dim %48, dims = [0, 1, 2, 3] : (tensor<2x4x16x1xf64>) -> tensor<2x4x16x16xf64>
    %50 = stablehlo.divide %46, %49 : tensor<2x4x16x16xf64>
    %51 = stablehlo.dot_general %30, %50, batching_dims = [0, 2] x [0, 1], contracting_dims = [1] x [3], precision = [DEFAULT, DEFAULT] : (tensor<2x16x4x8xf64>, tensor<2x4x16x16xf64>) -> tensor<2x4x8x16xf64>
    %52 = stablehlo.transpose %51, dims = [0, 3, 1, 2] : (tensor<2x4x8x16xf64>) -> tensor<2x16x4x8xf64>
    %53 = stablehlo.reshape %52 : (tensor<2x16x4x8xf64>) -> tensor<2x16x32xf64>
    %54 = stablehlo.dot_general %53, %arg2, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<2x16x32xf64>, tensor<32x32xf64>) -> tensor<2x16x32xf64>
    %55 = stablehlo.add %arg0, %54 : tensor<2x16x32xf64>
    %56 = stablehlo.slice %arg5 [1:2, 0:32] : (tensor<2x32xf64>) -> tensor<1x32xf64>
    %57 = stablehlo.reshape %56 : (tensor<1x32xf64>) -> tensor<32xf64>
    %58 = stablehlo.slice %arg6 [1:2, 0:32] : (tensor<2x32xf64>) -> tensor<1x32xf64>
    %59 = stablehlo.reshape %58 : (tensor<1x32xf64>) -> tensor<32xf64>
    %cst_9 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %60 = stablehlo.reduce(%55 init: %cst_9) applies stablehlo.add across dimensions = [2] : (tensor<2x16x32xf64>, tensor<f64>) -> tensor<2x16xf64>
    %61 = stablehlo.broadcast_in_dim %60, dims = [0, 1] : (tensor<2x16xf64>) -> tensor<2x16x1xf64>
    %cst_10 = stablehlo.constant dense<3.200000e+01> : tensor<f64>
    %62 = stablehlo.broadcast_in_dim %cst_10, dims = [] : (tensor<f64>) -> tensor<2x16x1xf64>
    %63 = stablehlo.divide %61, %62 : tensor<2x16x1xf64>
    %64 = stablehlo.broadcast_in_dim %63, dims = [0, 1, 2] : (tensor<2x16x1xf64>) -> tensor<2x16x32xf64>
    %65 = stablehlo.subtract %55, %64 : tensor<2x16x32xf64>
    %66 = stablehlo.broadcast_in_dim %57, dims = [2] : (tensor<32xf64>) -> tensor<1x1x32xf64>
    %67 = stablehlo.broadcast_in_dim %66, dims = [0, 1, 2] : (tensor<1x1x32xf64>) -> tensor<2x16x32xf64>
    %68 = stablehlo.multiply %67, %65 : tensor<2x16x32xf64>
    %69 = chlo.square %65 : tensor<2x16x32xf64> -> tensor<2x16x32xf64>
    %cst_11 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %70 = stablehlo.reduce(%69 init: %cst_11) applies stablehlo.add across dimensions = [2] : (tensor<2x16x32xf64>, tensor<f64>) -> tensor<2x16xf64>
    %71 = stablehlo.broadcast_in_dim %70, dims = [0, 1] : (tensor<2x16xf64>) -> tensor<2x16x1xf64>
    %cst_12 = stablehlo.constant dense<3.200000e+01> : tensor<f64>
    %72 = stablehlo.broadcast_in_dim %cst_12, dims = [] : (tensor<f64>) -> tensor<2x16x1xf64>
    %73 = stablehlo.divide %71, %72 : tensor<2x16x1xf64>
    %cst_13 = stablehlo.constant dense<1.000000e-05> : tensor<f64>
    %74 = stablehlo.broadcast_in_dim %cst_13, dims = [] : (tensor<f64>) -> tensor<2x16x1xf64>
    %75 = stablehlo.add %73, %74 : tensor<2x16x1xf64>
    %76 = stablehlo.rsqrt %75 : tensor<2x16x1xf64>
    %77 = stablehlo.broadcast_in_dim %76, dims = [0, 1, 2] : (tensor<2x16x1xf64>) -> tensor<2x16x32xf64>
    %78 = stablehlo.multiply %68, %77 : tensor<2x16x32xf64>
    %79 = stablehlo.broadcast_in_dim %59, dims = [2] : (tensor<32xf64>) -> tensor<1x1x32xf64>
    %80 = stablehlo.broadcast_in_dim %79, dims = [0, 1, 2] : (tensor<1x1x32xf64>) -> tensor<2x16x32xf64>
    %81 = stablehlo.add %78, %80 : tensor<2x16x32xf64>
    %82 = stablehlo.dot_general %81, %arg3, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<2x16x32xf64>, tensor<32x64xf64>) -> tensor<2x16x64xf64>
    %83 = stablehlo.multiply %82, %82 : tensor<2x16x64xf64>
    %84 = stablehlo.multiply %83, %82 : tensor<2x16x64xf64>
    %cst_14 = stablehlo.constant dense<4.471500e-02> : tensor<f64>
    %85 = stablehlo.broadcast_in_dim %cst_14, dims = [] : (tensor<f64>) -> tensor<2x16x64xf64>
    %86 = stablehlo.multiply %85, %84 : tensor<2x16x64xf64>
    %87 = stablehlo.add %82, %86 : tensor<2x16x64xf64>
    %cst_15 = stablehlo.constant dense<0.79788456080286541> : tensor<f64>
    %88 = stablehlo.broadcast_in_dim %cst_15, dims = [] : (tensor<f64>) -> tensor<2x16x64xf64>
    %89 = stablehlo.multiply %88, %87 : tensor<2x16x64xf64>
    %90 = stablehlo.tanh %89 : tensor<2x16x64xf64>
    %cst_16 = stablehlo.constant dense<1.000000e+00> : tensor<f64>
    %91 = stablehlo.broadcast_in_dim %cst_16, dims = [] : (tensor<f64>) -> tensor<2x16x64xf64>
    %92 = stablehlo.add %91, %90 : tensor<2x16x64xf64>
    %cst_17 = stablehlo.constant dense<5.000000e-01> : tensor<f64>
    %93 = stablehlo.broadcast_in_dim %cst_17, dims = [] : (tensor<f64>) -> tensor<2x16x64xf64>
    %94 = stablehlo.multiply %93, %92 : tensor<2x16x64xf64>
    %95 = stablehlo.multiply %82, %94 : tensor<2x16x64xf64>
    %96 = stablehlo.dot_general %95, %arg4, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<2x16x64xf64>, tensor<64x32xf64>) -> tensor<2x16x32xf64>
    %97 = stablehlo.add %55, %96 : tensor<2x16x32xf64>
    return %97 : tensor<2x16x32xf64>
  }
  func.func private @_where(%arg0: tensor<16x16xi1>, %arg1: tensor<2x4x16x16xf64>, %arg2: tensor<f64>) -> tensor<2x4x16x16xf64> {
    %0 = stablehlo.convert %arg2 : tensor<f64>
    %1 = stablehlo.broadcast_in_dim %arg0, dims = [2, 3] : (tensor<16x16xi1>) -> tensor<2x4x16x16xi1>
    %2 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f64>) -> tensor<2x4x16x16xf64>
    %3 = stablehlo.select %1, %arg1, %2 : tensor<2x4x16x16xi1>, tensor<2x4x16x16xf64>
    return %3 : tensor<2x4x16x16xf64>
  }
}
