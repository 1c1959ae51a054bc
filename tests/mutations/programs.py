"""The programs that show planted mistakes: each has what several of them need, so that there is something to reduce."""

from __future__ import annotations

ELEMENTWISE = """func.func public @main(%x: tensor<3x4xf64>, %y: tensor<3x4xf64>) -> tensor<f64> {
  %zero = stablehlo.constant dense<0.0> : tensor<f64>
  %one = stablehlo.constant dense<1.0> : tensor<3x4xf64>
  %0 = stablehlo.tanh %x : tensor<3x4xf64>
  %1 = stablehlo.sine %y : tensor<3x4xf64>
  %2 = stablehlo.multiply %0, %1 : tensor<3x4xf64>
  %3 = stablehlo.cosine %2 : tensor<3x4xf64>
  %4 = stablehlo.exponential %3 : tensor<3x4xf64>
  %5 = stablehlo.add %4, %one : tensor<3x4xf64>
  %6 = stablehlo.log %5 : tensor<3x4xf64>
  %7 = stablehlo.divide %x, %5 : tensor<3x4xf64>
  %8 = stablehlo.logistic %7 : tensor<3x4xf64>
  %9 = stablehlo.sqrt %5 : tensor<3x4xf64>
  %10 = stablehlo.rsqrt %4 : tensor<3x4xf64>
  %11 = stablehlo.power %9, %x : tensor<3x4xf64>
  %12 = stablehlo.atan2 %8, %11 : tensor<3x4xf64>
  %13 = stablehlo.maximum %12, %y : tensor<3x4xf64>
  %14 = stablehlo.subtract %13, %10 : tensor<3x4xf64>
  %15 = stablehlo.multiply %14, %6 : tensor<3x4xf64>
  %16 = stablehlo.abs %15 : tensor<3x4xf64>
  %17 = stablehlo.log_plus_one %16 : tensor<3x4xf64>
  %18 = stablehlo.reduce(%17 init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<3x4xf64>, tensor<f64>) -> tensor<f64>
  return %18 : tensor<f64>
}
"""

MOVEMENTS = """func.func public @main(%x: tensor<3x4xf64>, %y: tensor<4x2xf64>, %i: tensor<i32>) -> tensor<f64> {
  %zero = stablehlo.constant dense<0.0> : tensor<f64>
  %0 = stablehlo.transpose %x, dims = [1, 0] : (tensor<3x4xf64>) -> tensor<4x3xf64>
  %1 = stablehlo.sine %0 : tensor<4x3xf64>
  %2 = stablehlo.concatenate %1, %y, dim = 1 : (tensor<4x3xf64>, tensor<4x2xf64>) -> tensor<4x5xf64>
  %3 = stablehlo.reverse %2, dims = [1] : tensor<4x5xf64>
  %4 = stablehlo.multiply %3, %2 : tensor<4x5xf64>
  %5 = stablehlo.slice %4 [1:4, 0:5:2] : (tensor<4x5xf64>) -> tensor<3x3xf64>
  %6 = stablehlo.tanh %5 : tensor<3x3xf64>
  %7 = stablehlo.pad %6, %zero, low = [1, 0], high = [0, 2], interior = [0, 1] : (tensor<3x3xf64>, tensor<f64>) -> tensor<4x7xf64>
  %8 = stablehlo.reshape %7 : (tensor<4x7xf64>) -> tensor<2x14xf64>
  %9 = stablehlo.dynamic_slice %8, %i, %i, sizes = [1, 5] : (tensor<2x14xf64>, tensor<i32>, tensor<i32>) -> tensor<1x5xf64>
  %10 = stablehlo.exponential %9 : tensor<1x5xf64>
  %11 = stablehlo.dynamic_update_slice %8, %10, %i, %i : (tensor<2x14xf64>, tensor<1x5xf64>, tensor<i32>, tensor<i32>) -> tensor<2x14xf64>
  %12 = stablehlo.multiply %11, %8 : tensor<2x14xf64>
  %13 = stablehlo.reduce(%12 init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<2x14xf64>, tensor<f64>) -> tensor<2xf64>
  %14 = stablehlo.broadcast_in_dim %13, dims = [1] : (tensor<2xf64>) -> tensor<4x2xf64>
  %15 = stablehlo.multiply %14, %y : tensor<4x2xf64>
  %16 = stablehlo.sine %15 : tensor<4x2xf64>
  %17 = stablehlo.reduce(%16 init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<4x2xf64>, tensor<f64>) -> tensor<f64>
  return %17 : tensor<f64>
}
"""

