"""Well-typed and ill-typed cases of ops that make tensors or move elements."""

from __future__ import annotations

from typing_cases.notation import Cases, case

SLICE = "start_indices = array<i64: {}>, limit_indices = array<i64: {}>, strides = array<i64: {}>"
PAD = "edge_padding_low = array<i64: {}>, edge_padding_high = array<i64: {}>, interior_padding = array<i64: {}>"

WELL_TYPED = [
    case("constant", "-> 2xf32", "value = dense<[1.0, 2.0]> : tensor<2xf32>"),
    case("constant", "-> 2xi1", "value = dense<true> : tensor<2xi1>"),
    case("chlo.constant", "-> 2xf32", "value = dense<[1.0, 2.0]> : tensor<2xf32>"),
    case("iota", "-> 2x3xf32", "iota_dimension = 1 : i64"),
    case("broadcast_in_dim", "1x3xf32 -> 4x2x3xf32", "broadcast_dimensions = array<i64: 1, 2>"),
    case("broadcast_in_dim", "?x3xf32 -> 3x2xf32", "broadcast_dimensions = array<i64: 1, 0>"),
    case("broadcast_in_dim", "f32 -> 3xf32", "broadcast_dimensions = array<i64>"),
    case("reshape", "2x6xf32 -> 3x4xf32"),
    case("reshape", "?x6xf32 -> 3x4xf32"),
    case("reshape", "f32 -> 1x1xf32"),
    case("transpose", "2x3x4xf32 -> 4x2x3xf32", "permutation = array<i64: 2, 0, 1>"),
    case("slice", "8x5xf32 -> 3x2xf32", "start_indices = array<i64: 1, 0>, limit_indices = array<i64: 7, 5>, strides = array<i64: 2, 4>"),
    case("slice", "?xf32 -> 2xf32", "start_indices = array<i64: 0>, limit_indices = array<i64: 2>, strides = array<i64: 1>"),
    case("pad", "2x3xf32, f32 -> 6x2xf32", "edge_padding_low = array<i64: 1, -1>, edge_padding_high = array<i64: 2, 0>, interior_padding = array<i64: 1, 0>"),
    case("pad", "0xf32, f32 -> 3xf32", "edge_padding_low = array<i64: 1>, edge_padding_high = array<i64: 2>, interior_padding = array<i64: 4>"),
    case("concatenate", "2x3xf32, 2x1xf32, 2x0xf32 -> 2x4xf32", "dimension = 1 : i64"),
    case("concatenate", "?x3xf32, 2x1xf32 -> 2x4xf32", "dimension = 1 : i64"),
    case("reverse", "2x3xf32 -> 2x3xf32", "dimensions = array<i64: 1>"),
    case("reverse", "2xf32 -> 2xf32", "dimensions = array<i64>"),
]


