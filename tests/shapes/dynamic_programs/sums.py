"""Programs of open extents: contractions, reductions, windows and sorting."""

from __future__ import annotations

from dynamic_programs.notation import ADD, V, program

CONTRACTIONS = [
    program(
        "dot_general",
        "(%x: tensor<{b}x3xf64>, %y: tensor<3x{b}xf64>) -> tensor<{b}x{b}xf64>",
        "%r = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<{b}x3xf64>, tensor<3x{b}xf64>) -> tensor<{b}x{b}xf64>",
        "return %r : tensor<{b}x{b}xf64>",
    ),
    program(
        "convolution",
        "(%x: tensor<{b}x2x{c}xf64>, %w: tensor<3x2x2xf64>) -> tensor<{b}x3x{d}xf64>",
        "%r = stablehlo.convolution(%x, %w) dim_numbers = [b, f, 0]x[o, i, 0]->[b, f, 0], window = {stride = [2], pad = [[1, 0]]} "
        "{batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<{b}x2x{c}xf64>, tensor<3x2x2xf64>) -> tensor<{b}x3x{d}xf64>",
        "return %r : tensor<{b}x3x{d}xf64>",
        extents=lambda b: {"c": b + 2, "d": (b + 1) // 2 + 1},
    ),
    program(
        "cholesky",
        "(%x: tensor<{b}x2x2xf64>) -> tensor<{b}x2x2xf64>",
        "%0 = stablehlo.dot_general %x, %x, batching_dims = [0] x [0], contracting_dims = [2] x [2] : (tensor<{b}x2x2xf64>, tensor<{b}x2x2xf64>) -> tensor<{b}x2x2xf64>",
        "%r = stablehlo.cholesky %0, lower = true : tensor<{b}x2x2xf64>",
        "return %r : tensor<{b}x2x2xf64>",
    ),
    program(
        "fft",
        "(%x: tensor<{b}x4xf64>) -> tensor<{b}x3xcomplex<f64>>",
        "%r = stablehlo.fft %x, type = RFFT, length = [4] : (tensor<{b}x4xf64>) -> tensor<{b}x3xcomplex<f64>>",
        "return %r : tensor<{b}x3xcomplex<f64>>",
    ),
]

REDUCTIONS = [
    program(
        "reduce",
        "(%x: tensor<{b}x3xf64>) -> tensor<3xf64>",
        "%z = stablehlo.constant dense<0.0> : tensor<f64>",
        "%r = stablehlo.reduce(%x init: %z) applies stablehlo.add across dimensions = [0] : (tensor<{b}x3xf64>, tensor<f64>) -> tensor<3xf64>",
        "return %r : tensor<3xf64>",
    ),
    program(
        "reduce_window",
        f"(%x: {V}) -> tensor<{{c}}xf64>",
        "%z = stablehlo.constant dense<0.0> : tensor<f64>",
        f'%r = "stablehlo.reduce_window"(%x, %z) <{{window_dimensions = array<i64: 2>}}> {ADD} : ({V}, tensor<f64>) -> tensor<{{c}}xf64>',
        "return %r : tensor<{c}xf64>",
        extents=lambda b: {"c": b - 1},
    ),
    program(
        "sort",
        f"(%x: {V}) -> {V}",
        '%r = "stablehlo.sort"(%x) <{dimension = 0 : i64, is_stable = true}> ({',
        "^bb0(%p: tensor<f64>, %q: tensor<f64>):",
        "  %c = stablehlo.compare LT, %p, %q : (tensor<f64>, tensor<f64>) -> tensor<i1>",
        "  stablehlo.return %c : tensor<i1>",
        f"}}) : ({V}) -> {V}",
        f"return %r : {V}",
    ),
    program(
        "top_k",
        "(%x: tensor<{b}x4xf64>) -> tensor<{b}x2xf64>",
        "%r:2 = chlo.top_k(%x, k = 2) : tensor<{b}x4xf64> -> (tensor<{b}x2xf64>, tensor<{b}x2xi32>)",
        "return %r#0 : tensor<{b}x2xf64>",
    ),
]
