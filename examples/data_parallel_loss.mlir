// What each of 2 devices computes: the loss of its half of the batch, and the mean over both by an all_reduce.
//   wengert run examples/data_parallel_loss.mlir --devices 2
//   wengert vjp examples/data_parallel_loss.mlir --wrt 0 | wengert run - --devices 2
module attributes {mhlo.num_partitions = 2 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%w: tensor<3xf64>, %x: tensor<4x3xf64>, %y: tensor<4xf64>) -> tensor<f64> {
    %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<4x3xf64>, tensor<3xf64>) -> tensor<4xf64>
    %1 = stablehlo.tanh %0 : tensor<4xf64>
    %2 = stablehlo.subtract %1, %y : tensor<4xf64>
    %3 = stablehlo.multiply %2, %2 : tensor<4xf64>
    %zero = stablehlo.constant dense<0.0> : tensor<f64>
    %4 = stablehlo.reduce(%3 init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<4xf64>, tensor<f64>) -> tensor<f64>
    %5 = "stablehlo.all_reduce"(%4) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}> ({
    ^bb0(%a: tensor<f64>, %b: tensor<f64>):
      %s = stablehlo.add %a, %b : tensor<f64>
      stablehlo.return %s : tensor<f64>
    }) : (tensor<f64>) -> tensor<f64>
    %eighth = stablehlo.constant dense<0.125> : tensor<f64>
    %6 = stablehlo.multiply %5, %eighth : tensor<f64>
    return %6 : tensor<f64>
  }
}
