"""Well-typed and ill-typed cases of reductions, windows and sorting."""

from __future__ import annotations

from typing_cases.notation import Cases, case, predicate, reducer, region

WINDOW = "window_dimensions = array<i64: 2, 3>, window_strides = array<i64: 1, 2>"
DIM0 = "dimensions = array<i64: 0>"

WELL_TYPED = [
    case("reduce", "2x3xf32, f32 -> 3xf32", "dimensions = array<i64: 0>", reducer("f32")),
    case("reduce", "2x?xbf16, bf16 -> ?xf32", "dimensions = array<i64: 0>", reducer("f32")),
    case("reduce", "2x3xf32, 2x3xi32, f32, i32 -> f32, i32", "dimensions = array<i64: 0, 1>", region("f32, i32, f32, i32", returns="%a0, %a1: f32, i32")),
    case("reduce", "2xf32, f32 -> 2xf32", "dimensions = array<i64>", reducer("f32")),
    case("reduce_window", "4x9xf32, f32 -> 3x4xf32", WINDOW, reducer("f32")),
    case(
        "reduce_window",
        "4x9xf32, f32 -> 9x7xf32",
        f"{WINDOW}, base_dilations = array<i64: 3, 1>, window_dilations = array<i64: 2, 1>, padding = dense<[[1, 0], [3, 3]]> : tensor<2x2xi64>",
        reducer("f32"),
    ),
    case("select_and_scatter", "4x9xf32, 3x4xf32, f32 -> 4x9xf32", WINDOW, predicate("f32, f32"), reducer("f32")),
    case("sort", "2x3xf32 -> 2x3xf32", "dimension = 1 : i64, is_stable = true", predicate("f32, f32")),
    case("sort", "3xf32, 3xi32 -> 3xf32, 3xi32", "dimension = -1 : i64", predicate("f32, f32, i32, i32")),
    case("map", "2x3xf32, 2x3xf32 -> 2x3xf32", "dimensions = array<i64: 0, 1>", reducer("f32")),
    case(
        "map", "3xf32 -> 3xi32", "dimensions = array<i64: 0>", region("f32", '%c = "stablehlo.convert"(%a0) : (tensor<f32>) -> tensor<i32>', returns="%c: i32")
    ),
]


ILL_TYPED: Cases = [
    (case("reduce", "2x3xf32, f32 -> 2xf32", DIM0, reducer("f32")), "result type tensor<2xf32> does not match the type tensor<3xf32> inferred"),
    (case("reduce", "2x3xf32, 1xf32 -> 3xf32", DIM0, reducer("f32")), "initial value #0 must be a tensor of rank 0, found tensor<1xf32>"),
    (case("reduce", "2x3xf32, f32 -> 3xf32", "dimensions = array<i64: 2>", reducer("f32")), "dimensions must be in the range [0, 2)"),
    (case("reduce", "2x3xf32, f32 -> f32", "dimensions = array<i64: 1, 1>", reducer("f32")), "dimensions must not repeat a dimension"),
    (case("reduce", "2x3xf64, f64 -> 3xf32", DIM0, reducer("f32")), "accumulates in f32, to which elements f64 of input #0 cannot be promoted"),
    (case("reduce", "2xf32, f32 -> f32", DIM0, region("2xf32, 2xf32")), "must be a tensor of rank 0, found tensor<2xf32>"),
    (case("reduce", "2xf32, f32 -> f32", DIM0, region("f32")), "argument of the body region must have 2 types"),
    (case("reduce", "2xf32, f32 -> f32", DIM0, region("f32, f32", returns="%a0, %a1")), "the body region must return 1 value, one for each input, found 2"),
    (
        case("reduce", "2xf32, f32 -> f32", DIM0, region("f32, f64")),
        "argument of the body region #1 must have the type tensor<f32> like the values that it returns, found tensor<f64>",
    ),
    (
        case("reduce", "2xf32, 3xf32, f32, f32 -> f32, f32", DIM0, region("f32, f32, f32, f32", returns="%a0, %a1")),
        "input #1 must have the shape [2] of input #0",
    ),
    (case("reduce", "2xf32, f32 -> f32", DIM0), "expected 1 region (body), found 0"),
    (case("reduce", "2xf32, f32, f32 -> f32", DIM0, reducer("f32")), "expected equally many of each of the operands inputs, init_values, found 3 in all"),
    (case("reduce_window", "4xf32, f32 -> 4xf32", "window_dimensions = array<i64: 2>", reducer("f32")), "does not match the type tensor<3xf32>"),
    (case("reduce_window", "4xf32, f32 -> 4xf32", "window_dimensions = array<i64: 0>", reducer("f32")), "the window's extents must be positive, found 0"),
    (case("reduce_window", "4xf32, f32 -> 4xf32", "window_dimensions = array<i64: 1, 2>", reducer("f32")), "window_dimensions must have 1 entries"),
    (
        case("reduce_window", "4xf32, f32 -> 4xf32", "window_dimensions = array<i64: 1>, base_dilations = array<i64: -1>", reducer("f32")),
        "base_dilations must be positive",
    ),
    (
        case("select_and_scatter", "4xf32, 4xf32, f32 -> 4xf32", "window_dimensions = array<i64: 2>", predicate("f32, f32"), reducer("f32")),
        "source must have the shape [3], one element for each window, found tensor<4xf32>",
    ),
    (
        case("select_and_scatter", "4xf32, 3xf32, f32 -> 3xf32", "window_dimensions = array<i64: 2>", predicate("f32, f32"), reducer("f32")),
        "does not match the inferred tensor<4xf32>",
    ),
    (
        case("select_and_scatter", "4xf32, 3xf32, f32 -> 4xf32", "window_dimensions = array<i64: 2>", reducer("f32"), reducer("f32")),
        "value returned by the select region #0 must have the type tensor<i1> (a predicate), found tensor<f32>",
    ),
    (case("sort", "3xf32 -> 3xf32", "dimension = 1 : i64", predicate("f32, f32")), "dimension must be in the range [-1, 1)"),
    (case("sort", "3xf32, 2xf32 -> 3xf32, 2xf32", "dimension = 0 : i64", predicate("f32, f32, f32, f32")), "input #1 must have the shape [3] of input #0"),
    (case("sort", "3xf32 -> 3xi32", "dimension = 0 : i64", predicate("f32, f32")), "does not match the type tensor<3xf32> of the input"),
    (
        case("sort", "3xf32 -> 3xf32", "dimension = 0 : i64", predicate("i32, i32")),
        "must have the type tensor<f32> (two elements of each input by turns), found tensor<i32>",
    ),
    (case("sort", "3xf32 -> 3xf32", "dimension = 0 : i64", region("f32, f32")), "(a predicate), found tensor<f32>"),
    (case("map", "3xf32 -> 3xf32", "dimensions = array<i64>", region("f32")), "dimensions must list all dimensions [0] of the inputs in order, found []"),
    (case("map", "3xf32 -> 3xf64", "dimensions = array<i64: 0>", region("f32")), "does not match the inferred tensor<3xf32>"),
    (case("map", "3xf32 -> 3xf32", "dimensions = array<i64: 0>", region("f64")), "must have the type tensor<f32> of the inputs' elements, found tensor<f64>"),
    (case("select_and_scatter", "4x9xf32, 4x9xf32, f32 -> 4x9xf32", "", predicate("f32, f32"), reducer("f32")), "window_dimensions must have 2 entries"),
]