PRODUCTS = """func.func public @main(%x: tensor<2x3x4xf64>, %w: tensor<2x5x4xf64>, %v: tensor<1x1x6x6xf64>, %k: tensor<2x1x3x3xf64>) -> (tensor<f64>, tensor<f64>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f64>
  %low = stablehlo.constant dense<0xFFF0000000000000> : tensor<f64>
  %0 = stablehlo.tanh %x : tensor<2x3x4xf64>
  %1 = stablehlo.dot_general %0, %w, batching_dims = [0] x [0], contracting_dims = [2] x [2] : (tensor<2x3x4xf64>, tensor<2x5x4xf64>) -> tensor<2x3x5xf64>
  %2 = stablehlo.reduce(%1 init: %low) applies stablehlo.maximum across dimensions = [2] : (tensor<2x3x5xf64>, tensor<f64>) -> tensor<2x3xf64>
  %3 = stablehlo.broadcast_in_dim %2, dims = [0, 1] : (tensor<2x3xf64>) -> tensor<2x3x5xf64>
  %4 = stablehlo.subtract %1, %3 : tensor<2x3x5xf64>
  %5 = stablehlo.exponential %4 : tensor<2x3x5xf64>
  %6 = stablehlo.reduce(%5 init: %zero) applies stablehlo.add across dimensions = [0, 1, 2] : (tensor<2x3x5xf64>, tensor<f64>) -> tensor<f64>
  %7 = stablehlo.sine %v : tensor<1x1x6x6xf64>
  %8 = stablehlo.convolution(%7, %k) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [2, 1], pad = [[1, 1], [0, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x1x6x6xf64>, tensor<2x1x3x3xf64>) -> tensor<1x2x3x5xf64>
  %9 = stablehlo.multiply %8, %8 : tensor<1x2x3x5xf64>
  %10 = stablehlo.reduce(%9 init: %zero) applies stablehlo.add across dimensions = [0, 1, 2, 3] : (tensor<1x2x3x5xf64>, tensor<f64>) -> tensor<f64>
  return %6, %10 : tensor<f64>, tensor<f64>
}
"""

INDEXING = """func.func public @main(%x: tensor<5x3xf64>, %u: tensor<4x3xf64>, %i: tensor<4x1xi32>) -> tensor<4x3xf64> {
  %0 = stablehlo.sine %x : tensor<5x3xf64>
  %1 = "stablehlo.gather"(%0, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 3>}> : (tensor<5x3xf64>, tensor<4x1xi32>) -> tensor<4x3xf64>
  %2 = stablehlo.multiply %1, %u : tensor<4x3xf64>
  %3 = "stablehlo.scatter"(%0, %i, %2) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f64>, %b: tensor<f64>):
    %s = stablehlo.add %a, %b : tensor<f64>
    stablehlo.return %s : tensor<f64>
  }) : (tensor<5x3xf64>, tensor<4x1xi32>, tensor<4x3xf64>) -> tensor<5x3xf64>
  %4 = stablehlo.tanh %3 : tensor<5x3xf64>
  %5 = stablehlo.slice %4 [0:4, 0:3] : (tensor<5x3xf64>) -> tensor<4x3xf64>
  %6 = stablehlo.multiply %5, %1 : tensor<4x3xf64>
  return %6 : tensor<4x3xf64>
}
"""

LOOP = """func.func public @main(%x: tensor<4xf64>, %w: tensor<4x4xf64>) -> tensor<f64> {
  %zero = stablehlo.constant dense<0.0> : tensor<f64>
  %start = stablehlo.constant dense<0> : tensor<i32>
  %half = stablehlo.constant dense<5.000000e-01> : tensor<4xf64>
  %0 = stablehlo.exponential %x : tensor<4xf64>
  %1:2 = stablehlo.while(%i = %start, %h = %0) : tensor<i32>, tensor<4xf64>
  cond {
    %n = stablehlo.constant dense<3> : tensor<i32>
    %c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %step = stablehlo.constant dense<1> : tensor<i32>
    %j = stablehlo.add %i, %step : tensor<i32>
    %a = stablehlo.dot_general %w, %h, contracting_dims = [1] x [0] : (tensor<4x4xf64>, tensor<4xf64>) -> tensor<4xf64>
    %b = stablehlo.sine %a : tensor<4xf64>
    %d = stablehlo.multiply %b, %half : tensor<4xf64>
    stablehlo.return %j, %d : tensor<i32>, tensor<4xf64>
  }
  %2 = stablehlo.tanh %1#1 : tensor<4xf64>
  %3 = stablehlo.multiply %2, %x : tensor<4xf64>
  %4 = stablehlo.reduce(%3 init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<4xf64>, tensor<f64>) -> tensor<f64>
  return %4 : tensor<f64>
}
"""