ILL_TYPED: Cases = [
    (case("constant", "-> 3xf32", "value = dense<[1.0, 2.0]> : tensor<2xf32>"), "result type tensor<3xf32> does not match the type tensor<2xf32> of the value"),
    (case("constant", "-> ?xf32", "value = dense<[1.0, 2.0]> : tensor<2xf32>"), "result must have a static shape"),
    (case("chlo.constant", "-> 2xf64", "value = dense<[1.0, 2.0]> : tensor<2xf32>"), "does not match the type tensor<2xf32> of the value"),
    (case("iota", "-> 2x3xf32", "iota_dimension = 2 : i64"), "iota_dimension must be in the range [0, 2) given by the result's rank, found 2"),
    (case("iota", "-> 2xi1", "iota_dimension = 0 : i64"), "result must hold integers, floats or complex numbers, found tensor<2xi1>"),
    (case("iota", "-> ?xf32", "iota_dimension = 0 : i64"), "result must have a static shape"),
    (case("broadcast_in_dim", "2x3xf32 -> 3x3xf32", "broadcast_dimensions = array<i64: 0, 1>"), "dimension 0 of the operand has the extent 2"),
    (
        case("broadcast_in_dim", "2xf32 -> 2x3xf32", "broadcast_dimensions = array<i64: 2>"),
        "broadcast_dimensions must be in the range [0, 2) given by the result's rank, found 2",
    ),
    (case("broadcast_in_dim", "2x2xf32 -> 2x2xf32", "broadcast_dimensions = array<i64: 0, 0>"), "must not repeat a dimension, found [0, 0]"),
    (
        case("broadcast_in_dim", "2xf32 -> 2x3xf32", "broadcast_dimensions = array<i64>"),
        "broadcast_dimensions must have 1 entries (the rank of the operand), found 0",
    ),
    (case("broadcast_in_dim", "2xf32 -> 2xf64", "broadcast_dimensions = array<i64: 0>"), "must have the same element type, found f32 and f64"),
    (case("broadcast_in_dim", "2xf32 -> 2xf32", "broadcast_dimensions = array<i32: 0>"), "broadcast_dimensions must be an array of i64"),
    (case("reshape", "2x6xf32 -> 3x5xf32"), "found tensor<2x6xf32> with 12 and tensor<3x5xf32> with 15"),
    (case("reshape", "2x6xf32 -> 12xf64"), "must have the same element type, found f32 and f64"),
    (case("transpose", "2x3xf32 -> 2x3xf32", "permutation = array<i64: 1, 0>"), "result type tensor<2x3xf32> does not match the inferred tensor<3x2xf32>"),
    (case("transpose", "2x3xf32 -> 2x3xf32", "permutation = array<i64: 0, 0>"), "permutation must hold each of the dimensions 0 to 1 once, found [0, 0]"),
    (case("slice", "8xf32 -> 2xf32", SLICE.format(1, 9, 4)), "must satisfy 0 <= start <= limit <= 8 in dimension 0, found 1 and 9"),
    (case("slice", "8xf32 -> 2xf32", SLICE.format(5, 4, 1)), "found 5 and 4"),
    (case("slice", "8xf32 -> 2xf32", SLICE.format(0, 4, 0)), "strides must be positive, found 0 in dimension 0"),
    (case("slice", "8xf32 -> 2xf32", SLICE.format(0, 7, 2)), "does not match the inferred tensor<4xf32>"),
    (case("slice", "8xf32 -> 2xf32", SLICE.format("0, 1", 7, 2)), "start_indices must have 1 entries"),
    (case("pad", "2xf32, f32 -> 3xf32", PAD.format(1, 1, 0)), "result type tensor<3xf32> does not match the inferred tensor<4xf32>"),
    (case("pad", "2xf32, f64 -> 4xf32", PAD.format(1, 1, 0)), "padding_value must be tensor<f32>, found tensor<f64>"),
    (case("pad", "2xf32, f32 -> 4xf32", PAD.format(1, 0, -1)), "interior_padding must not be negative, found -1 in dimension 0"),
    (case("pad", "2xf32, f32 -> 0xf32", PAD.format(-1, -2, 0)), "leaves a negative extent of -1 in dimension 0"),
    (case("concatenate", "2x3xf32, 3x3xf32 -> 5x6xf32", "dimension = 1 : i64"), "operands must agree in every dimension but 1"),
    (case("concatenate", "2xf32, 3xf64 -> 5xf32", "dimension = 0 : i64"), "must have the same element type"),
    (case("concatenate", "2xf32, 3xf32 -> 6xf32", "dimension = 0 : i64"), "does not match the inferred tensor<5xf32>"),
    (case("concatenate", "2xf32, 3xf32 -> 5xf32", "dimension = 1 : i64"), "dimension must be in the range [0, 1)"),
    (case("concatenate", "-> 5xf32", "dimension = 0 : i64"), "there must be at least one operand"),
    (case("reverse", "2x3xf32 -> 2x3xf32", "dimensions = array<i64: 1, 1>"), "dimensions must not repeat a dimension, found [1, 1]"),
    (case("reverse", "2x3xf32 -> 2x3xf32", "dimensions = array<i64: -1>"), "dimensions must be in the range [0, 2)"),
    (case("reverse", "2x3xf32 -> 3x2xf32", "dimensions = array<i64: 1>"), "does not match the inferred tensor<2x3xf32>"),
]
