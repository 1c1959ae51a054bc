"""Well-typed and ill-typed cases of ops whose shapes are computed."""

from __future__ import annotations

from typing_cases.contraction import CONV
from typing_cases.indexing import GATHER
from typing_cases.notation import Cases, case

WELL_TYPED = [
    case("get_dimension_size", "2x?xf32 -> i32", "dimension = 1 : i64"),
    case("set_dimension_size", "2x?xf32, i32 -> 2x?xf32", "dimension = 1 : i64"),
    case("dynamic_broadcast_in_dim", "1x?xf32, 3xi64 -> ?x?x?xf32", "broadcast_dimensions = array<i64: 0, 2>"),
    case("dynamic_iota", "2xi32 -> ?x3xf32", "iota_dimension = 0 : i64"),
    case("dynamic_reshape", "?xf32, 2xi32 -> ?x3xf32"),
    case("dynamic_pad", "?xf32, f32, 1xi32, 1xi32, 1xi32 -> ?xf32"),
    case("dynamic_gather", "5x6xf32, 3x1xi32, 2xi32 -> 3x?xf32", GATHER),
    case("dynamic_conv", "2x8x9x3xf32, 3x2x3x5xf32, 2x2xi32 -> 2x?x?x5xf32", CONV),
    case("dynamic_conv", "2x8x9x3xf32, 3x2x3x5xf32, 2x2xi64 -> 2x6x10x5xf32", f"{CONV}, window_strides = array<i64: 1, 1>"),
    case("real_dynamic_slice", "?xf32, 1xi32, 1xi32, 1xi32 -> ?xf32"),
]


ILL_TYPED: Cases = [
    (case("get_dimension_size", "2x3xf32 -> i64", "dimension = 1 : i64"), "does not match the inferred tensor<i32>"),
    (case("get_dimension_size", "2x3xf32 -> i32", "dimension = 2 : i64"), "dimension must be in the range [0, 2)"),
    (case("set_dimension_size", "2x3xf32, i64 -> 2x3xf32", "dimension = 1 : i64"), "size must be tensor<i32>, found tensor<i64>"),
    (case("set_dimension_size", "2x3xf32, i32 -> 4x3xf32", "dimension = 1 : i64"), "does not match the inferred tensor<2x?xf32, #stablehlo.bounds<?, 3>>"),
    (
        case("dynamic_broadcast_in_dim", "2xf32, 3xi32 -> ?x?xf32", "broadcast_dimensions = array<i64: 0>"),
        "output_dimensions must be a list of 2 integers (the result's rank), found tensor<3xi32>",
    ),
    (case("dynamic_broadcast_in_dim", "2xf32, 2xi32 -> 3x?xf32", "broadcast_dimensions = array<i64: 0>"), "dimension 0 of the operand has the extent 2"),
    (case("dynamic_iota", "2xf32 -> ?x3xf32", "iota_dimension = 0 : i64"), "output_shape must hold integers, found tensor<2xf32>"),
    (case("dynamic_iota", "2xi32 -> ?x3xf32", "iota_dimension = 2 : i64"), "iota_dimension must be in the range [0, 2)"),
    (case("dynamic_reshape", "6xf32, 2xi32 -> 2x4xf32"), "must have the same number of elements"),
    (case("dynamic_reshape", "6xf32, 2xi32 -> 2x3xf64"), "must have the same element type"),
    (case("dynamic_pad", "?xf32, f64, 1xi32, 1xi32, 1xi32 -> ?xf32"), "padding_value must be tensor<f32>, found tensor<f64>"),
    (case("dynamic_pad", "?xf32, f32, 1xi32, 2xi32, 1xi32 -> ?xf32"), "edge_padding_high must be a list of 1 integers"),
    (case("dynamic_pad", "?xf32, f32, 1xi32, 1xi64, 1xi32 -> ?xf32"), "operands #2 to #4 must have the same type"),
    (case("dynamic_gather", "5x6xf32, 3x1xi32, 3xi32 -> 3x?xf32", GATHER), "slice_sizes must be a list of 2 integers"),
    (case("dynamic_gather", "5x6xf32, 3x1xi32, 2xi32 -> 4x?xf32", GATHER), "does not match the inferred tensor<3x?xf32>"),
    (case("dynamic_conv", "2x8x9x3xf32, 3x2x3x5xf32, 1x2xi32 -> 2x?x?x5xf32", CONV), "padding must hold a low and a high edge"),
    (case("dynamic_conv", "2x8x9x3xf32, 3x2x3x5xf32, 2x2xi32 -> 2x?x?x4xf32", CONV), "does not match the inferred tensor<2x?x?x5xf32>"),
    (case("dynamic_conv", "2x8x9x3xf32, 3x2x3x5xf32, 2x2xf32 -> 2x?x?x5xf32", CONV), "padding must hold integers"),
    (case("real_dynamic_slice", "?xf32, 1xi32, 1xi32, 2xi32 -> ?xf32"), "strides must be a list of 1 integers"),
    (case("real_dynamic_slice", "?xf32, 1xi32, 1xi32, 1xi32 -> ?xf64"), "does not match the inferred tensor<?xf32>"),
    (case("dynamic_gather", "5x6xf32, 3x1xi32, 2xindex -> 3x?xf32", GATHER), "slice_sizes must hold integers"),
]