SIMPLIFIABLE = """func.func public @main(%x: tensor<4x6xf64>, %y: tensor<4x6xf64>, %n: tensor<4x6xi32>) -> (tensor<6x4xf64>, tensor<4x6xi32>) {
  %minus = stablehlo.constant dense<-1.0> : tensor<4x6xf64>
  %four = stablehlo.constant dense<4.0> : tensor<4x6xf64>
  %two = stablehlo.constant dense<2.0> : tensor<4x6xf64>
  %three = stablehlo.constant dense<3> : tensor<4x6xi32>
  %five = stablehlo.constant dense<5> : tensor<4x6xi32>
  %0 = stablehlo.tanh %x : tensor<4x6xf64>
  %1 = stablehlo.negate %0 : tensor<4x6xf64>
  %2 = stablehlo.negate %1 : tensor<4x6xf64>
  %3 = stablehlo.multiply %2, %y : tensor<4x6xf64>
  %4 = stablehlo.negate %3 : tensor<4x6xf64>
  %5 = stablehlo.subtract %x, %4 : tensor<4x6xf64>
  %6 = stablehlo.multiply %5, %minus : tensor<4x6xf64>
  %7 = stablehlo.divide %6, %four : tensor<4x6xf64>
  %8 = stablehlo.power %7, %two : tensor<4x6xf64>
  %9 = stablehlo.negate %y : tensor<4x6xf64>
  %10 = stablehlo.cosine %9 : tensor<4x6xf64>
  %signed = stablehlo.subtract %10, %6 : tensor<4x6xf64>
  %11 = stablehlo.add %8, %signed : tensor<4x6xf64>
  %12 = stablehlo.slice %11 [1:4, 0:6:2] : (tensor<4x6xf64>) -> tensor<3x3xf64>
  %13 = stablehlo.slice %12 [1:3, 1:3] : (tensor<3x3xf64>) -> tensor<2x2xf64>
  %zero = stablehlo.constant dense<0.0> : tensor<f64>
  %14 = stablehlo.pad %13, %zero, low = [1, 2], high = [1, 2], interior = [0, 0] : (tensor<2x2xf64>, tensor<f64>) -> tensor<4x6xf64>
  %15 = stablehlo.reverse %14, dims = [0] : tensor<4x6xf64>
  %16 = stablehlo.reverse %15, dims = [1] : tensor<4x6xf64>
  %17 = stablehlo.add %16, %11 : tensor<4x6xf64>
  %18 = stablehlo.transpose %17, dims = [1, 0] : (tensor<4x6xf64>) -> tensor<6x4xf64>
  %19 = stablehlo.sine %18 : tensor<6x4xf64>
  %20 = stablehlo.add %n, %three : tensor<4x6xi32>
  %21 = stablehlo.add %20, %five : tensor<4x6xi32>
  %22 = stablehlo.multiply %21, %three : tensor<4x6xi32>
  return %19, %22 : tensor<6x4xf64>, tensor<4x6xi32>
}
"""

ARRANGED = """func.func public @main(%x: tensor<2x3x4xf64>, %v: tensor<5xf64>, %w: tensor<4x5xf64>) -> (tensor<4x3xf64>, tensor<5xf64>, tensor<f64>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f64>
  %0 = stablehlo.sine %x : tensor<2x3x4xf64>
  %1 = stablehlo.transpose %0, dims = [1, 2, 0] : (tensor<2x3x4xf64>) -> tensor<3x4x2xf64>
  %2 = stablehlo.transpose %1, dims = [1, 0, 2] : (tensor<3x4x2xf64>) -> tensor<4x3x2xf64>
  %3 = stablehlo.reduce(%2 init: %zero) applies stablehlo.add across dimensions = [2] : (tensor<4x3x2xf64>, tensor<f64>) -> tensor<4x3xf64>
  %4 = stablehlo.broadcast_in_dim %v, dims = [1] : (tensor<5xf64>) -> tensor<7x5xf64>
  %5 = stablehlo.reduce(%4 init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<7x5xf64>, tensor<f64>) -> tensor<5xf64>
  %6 = stablehlo.transpose %w, dims = [1, 0] : (tensor<4x5xf64>) -> tensor<5x4xf64>
  %7 = stablehlo.dot_general %6, %3, contracting_dims = [1] x [0] : (tensor<5x4xf64>, tensor<4x3xf64>) -> tensor<5x3xf64>
  %8 = stablehlo.transpose %7, dims = [1, 0] : (tensor<5x3xf64>) -> tensor<3x5xf64>
  %9 = stablehlo.slice %v [0:2] : (tensor<5xf64>) -> tensor<2xf64>
  %10 = stablehlo.slice %v [2:5] : (tensor<5xf64>) -> tensor<3xf64>
  %11 = stablehlo.concatenate %9, %10, dim = 0 : (tensor<2xf64>, tensor<3xf64>) -> tensor<5xf64>
  %12 = stablehlo.multiply %11, %5 : tensor<5xf64>
  %13 = stablehlo.reduce(%8 init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<3x5xf64>, tensor<f64>) -> tensor<f64>
  %14 = stablehlo.exponential %13 : tensor<f64>
  return %3, %12, %14 : tensor<4x3xf64>, tensor<5xf64>, tensor<f64>
}
"""

REPEATED = """func.func public @main(%x: tensor<4x6xf64>, %p: tensor<i1>) -> (tensor<2x6xf64>, tensor<4x6xf64>) {
  %0 = stablehlo.tanh %x : tensor<4x6xf64>
  %1 = stablehlo.slice %0 [0:2, 0:6] : (tensor<4x6xf64>) -> tensor<2x6xf64>
  %2 = stablehlo.slice %0 [2:4, 0:6] : (tensor<4x6xf64>) -> tensor<2x6xf64>
  %3 = stablehlo.multiply %1, %2 : tensor<2x6xf64>
  %4 = stablehlo.subtract %3, %2 : tensor<2x6xf64>
  %5 = stablehlo.sine %x : tensor<4x6xf64>
  %6 = "stablehlo.if"(%p) ({
    %a = stablehlo.exponential %5 : tensor<4x6xf64>
    %b = stablehlo.add %a, %5 : tensor<4x6xf64>
    stablehlo.return %b : tensor<4x6xf64>
  }, {
    %a = stablehlo.exponential %5 : tensor<4x6xf64>
    %b = stablehlo.multiply %a, %0 : tensor<4x6xf64>
    stablehlo.return %b : tensor<4x6xf64>
  }) : (tensor<i1>) -> tensor<4x6xf64>
  %7 = stablehlo.sine %x : tensor<4x6xf64>
  %8 = stablehlo.add %6, %7 : tensor<4x6xf64>
  return %4, %8 : tensor<2x6xf64>, tensor<4x6xf64>
}
"""

CARRIED = """func.func public @main(%x: tensor<4xf64>, %y: tensor<4xf64>) -> (tensor<4xf64>, tensor<4xf64>) {
  %start = stablehlo.constant dense<0> : tensor<i32>
  %0 = stablehlo.sine %x : tensor<4xf64>
  %1:4 = stablehlo.while(%i = %start, %a = %0, %b = %y, %c = %x) : tensor<i32>, tensor<4xf64>, tensor<4xf64>, tensor<4xf64>
  cond {
    %n = stablehlo.constant dense<3> : tensor<i32>
    %p = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %step = stablehlo.constant dense<1> : tensor<i32>
    %j = stablehlo.add %i, %step : tensor<i32>
    %d = stablehlo.exponential %c : tensor<4xf64>
    %e = stablehlo.cosine %a : tensor<4xf64>
    %f = stablehlo.add %e, %b : tensor<4xf64>
    %g = stablehlo.multiply %b, %d : tensor<4xf64>
    stablehlo.return %j, %f, %g, %c : tensor<i32>, tensor<4xf64>, tensor<4xf64>, tensor<4xf64>
  }
  %2 = stablehlo.tanh %1#1 : tensor<4xf64>
  %3 = stablehlo.add %2, %1#3 : tensor<4xf64>
  return %2, %3 : tensor<4xf64>, tensor<4xf64>
}
"""

KERNELS = """func.func public @main(%x: tensor<9x13xf64>, %y: tensor<13x9xf64>, %v: tensor<13xf64>) -> (tensor<9xf64>, tensor<9x13xf64>, tensor<9x9xf64>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f64>
  %0 = stablehlo.sine %x : tensor<9x13xf64>
  %1 = stablehlo.transpose %y, dims = [1, 0] : (tensor<13x9xf64>) -> tensor<9x13xf64>
  %2 = stablehlo.multiply %0, %1 : tensor<9x13xf64>
  %3 = stablehlo.reduce(%2 init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<9x13xf64>, tensor<f64>) -> tensor<9xf64>
  %4 = stablehlo.broadcast_in_dim %3, dims = [0] : (tensor<9xf64>) -> tensor<9x13xf64>
  %5 = stablehlo.broadcast_in_dim %v, dims = [1] : (tensor<13xf64>) -> tensor<9x13xf64>
  %6 = stablehlo.reverse %5, dims = [1] : tensor<9x13xf64>
  %7 = stablehlo.divide %4, %6 : tensor<9x13xf64>
  %8 = stablehlo.exponential %0 : tensor<9x13xf64>
  %9 = stablehlo.add %7, %8 : tensor<9x13xf64>
  %10 = stablehlo.slice %9 [0:9, 2:13] : (tensor<9x13xf64>) -> tensor<9x11xf64>
  %11 = stablehlo.pad %10, %zero, low = [0, 1], high = [0, 1], interior = [0, 0] : (tensor<9x11xf64>, tensor<f64>) -> tensor<9x13xf64>
  %12 = stablehlo.tanh %11 : tensor<9x13xf64>
  %13 = stablehlo.dot_general %12, %y, contracting_dims = [1] x [0] : (tensor<9x13xf64>, tensor<13x9xf64>) -> tensor<9x9xf64>
  %14 = stablehlo.tanh %13 : tensor<9x9xf64>
  return %3, %12, %14 : tensor<9xf64>, tensor<9x13xf64>, tensor<9x9xf64>
}
"""

PERMUTED = """func.func public @main(%x: tensor<2x3x4xf64>, %y: tensor<3x4x2xf64>) -> tensor<f64> {
  %zero = stablehlo.constant dense<0.0> : tensor<f64>
  %0 = stablehlo.sine %x : tensor<2x3x4xf64>
  %1 = stablehlo.transpose %0, dims = [1, 2, 0] : (tensor<2x3x4xf64>) -> tensor<3x4x2xf64>
  %2 = stablehlo.multiply %1, %y : tensor<3x4x2xf64>
  %3 = stablehlo.tanh %2 : tensor<3x4x2xf64>
  %4 = stablehlo.reduce(%3 init: %zero) applies stablehlo.add across dimensions = [0, 1, 2] : (tensor<3x4x2xf64>, tensor<f64>) -> tensor<f64>
  return %4 : tensor<f64>
}
"""

SQUARES = """func.func public @main(%v: tensor<4xf64>, %x: tensor<3x4x4xf64>) -> tensor<3x4x4xf64> {
  %0 = stablehlo.tanh %v : tensor<4xf64>
  %1 = stablehlo.broadcast_in_dim %0, dims = [0] : (tensor<4xf64>) -> tensor<4x4xf64>
  %2 = stablehlo.broadcast_in_dim %1, dims = [1, 2] : (tensor<4x4xf64>) -> tensor<3x4x4xf64>
  %3 = stablehlo.sine %x : tensor<3x4x4xf64>
  %4 = stablehlo.multiply %2, %3 : tensor<3x4x4xf64>
  %5 = stablehlo.exponential %4 : tensor<3x4x4xf64>
  return %5 : tensor<3x4x4xf64>
}
"""

WINDOWS = """func.func public @main(%x: tensor<1x12x12xf64>) -> tensor<1x12x12xf64> {
  %low = stablehlo.constant dense<0xFFF0000000000000> : tensor<f64>
  %0 = stablehlo.exponential %x : tensor<1x12x12xf64>
  %1 = stablehlo.negate %0 : tensor<1x12x12xf64>
  %2 = "stablehlo.reduce_window"(%1, %low) <{window_dimensions = array<i64: 1, 3, 5>, padding = dense<[[0, 0], [1, 1], [2, 2]]> : tensor<3x2xi64>}> ({
  ^bb0(%a: tensor<f64>, %b: tensor<f64>):
    %m = stablehlo.maximum %a, %b : tensor<f64>
    stablehlo.return %m : tensor<f64>
  }) : (tensor<1x12x12xf64>, tensor<f64>) -> tensor<1x12x12xf64>
  %3 = stablehlo.multiply %2, %1 : tensor<1x12x12xf64>
  %4 = stablehlo.tanh %3 : tensor<1x12x12xf64>
  return %4 : tensor<1x12x12xf64>
}
"""

BATCH = """func.func public @main(%x: tensor<200x3xf64>, %y: tensor<200x3xf64>) -> (tensor<200xf64>, tensor<200x3xf64>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f64>
  %0 = stablehlo.sine %x : tensor<200x3xf64>
  %1 = stablehlo.multiply %0, %y : tensor<200x3xf64>
  %2 = stablehlo.reduce(%1 init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<200x3xf64>, tensor<f64>) -> tensor<200xf64>
  %3 = stablehlo.exponential %2 : tensor<200xf64>
  %4 = stablehlo.broadcast_in_dim %3, dims = [0] : (tensor<200xf64>) -> tensor<200x3xf64>
  %5 = stablehlo.divide %1, %4 : tensor<200x3xf64>
  return %3, %5 : tensor<200xf64>, tensor<200x3xf64>
}
"""

LONG = """func.func public @main(%x: tensor<300x256xf64>, %y: tensor<256xf64>) -> (tensor<f64>, tensor<300xf64>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f64>
  %0 = stablehlo.tanh %x : tensor<300x256xf64>
  %1 = stablehlo.broadcast_in_dim %y, dims = [1] : (tensor<256xf64>) -> tensor<300x256xf64>
  %2 = stablehlo.multiply %0, %1 : tensor<300x256xf64>
  %3 = stablehlo.reduce(%2 init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<300x256xf64>, tensor<f64>) -> tensor<300xf64>
  %4 = stablehlo.abs %x : tensor<300x256xf64>
  %5 = stablehlo.reduce(%4 init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<300x256xf64>, tensor<f64>) -> tensor<f64>
  return %5, %3 : tensor<f64>, tensor<300xf64>
}
"""

TILED = """func.func public @main(%x: tensor<19x21xf64>, %y: tensor<21x19xf64>) -> tensor<19x21xf64> {
  %0 = stablehlo.transpose %y, dims = [1, 0] : (tensor<21x19xf64>) -> tensor<19x21xf64>
  %1 = stablehlo.add %x, %0 : tensor<19x21xf64>
  %2 = stablehlo.multiply %1, %0 : tensor<19x21xf64>
  %3 = stablehlo.abs %2 : tensor<19x21xf64>
  return %3 : tensor<19x21xf64>
}
"""

BUFFERS = """func.func public @main(%x: tensor<7x7xf64>, %y: tensor<7x7xf64>) -> tensor<7x7xf64> {
  %0 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<7x7xf64>, tensor<7x7xf64>) -> tensor<7x7xf64>
  %1 = stablehlo.dot_general %y, %x, contracting_dims = [1] x [0] : (tensor<7x7xf64>, tensor<7x7xf64>) -> tensor<7x7xf64>
  %2 = stablehlo.dot_general %1, %x, contracting_dims = [1] x [0] : (tensor<7x7xf64>, tensor<7x7xf64>) -> tensor<7x7xf64>
  %3 = stablehlo.dot_general %0, %2, contracting_dims = [1] x [0] : (tensor<7x7xf64>, tensor<7x7xf64>) -> tensor<7x7xf64>
  %4 = stablehlo.dot_general %3, %1, contracting_dims = [1] x [0] : (tensor<7x7xf64>, tensor<7x7xf64>) -> tensor<7x7xf64>
  %5 = stablehlo.tanh %4 : tensor<7x7xf64>
  return %5 : tensor<7x7xf64>
}
"""
