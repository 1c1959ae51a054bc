"""Ill-typed cases of every op, each with a part of the message that rejects it (see typing_cases for the notation)."""

from __future__ import annotations

from typing_cases import BINARY, BITS, CHLO, FLOATS, SHIFTS, case, predicate, reducer, region
from typing_ill_forms import ILL_FORMS

Cases = list[tuple[str, str]]

ONLY_FLOATS = ("ceil", "floor", "round_nearest_afz", "round_nearest_even")
NOT_INTEGERS = [n for n in FLOATS if n not in ("negate", "sign")]
LT = "comparison_direction = #stablehlo<comparison_direction LT>"
ELEMENTWISE: Cases = [
    *[(case(n, "2xf32 -> 3xf32"), "result type tensor<3xf32> does not match the inferred tensor<2xf32>") for n in FLOATS],
    *[(case(n, "2xf32 -> 2xf64"), "does not match the inferred tensor<2xf32>") for n in FLOATS],
    *[(case(n, "2xi32 -> 2xi32"), "found tensor<2xi32>") for n in NOT_INTEGERS],
    *[(case(n, "2xc64 -> 2xc64"), f"stablehlo.{n} takes floats, found tensor<2xcomplex<f32>>") for n in ONLY_FLOATS],
    *[(case(n, "2xf32, 3xf32 -> 2xf32"), "operands must have the same type, found tensor<2xf32> and tensor<3xf32>") for n in BINARY],
    *[(case(n, "2xf32, 2xf64 -> 2xf32"), "operands must have the same type, found tensor<2xf32> and tensor<2xf64>") for n in BINARY],
    *[(case(n, "2xf32, 2xf32 -> 2x1xf32"), "does not match the inferred tensor<2xf32>") for n in BINARY],
    *[(case(n, "2xi1, 2xi1 -> 2xi1"), "takes integers, floats or complex numbers, found tensor<2xi1>") for n in ("subtract", "divide", "power", "remainder")],
    *[(case(n, "2xf32, 2xf32 -> 2xf32"), "takes booleans or integers, found tensor<2xf32>") for n in BITS],
    *[(case(n, "2xi1, 2xi1 -> 2xi1"), "takes integers, found tensor<2xi1>") for n in SHIFTS],
    *[(case(n, "2xf32 -> 2xf32"), "found tensor<2xf32>") for n in ("not", "popcnt", "count_leading_zeros")],
    (case("sign", "2xui8 -> 2xui8"), "takes signed integers, floats or complex numbers, found tensor<2xui8>"),
    (case("add", "2x?xf32, ?x3xf32 -> 2x4xf32"), "result type tensor<2x4xf32> does not match"),
    (case("add", "tensor<2xindex>, tensor<2xindex> -> tensor<2xindex>"), "tensors hold booleans"),
    (case("add", "tensor<*xf32>, tensor<*xf32> -> tensor<*xf32>"), "operand must be a ranked tensor, found tensor<*xf32>"),
    (case("sine", "tensor<2xsi32> -> tensor<2xsi32>"), "operand has the type tensor<2xsi32>"),
    (case("abs", "2xc64 -> 2xc64"), "result type tensor<2xcomplex<f32>> does not match the inferred tensor<2xf32>"),
    (case("abs", "2xui8 -> 2xui8"), "operand must hold signed integers, floats or complex numbers, found tensor<2xui8>"),
    (case("real", "2xc128 -> 2xf32"), "does not match the inferred tensor<2xf64>"),
    (case("imag", "2xi32 -> 2xi32"), "operand must hold floats or complex numbers, found tensor<2xi32>"),
    (case("is_finite", "2xf32 -> 2xf32"), "does not match the inferred tensor<2xi1>"),
    (case("is_finite", "2xi32 -> 2xi1"), "operand must hold floats, found tensor<2xi32>"),
    (case("complex", "2xf32, 2xf32 -> 2xc128"), "does not match the inferred tensor<2xcomplex<f32>>"),
    (case("complex", "2xf16, 2xf16 -> 2xc64"), "must hold f32 or f64, found tensor<2xf16>"),
    (case("complex", "2xf32, 2xf64 -> 2xc64"), "lhs and rhs must have the same type"),
    (case("compare", "2xf32, 2xf32 -> 2xf32", LT), "does not match the inferred tensor<2xi1>"),
    (case("compare", "2xf32, 3xf32 -> 2xi1", LT), "lhs and rhs must have the same type, found tensor<2xf32> and tensor<3xf32>"),
    (case("compare", "2xf32, 2xf32 -> 2xi1"), "missing attribute 'comparison_direction'"),
    (
        case("compare", "2xi1, 2xi1 -> 2xi1", f"{LT}, compare_type = #stablehlo<comparison_type SIGNED>"),
        "compare_type SIGNED is for signed integers, found tensor<2xi1>",
    ),
    (
        case("compare", "2xf32, 2xf32 -> 2xi1", f"{LT}, compare_type = #stablehlo<comparison_type UNSIGNED>"),
        "compare_type UNSIGNED is for booleans or unsigned integers",
    ),
    (case("select", "3xi1, 2xf32, 2xf32 -> 2xf32"), "pred must be of rank 0 or have the shape [2] of on_true, found tensor<3xi1>"),
    (case("select", "2xi8, 2xf32, 2xf32 -> 2xf32"), "pred must hold booleans (i1), found tensor<2xi8>"),
    (case("select", "i1, 2xf32, 2xf64 -> 2xf32"), "on_true and on_false must have the same type"),
    (case("select", "i1, 2xf32, 2xf32 -> 3xf32"), "does not match the inferred tensor<2xf32>"),
    (case("clamp", "3xf32, 2xf32, f32 -> 2xf32"), "min must be of rank 0 or have the shape [2] of the operand, found tensor<3xf32>"),
    (case("clamp", "f32, 2xf32, f64 -> 2xf32"), "max and operand must have the same element type, found f64 and f32"),
    (case("clamp", "f32, 2xf32, f32 -> 2xf64"), "does not match the inferred tensor<2xf32>"),
    (case("convert", "2xf32 -> 3xi32"), "result type tensor<3xi32> does not match the inferred tensor<2xi32>"),
    (case("convert", "tuple<tensor<2xf32>> -> 2xf32"), "operand must be a ranked tensor"),
    (case("bitcast_convert", "2xf64 -> 2xi32"), "does not match the inferred tensor<2x2xi32>"),
    (case("bitcast_convert", "3x2xui8 -> 3xf32"), "needs an operand whose last dimension has the extent 4, found tensor<3x2xui8>"),
    (case("bitcast_convert", "2xf64 -> 2xc64"), "complex numbers can only be bitcast to complex numbers"),
    (case("reduce_precision", "2xf32 -> 2xf32", "exponent_bits = 0 : i32, mantissa_bits = 10 : i32"), "exponent_bits must be at least 1, found 0"),
    (case("reduce_precision", "2xf32 -> 2xf32", "exponent_bits = 5 : i32, mantissa_bits = -1 : i32"), "mantissa_bits must not be negative, found -1"),
    (case("reduce_precision", "2xi32 -> 2xi32", "exponent_bits = 5 : i32, mantissa_bits = 3 : i32"), "operand must hold floats"),
    (case("reduce_precision", "2xf32 -> 2xf32", "exponent_bits = 5, mantissa_bits = 3 : i32"), "attribute 'exponent_bits'"),
    *[(case(f"chlo.{n}", "2xf32 -> 3xf32"), "does not match the inferred tensor<2xf32>") for n in CHLO],
    *[(case(f"chlo.{n}", "2xi32 -> 2xi32"), f"chlo.{n} takes floats") for n in CHLO],
    *[(case(f"chlo.{n}", "2xf32 -> 2xf32"), "does not match the inferred tensor<2xi1>") for n in ("is_inf", "is_pos_inf", "is_neg_inf")],
    *[(case(f"chlo.{n}", "2xf32, 2xf64 -> 2xf32"), "operands must have the same type") for n in ("next_after", "polygamma", "zeta")],
    *[(case(f"chlo.{n}", "2xc64, 2xc64 -> 2xc64"), "takes floats, found tensor<2xcomplex<f32>>") for n in ("next_after", "polygamma", "zeta")],
]

SLICE = "start_indices = array<i64: {}>, limit_indices = array<i64: {}>, strides = array<i64: {}>"
PAD = "edge_padding_low = array<i64: {}>, edge_padding_high = array<i64: {}>, interior_padding = array<i64: {}>"
SHAPE: Cases = [
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


def dot(types: str, lists: str, more: str = "") -> str:
    return case("dot_general", types, f"dot_dimension_numbers = #stablehlo.dot<{lists}>{more}")


def conv(types: str, more: str = "", groups: tuple[int, int] = (1, 1), numbers: str = "[b, 0, f]x[0, i, o]->[b, 0, f]") -> str:
    counts = f"feature_group_count = {groups[0]} : i64, batch_group_count = {groups[1]} : i64"
    return case("convolution", types, f"{counts}, dimension_numbers = #stablehlo.conv<{numbers}>{more}")


MATMUL = "lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]"
RAGGED = (
    "ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [1], "
    "rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]>"
)
CONTRACTION: Cases = [
    (
        dot("3x4xf32, 5x2xf32 -> 3x2xf32", MATMUL),
        "contracting dimensions 1 of lhs and 0 of rhs must have the same extent, found tensor<3x4xf32> and tensor<5x2xf32>",
    ),
    (dot("3x4xf32, 4x2xf32 -> 3x4xf32", MATMUL), "result type tensor<3x4xf32> does not match the inferred tensor<3x2xf32>"),
    (dot("3x4xf32, 4x2xf32 -> 3x2xf32", "lhs_contracting_dimensions = [1]"), "as many lhs as rhs contracting dimensions, found [1] and []"),
    (dot("3x4xf32, 4x2xf32 -> 3x2xf32", "lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [0]"), "of lhs must be in the range [0, 2)"),
    (
        dot("3x4xf32, 4x3xf32 -> 3x3xf32", "lhs_batching_dimensions = [1], rhs_batching_dimensions = [0], " + MATMUL),
        "the batching and contracting dimensions of lhs must not repeat a dimension, found [1, 1]",
    ),
    (
        dot(
            "3x4xf32, 4x2xf32 -> 3xf32",
            "lhs_batching_dimensions = [0], rhs_batching_dimensions = [1], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]",
        ),
        "batching dimensions 0 of lhs and 1 of rhs must have the same extent",
    ),
    (dot("3x4xf32, 4x2xf32 -> 3x2xi32", MATMUL), "cannot hold the fractional part of products of f32 and f32"),
    (dot("3x4xc64, 4x2xc64 -> 3x2xf32", MATMUL), "cannot hold the imaginary part"),
    (dot("3x4xf32, 4x2xf32 -> 3x2xf32", MATMUL, f", precision_config = [{', '.join(['#stablehlo<precision HIGH>'] * 3)}]"), "precision_config must hold"),
    (conv("2x8x3xf32, 3x3x5xf32 -> 2x7x5xf32"), "result type tensor<2x7x5xf32> does not match the inferred tensor<2x6x5xf32>"),
    (conv("2x8x3xf32, 3x2x5xf32 -> 2x6x5xf32"), "the kernel must have 3 input features (3 of lhs in 1 groups), found 2"),
    (conv("2x8x3xf32, 3x3xf32 -> 2x6x5xf32"), "lhs and rhs must have the same rank"),
    (conv("2x8x3xf32, 3x3x5xf64 -> 2x6x5xf32"), "lhs and rhs must have the same element type"),
    (conv("2x8x3xf32, 3x3x5xf32 -> 2x6x5xf32", groups=(0, 1)), "feature_group_count must be positive, found 0"),
    (conv("2x8x4xf32, 3x2x6xf32 -> 1x6x6xf32", groups=(2, 2)), "must not both be greater than 1, found 2 and 2"),
    (conv("2x8x3xf32, 3x1x5xf32 -> 2x6x5xf32", groups=(2, 1)), "feature_group_count = 2 must divide the extent 3 of the input features of lhs"),
    (conv("2x8x4xf32, 3x2x5xf32 -> 2x6x5xf32", groups=(2, 1)), "feature_group_count = 2 must divide the extent 5 of the output features of the kernel"),
    (conv("3x8x4xf32, 3x4x6xf32 -> 2x6x6xf32", groups=(1, 2)), "batch_group_count = 2 must divide the extent 3 of the batch of lhs"),
    (conv("2x8x3xf32, 3x3x5xf32 -> 2x6x5xf32", ", window_strides = array<i64: 0>"), "window_strides must be positive, found 0 for window dimension 0"),
    (
        conv("2x8x3xf32, 3x3x5xf32 -> 2x6x5xf32", ", rhs_dilation = array<i64: 1, 1>"),
        "rhs_dilation must have 1 entries (one for each window dimension), found 2",
    ),
    (conv("2x8x3xf32, 3x3x5xf32 -> 2x6x5xf32", ", padding = dense<1> : tensor<1x3xi64>"), "padding must have the type tensor<1x2xi64>"),
    (
        conv("2x8x3xf32, 3x3x5xf32 -> 2x6x5xf32", ", window_reversal = array<i1: true, true>"),
        "window_reversal must hold a boolean for each of the 1 spatial dimensions",
    ),
    (
        conv("2x8x3xf32, 3x3x5xf32 -> 2x6x5xf32", numbers="[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]"),
        "dimension_numbers must name 1 spatial dimensions of the input",
    ),
    (conv("2x2x3xf32, 3x3x5xf32 -> 2x0x5xf32", ", padding = dense<-2> : tensor<1x2xi64>"), "leaves a negative extent of -2 in window dimension 0"),
    (case("chlo.ragged_dot", "6x4xf32, 2x4x5xf32, 2xf32 -> 6x5xf32", RAGGED), "group_sizes must hold integers, found tensor<2xf32>"),
    (case("chlo.ragged_dot", "6x4xf32, 2x4x5xf32, i32 -> 6x5xf32", RAGGED), "group_sizes must be a list of integers"),
]

TRIANGULAR = "left_side = {}, lower = true, unit_diagonal = false, transpose_a = #stablehlo<transpose {}>"
FFT = "fft_type = #stablehlo<fft_type {}>, fft_length = array<i64: {}>"
LINALG: Cases = [
    (case("cholesky", "2x3xf32 -> 2x3xf32"), "a must hold square matrices in its last two dimensions, found tensor<2x3xf32>"),
    (case("cholesky", "3x3xi32 -> 3x3xi32"), "a must hold floats or complex numbers"),
    (case("cholesky", "3x3xf32 -> 3x3xf64"), "does not match the inferred tensor<3x3xf32>"),
    (
        case("triangular_solve", "3x3xf32, 4x3xf32 -> 4x3xf32", TRIANGULAR.format("true", "TRANSPOSE")),
        "the rows of b must be as many as the rows of a where left_side is true",
    ),
    (case("triangular_solve", "3x3xf32, 3x4xf32 -> 3x4xf32", TRIANGULAR.format("false", "TRANSPOSE")), "the columns of b must be"),
    (case("triangular_solve", "2x3x3xf32, 3x4xf32 -> 3x4xf32", TRIANGULAR.format("true", "TRANSPOSE")), "the same rank and the same batch dimensions"),
    (case("triangular_solve", "3x3xf32, 3x4xf64 -> 3x4xf64", TRIANGULAR.format("true", "TRANSPOSE")), "must have the same element type"),
    (case("triangular_solve", "3x3xf32, 3x4xf32 -> 3x4xf32", TRIANGULAR.format("true", "TRANSPOSE_INVALID")), "found TRANSPOSE_INVALID"),
    (case("triangular_solve", "3x3xf32, 3x4xf32 -> 3x3xf32", TRIANGULAR.format("true", "ADJOINT")), "does not match the inferred tensor<3x4xf32>"),
    (case("fft", "8xf32 -> 8xc64", FFT.format("FFT", 8)), "FFT operand must hold complex numbers, found tensor<8xf32>"),
    (case("fft", "8xf32 -> 8xc64", FFT.format("RFFT", 8)), "does not match the inferred tensor<5xcomplex<f32>>"),
    (case("fft", "8xc64 -> 5xc64", FFT.format("RFFT", 8)), "RFFT takes real numbers of f32 or f64"),
    (case("fft", "5xc64 -> 8xc64", FFT.format("IRFFT", 8)), "does not match the inferred tensor<8xf32>"),
    (case("fft", "6xc64 -> 8xf32", FFT.format("IRFFT", 8)), "the last dimensions of the operand must be [5] by fft_length = [8]"),
    (case("fft", "8xc64 -> 8xc64", FFT.format("FFT", "8, 8")), "no more than the operand's rank 1, found [8, 8]"),
    (case("fft", "8xc64 -> 8xc64", "fft_type = #stablehlo<fft_type FFT>, fft_length = array<i64>"), "fft_length must have 1 to 3 entries"),
    (
        case("rng_bit_generator", "2xui64 -> 3xui64, 2xui32", "rng_algorithm = #stablehlo<rng_algorithm PHILOX>"),
        "result #0 type tensor<3xui64> does not match the inferred tensor<2xui64>",
    ),
    (case("rng_bit_generator", "2xui64 -> 2xui64, 2xi1", "rng_algorithm = #stablehlo<rng_algorithm PHILOX>"), "output must hold integers or floats"),
    (case("rng", "f32, f64, 1xi64 -> 3xf32", "rng_distribution = #stablehlo<rng_distribution NORMAL>"), "a and b must have the same element type"),
    (case("rng", "i32, i32, 1xi64 -> 3xi32", "rng_distribution = #stablehlo<rng_distribution NORMAL>"), "a must hold floats"),
    (case("rng", "f32, f32, 2xi64 -> 3xf32", "rng_distribution = #stablehlo<rng_distribution NORMAL>"), "shape must be a list of the 1 extents of the result"),
    (case("rng", "1xf32, f32, 1xi64 -> 3xf32", "rng_distribution = #stablehlo<rng_distribution NORMAL>"), "a must be a tensor of rank 0, found tensor<1xf32>"),
    (case("chlo.top_k", "5xf32 -> 2xf32, 2xi64", "k = 2 : i64"), "result #1 type tensor<2xi64> does not match the inferred tensor<2xi32>"),
    (case("chlo.top_k", "5xf32 -> 6xf32, 6xi32", "k = 6 : i64"), "k must be between 0 and the last extent of the operand tensor<5xf32>, found 6"),
    (case("chlo.top_k", "f32 -> f32, i32", "k = 1 : i64"), "operand must have at least one dimension"),
]

DIM0 = "dimensions = array<i64: 0>"
REDUCTION: Cases = [
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
    (case("core.reduce", "2x3xf32 -> 2xf32", "kind = #core<kind add>, dimensions = array<i64: 0>"), "does not match the inferred tensor<3xf32>"),
    (case("core.reduce", "2x3xf32 -> 3xf32", "kind = #core<kind set>, dimensions = array<i64: 0>"), "kind set is for scatters"),
    (
        case("core.reduce", "2x3xf32 -> 3xf32", "kind = #core<kind and>, dimensions = array<i64: 0>"),
        "kind and is for booleans or integers, found tensor<2x3xf32>",
    ),
    (case("core.argreduce", "2x3xf32 -> 2xf32, 2xf32", "extreme = #core<extreme max>, dimension = 1 : i64"), "index must hold integers"),
    (
        case("core.argreduce", "2x3xf32 -> 2xf32, 3xi32", "extreme = #core<extreme max>, dimension = 1 : i64"),
        "result #1 type tensor<3xi32> does not match the inferred tensor<2xi32>",
    ),
    (case("core.argreduce", "2x3xf32 -> 2xf32, 2xi32", "extreme = #core<extreme max>, dimension = 2 : i64"), "dimension must be in the range [0, 2)"),
    (
        case(
            "core.window_reduce",
            "4xf32 -> 3xf32",
            "kind = #core<kind max>, window_dimensions = array<i64: 2>, window_strides = array<i64: 1>, base_dilations = array<i64: 1>, "
            "window_dilations = array<i64: 1>, padding = array<i64: 0>",
        ),
        "padding must have 2 entries (a low and a high edge for each dimension of the operand), found 1",
    ),
    (case("core.cumulative", "2xf32 -> 3xf32", "kind = #core<kind mul>, dimension = 0 : i64, reverse = false"), "does not match the inferred tensor<2xf32>"),
]


def gather(types: str, sizes: str, numbers: str = "offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1") -> str:
    return case("gather", types, f"dimension_numbers = #stablehlo.gather<{numbers}>, slice_sizes = array<i64: {sizes}>")


def scatter(
    types: str, body: str, numbers: str = "update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1"
) -> str:
    return case("scatter", types, f"scatter_dimension_numbers = #stablehlo.scatter<{numbers}>", body)


INDEXING: Cases = [
    (
        case("dynamic_slice", "4x5xf32, i32 -> 2x3xf32", "slice_sizes = array<i64: 2, 3>"),
        "there must be 2 start indices, one for each dimension of the operand, found 1",
    ),
    (
        case("dynamic_slice", "4xf32, i32 -> 5xf32", "slice_sizes = array<i64: 5>"),
        "slice_sizes must be between 0 and the extents [4] of the operand, found 5 for dimension 0",
    ),
    (case("dynamic_slice", "4xf32, f32 -> 2xf32", "slice_sizes = array<i64: 2>"), "start index #0 must hold integers, found tensor<f32>"),
    (case("dynamic_slice", "4x5xf32, i32, i64 -> 2x3xf32", "slice_sizes = array<i64: 2, 3>"), "start indices must have the same type"),
    (case("dynamic_slice", "4xf32, 1xi32 -> 2xf32", "slice_sizes = array<i64: 2>"), "start index #0 must be a tensor of rank 0"),
    (case("dynamic_slice", "4xf32, i32 -> 3xf32", "slice_sizes = array<i64: 2>"), "does not match the inferred tensor<2xf32>"),
    (case("dynamic_update_slice", "4xf32, 5xf32, i32 -> 4xf32"), "update must not be larger than the operand tensor<4xf32> in any dimension"),
    (case("dynamic_update_slice", "4xf32, 2xf64, i32 -> 4xf32"), "operand and update must have the same element type"),
    (case("dynamic_update_slice", "4xf32, 2x1xf32, i32 -> 4xf32"), "update must have the rank 1 of the operand"),
    (case("dynamic_update_slice", "4xf32, 2xf32, i32 -> 2xf32"), "does not match the inferred tensor<4xf32>"),
    (gather("5x6xf32, 3x1xi32 -> 3x5xf32", "1, 6"), "result type tensor<3x5xf32> does not match the inferred tensor<3x6xf32>"),
    (gather("5x6xf32, 3x1xi32 -> 3x6xf32", "2, 6"), "slice_sizes must be at most 1 in collapsed and batching dimensions, found 2 for dimension 0"),
    (gather("5x6xf32, 3x1xi32 -> 3x7xf32", "1, 7"), "found 7 for dimension 1"),
    (gather("5x6xf32, 3x2xi32 -> 3x6xf32", "1, 6"), "start_index_map must have 2 entries, the length of an index vector, found [0]"),
    (gather("5x6xf32, 3x1xf32 -> 3x6xf32", "1, 6"), "start_indices must hold integers"),
    (
        gather("5x6xf32, 3x1xi32 -> 3x6xf32", "1, 6", "offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 3"),
        "index_vector_dim must be between 0 and the rank 2",
    ),
    (
        gather("5x6xf32, 3x1xi32 -> 3x6xf32", "1, 6", "offset_dims = [1], start_index_map = [0], index_vector_dim = 1"),
        "its rank is 2 and there are 1 offset_dims",
    ),
    (
        gather("5x6xf32, 3x1xi32 -> 3x6xf32", "1, 6", "offset_dims = [2], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1"),
        "offset_dims must be in the range [0, 2)",
    ),
    (gather("5x6xf32, 3x1xi32 -> 3x5x6xf32", "5, 6", "offset_dims = [2, 1], start_index_map = [0], index_vector_dim = 1"), "offset_dims must be sorted"),
    (
        gather(
            "2x5xf32, 3x1xi32 -> 3xf32",
            "1, 1",
            "collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 1",
        ),
        "batching dimensions 0 of the operand and 0 of the indices must have the same extent, found 2 and 3",
    ),
    (
        gather(
            "3x5xf32, 3x1xi32 -> 3xf32",
            "1, 1",
            "collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [1], start_index_map = [1], index_vector_dim = 1",
        ),
        "must not contain index_vector_dim = 1",
    ),
    (scatter("5x6xf32, 3x1xi32, 3x7xf32 -> 5x6xf32", reducer("f32")), "window dimension 1 of the updates must not be larger than the extent 6 of the inputs"),
    (scatter("5x6xf32, 3x1xi32, 4x6xf32 -> 5x6xf32", reducer("f32")), "dimension 0 of the updates must have the extent 3"),
    (scatter("5x6xf32, 3x1xi32, 3x6x1xf32 -> 5x6xf32", reducer("f32")), "updates must have the rank 2"),
    (scatter("5x6xf32, 3x1xf32, 3x6xf32 -> 5x6xf32", reducer("f32")), "scatter_indices must hold integers"),
    (scatter("5x6xf32, 3x2xi32, 3x6xf32 -> 5x6xf32", reducer("f32")), "scatter_dims_to_operand_dims must have 2 entries"),
    (scatter("5x6xf32, 3x1xi32, 3x6xf32 -> 5x5xf32", reducer("f32")), "does not match the type tensor<5x6xf32> inferred"),
    (scatter("5x6xf64, 3x1xi32, 3x6xf64 -> 5x6xf64", reducer("f32")), "the update_computation region accumulates in f32"),
    (
        scatter("5x6xf32, 3x1xi32, 3x6xf32 -> 5x6xf32", reducer("f32"), "update_window_dims = [1], scatter_dims_to_operand_dims = [0], index_vector_dim = 1"),
        "their rank is 2 and there are 1 update_window_dims",
    ),
    (case("torch_index_select", "5x6xf32, 3xi32 -> 5x6xf32", "dim = 1 : i64, batch_dims = 0 : i64"), "does not match the inferred tensor<5x3xf32>"),
    (case("torch_index_select", "5x6xf32, 3xf32 -> 5x3xf32", "dim = 1 : i64, batch_dims = 0 : i64"), "index must hold integers"),
    (
        case(
            "core.scatter",
            "5x6xf32, 3x1xi32, 3x6xf64 -> 5x6xf32",
            "kind = #core<kind add>, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], "
            "scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, indices_are_sorted = false, unique_indices = false",
        ),
        "operand and updates must have the same element type",
    ),
]

TOKEN = "!stablehlo.token"
FUTURE = "!stablehlo.future<tensor<4xf32>>"
CHANNEL = "channel_handle = #stablehlo.channel_handle<handle = 1, type = {}>"
NEGATED = region("4xf32", '%r = "stablehlo.negate"(%a0) : (tensor<4xf32>) -> tensor<4xf32>', returns="%r: 4xf32")
STARTED = region(
    "4xf32",
    '%r = "stablehlo.collective_permute"(%a0) <{source_target_pairs = dense<> : tensor<0x2xi64>}> : (tensor<4xf32>) -> tensor<4xf32>',
    returns="%r: 4xf32",
)
CONTROL: Cases = [
    (case("while", "i32 -> i32", "", predicate("i32, i32"), region("i32")), "argument of the cond region must have 1 type"),
    (
        case("while", "i32 -> i32", "", region("i32"), region("i32")),
        "value returned by the cond region #0 must have the type tensor<i1> (a predicate), found tensor<i32>",
    ),
    (
        case("while", "i32 -> i64", "", region("i32", "%p = stablehlo.constant dense<true> : tensor<i1>", returns="%p: i1"), region("i32")),
        "does not match the type tensor<i32> of the loop's operand",
    ),
    (
        case("while", "i32 -> i32", "", region("i32", "%p = stablehlo.constant dense<true> : tensor<i1>", returns="%p: i1"), region("i32", returns="")),
        "value returned by the body region must have 1 type (tensor<i32>) of the loop's operand, found 0",
    ),
    (case("case", "i64 ->", "", region("", returns="")), "index must be tensor<i32>, found tensor<i64>"),
    (case("case", "i32 ->"), "there must be at least one branch"),
    (case("case", "i32 -> f32", "", region("", returns="")), "value returned by the branch #0 region must have 1 type"),
    (case("case", "i32 -> f32", "", region("f32")), "argument of the branch #0 region must have 0 types"),
    (case("if", "i32 ->", "", region("", returns=""), region("", returns="")), "pred must be tensor<i1>, found tensor<i32>"),
    (case("if", "i1 ->", "", region("", returns="")), "expected 2 regions (true_branch, false_branch), found 1"),
    (case("if", "i1 -> f32", "", region("", returns=""), region("", returns="")), "value returned by the true_branch region must have 1 type"),
    (case("custom_call", "2xf32 -> 2xf32"), "missing attribute 'call_target_name'"),
    (
        case("custom_call", "2xf32 -> 2xf32", 'call_target_name = "f", operand_layouts = [], result_layouts = [dense<0> : tensor<1xindex>]'),
        "operand_layouts must hold a layout for each of the 1 operands, found 0",
    ),
    (case("custom_call", "2xf32 -> 2xf32", 'call_target_name = "f", called_computations = [@g]'), "there is no symbol @g in this module"),
    (case("optimization_barrier", "2xf32 -> 3xf32"), "does not match the type tensor<2xf32> of the operand"),
    (case("optimization_barrier", "2xf32 -> 2xf32, 2xf32"), "the op must have 1 result of the operand, found 2"),
    (case("optimization_barrier", "2xf32 -> ?xf32"), "must have exactly the type tensor<2xf32> of its operand"),
    (case("after_all", f"2xf32 -> {TOKEN}"), "takes and gives values of the type !stablehlo.token, found tensor<2xf32>"),
    (case("create_token", "-> 2xf32"), "found tensor<2xf32>"),
    (case("tuple", "2xf32 -> 2xf32"), "result must be a tuple, found tensor<2xf32>"),
    (case("tuple", "2xf32 -> tuple<tensor<3xf32>>"), "does not match the inferred tuple<tensor<2xf32>>"),
    (case("get_tuple_element", "tuple<tensor<2xf32>> -> 2xf32", "index = 1 : i32"), "index must be in the range [0, 1) given by the tuple's length, found 1"),
    (case("get_tuple_element", "2xf32 -> 2xf32", "index = 0 : i32"), "operand must be a tuple"),
    (case("get_tuple_element", "tuple<tensor<2xf32>> -> 3xf32", "index = 0 : i32"), "does not match the type tensor<2xf32> of element 0 of the tuple"),
    (case("composite", "2xf32 -> 2xf32", 'name = "my.op", decomposition = @g'), "there is no symbol @g in this module"),
    (
        case("composite", "2xf32 -> 2xf32", 'name = "my.op", decomposition = @g') + "func.func private @g(%0: tensor<3xf32>) -> tensor<2xf32>\n",
        "argument #0 of @g has the type tensor<3xf32>, found tensor<2xf32>",
    ),
]

GROUPS = "replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>"
CONV = "feature_group_count = 1 : i64, batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>"
GATHER = "dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>"
ALL_TO_ALL = "split_dimension = {} : i64, concat_dimension = 1 : i64, split_count = {} : i64, " + GROUPS
DYNAMIC: Cases = [
    (case("get_dimension_size", "2x3xf32 -> i64", "dimension = 1 : i64"), "does not match the inferred tensor<i32>"),
    (case("get_dimension_size", "2x3xf32 -> i32", "dimension = 2 : i64"), "dimension must be in the range [0, 2)"),
    (case("set_dimension_size", "2x3xf32, i64 -> 2x3xf32", "dimension = 1 : i64"), "size must be tensor<i32>, found tensor<i64>"),
    (case("set_dimension_size", "2x3xf32, i32 -> 4x3xf32", "dimension = 1 : i64"), "does not match the inferred tensor<2x?xf32>"),
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
    (case("all_gather", "2x3xf32 -> 5x3xf32", f"all_gather_dim = 0 : i64, {GROUPS}"), "must be a multiple of the extent 2"),
    (
        case("all_gather", "2x3xf32 -> 4x3xf32", f"all_gather_dim = 0 : i64, {GROUPS.replace('2, 3', '2, 2')}"),
        "replica_groups must contain each of the devices 0 to 3 once",
    ),
    (case("all_reduce", "2xf32 -> 3xf32", GROUPS, reducer("f32")), "does not match the type tensor<2xf32> inferred"),
    (
        case("reduce_scatter", "4xf32 -> 3xf32", f"scatter_dimension = 0 : i64, {GROUPS}", reducer("f32")),
        "the extent 4 in dimension 0 of tensor<4xf32> must be a multiple of the extent 3",
    ),
    (case("all_to_all", "4x3xf32 -> 2x6xf32", ALL_TO_ALL.format(0, 3)), "split_count = 3 must divide the extent 4 of dimension 0"),
    (case("all_to_all", "4x3xf32 -> 4x3xf32", ALL_TO_ALL.format(0, 2)), "does not match the inferred tensor<2x6xf32>"),
    (
        case("collective_permute", "2xf32 -> 2xf32", "source_target_pairs = dense<[[0, 1], [1, 1]]> : tensor<2x2xi64>"),
        "the targets of source_target_pairs must not repeat a device",
    ),
    (
        case("collective_permute", "2xf32 -> 3xf32", "source_target_pairs = dense<[[0, 1], [1, 2]]> : tensor<2x2xi64>"),
        "does not match the inferred tensor<2xf32>",
    ),
    (case("partition_id", "-> i32"), "does not match the inferred tensor<ui32>"),
    (case("replica_id", "-> 1xui32"), "does not match the inferred tensor<ui32>"),
    (
        case("all_reduce", "2xf32 -> 2xf32", "replica_groups = dense<[0, 1]> : tensor<2xi64>", reducer("f32")),
        "replica_groups must be a matrix of device numbers of i64",
    ),
    (case("all_reduce", "2xf32 -> 2xf32", 'replica_groups = "all"', reducer("f32")), "replica_groups must be a matrix of device numbers of i64"),
    (
        case("all_reduce", "2xf32 -> 2xf32", f"{GROUPS}, use_global_device_ids", reducer("f32")),
        "use_global_device_ids needs a channel_handle with a positive handle, found 0",
    ),
    (
        case("all_reduce", "2xf32 -> 2xf32", f"replica_groups = dense<> : tensor<0x0xi64>, {CHANNEL.format(1)}, use_global_device_ids", reducer("f32")),
        "replica_groups must not be empty where use_global_device_ids is set",
    ),
    (case("all_reduce", "2xf32 -> 2xf32", f"{GROUPS}, channel_handle = 1 : i64", reducer("f32")), "channel_handle"),
    (
        case("all_reduce", "2xf32 -> 2xf32", "replica_groups = #stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = []>", reducer("f32")),
        "there is no symbol @mesh in this module",
    ),
    (case("all_reduce", "2xf32, 2xf32 -> 2xf32", GROUPS, reducer("f32")), "there must be a result for each operand"),
    (
        case("all_gather", "2xf32 -> 4xf32", "all_gather_dim = 0 : i64, replica_groups = dense<[[0, -1]]> : tensor<1x2xi64>"),
        "must have the same size, without -1",
    ),
    (case("all_gather", "0xf32 -> 0xf32", f"all_gather_dim = 0 : i64, {GROUPS}"), "must not be empty"),
    (
        case("reduce_scatter", "0xf32 -> 1xf32", f"scatter_dimension = 0 : i64, {GROUPS}", reducer("f32")),
        "dimension 0 of the operand, which is scattered, must not be empty",
    ),
    (
        case("reduce_scatter", "4xf32 -> 0xf32", f"scatter_dimension = 0 : i64, {GROUPS}", reducer("f32")),
        "dimension 0 of the result, which is scattered, must not be empty",
    ),
    (case("all_to_all", "4x3xf32 -> 1x12xf32", ALL_TO_ALL.format(0, 4)), "the groups of replica_groups must have split_count = 4 devices, found 2"),
    (case("collective_permute", "2xf32 -> 2xf32", "source_target_pairs = dense<> : tensor<0x3xi64>"), "source_target_pairs must have two columns"),
    (case("collective_broadcast", "2xf32 -> 3xf32", GROUPS), "does not match the inferred tensor<2xf32>"),
    (case("collective_broadcast", "2xf32 -> 2xf32", "replica_groups = dense<[[0, 0]]> : tensor<1x2xi64>"), "replica_groups must not repeat a device"),
    (case("collective_broadcast", "2xf32 -> 2xf32", "replica_groups = dense<[[0, -1]]> : tensor<1x2xi64>"), "replica_groups must not hold negative devices"),
    (case("cross-replica-sum", "2xf32 -> 3xf32", GROUPS), "does not match the inferred tensor<2xf32>"),
    (case("send", f"2xf32, {TOKEN} -> {TOKEN}", CHANNEL.format(2)), "must be 1 (device to device) where is_host_transfer is not set, found 2"),
    (
        case("send", f"2xf32, {TOKEN} -> {TOKEN}", f"{CHANNEL.format(1)}, is_host_transfer = true"),
        "must be 2 (device to host) where is_host_transfer is set, found 1",
    ),
    (case("send", f"2xf32, {TOKEN} -> {TOKEN}", "is_host_transfer = true"), "missing attribute 'channel_handle'"),
    (case("send", f"{TOKEN}, 2xf32 -> {TOKEN}", CHANNEL.format(1)), "input #0 must be a ranked tensor"),
    (case("send", f" -> {TOKEN}", CHANNEL.format(1)), "found no operands"),
    (
        case("recv", f"{TOKEN} -> 2xf32, {TOKEN}", f"{CHANNEL.format(2)}, is_host_transfer = true"),
        "must be 3 (host to device) where is_host_transfer is set, found 2",
    ),
    (case("recv", f"{TOKEN} -> 2xf32", CHANNEL.format(1)), "the last result must be of the type !stablehlo.token"),
    (case("recv", f"{TOKEN} -> tuple<tensor<2xf32>>, {TOKEN}", CHANNEL.format(1)), "result #0 must be a ranked tensor"),
    (case("recv", f"{TOKEN} -> ?xf32, {TOKEN}", CHANNEL.format(1)), "result #0 must have a static shape"),
    (case("infeed", f"{TOKEN} -> "), "found no results"),
    (case("infeed", f"2xf32 -> {TOKEN}"), "operand must be of the type !stablehlo.token"),
    (case("infeed", f"{TOKEN} -> 2xf32, {TOKEN}", "layout = []"), "layout must have an entry for each of the 1 tensors, found 0"),
    (case("infeed", f"{TOKEN} -> 2xf32, {TOKEN}", "layout = [0]"), "an entry of layout must be a list of dimension numbers"),
    (case("outfeed", f"2xf32, {TOKEN} -> 2xf32"), "result must be of the type !stablehlo.token"),
    (case("outfeed", f"tuple<tensor<2xf32>>, {TOKEN} -> {TOKEN}"), "input #0 must be a ranked tensor"),
    (case("async_start", "4xf32 -> 4xf32", "", STARTED), "result type tensor<4xf32> does not match the type !stablehlo.future<tensor<4xf32>>"),
    (case("async_start", f"4xf32, 4xf32 -> {FUTURE}", "", STARTED), "argument of the computation region must have 2 types"),
    (case("async_start", f"4xf32 -> {FUTURE}", "", region("4xf32")), "must hold one op, a collective or a slice, and a return, found none"),
    (case("async_start", f"4xf32 -> {FUTURE}", "", NEGATED), "and a return, found stablehlo.negate"),
    (case("async_start", f"4xf32 -> {FUTURE}", "", STARTED.replace("(%r) : (tensor<4xf32>)", "() : ()")), "must return one value, found 0"),
    (case("async_done", "4xf32 -> 4xf32"), "operand must be a future, found tensor<4xf32>"),
    (case("async_done", f"{FUTURE} -> 3xf32"), "does not match the type tensor<4xf32> of the future"),
    (case("optimization_barrier", "tuple<tensor<2xf32>> -> tuple<tensor<2xf32>>"), "operands must be tensors or tokens"),
]

TAPE = "!core.tape<tensor<2xf32>>"
CORE: Cases = [
    (case("core.for", "i32, f32 -> f32", "constants = 0 : i64", region("i64, f32", returns="%a1: f32")), "trip_count must be tensor<i64>, found tensor<i32>"),
    (
        case("core.for", "i64, f32 -> f32", "constants = 2 : i64", region("i64, f32", returns="%a1: f32")),
        "constants must be between 0 and the number 1 of inputs, found 2",
    ),
    (case("core.for", "i64, f32 -> f32", "constants = 0 : i64", region("f32")), "argument of the body region must have 2 types"),
    (case("core.for", "i64, f32 -> f32", "constants = 0 : i64", region("i64, f32", returns="%1: f32")), "uses a value from outside"),
    (case("core.while", "f32 -> f32", "constants = 0 : i64", region("f32"), region("f32")), "(a predicate), found tensor<f32>"),
    (case("core.case", "i64, f32 -> f32", "", region("f32")), "index must be tensor<i32>, found tensor<i64>"),
    (case("core.case", "i32, f32 -> f32", "", region("f64, f32", returns="%a1: f32")), "argument of the branch #0 region must have 1 type"),
    (case("core.tape_create", "-> f32"), "tape"),
    (case("core.tape_push", f"{TAPE}, f32 -> {TAPE}"), "must have the type tensor<2xf32> that the tape holds, found tensor<f32>"),
    (case("core.tape_extend", f"{TAPE}, !core.tape<tensor<f32>> -> {TAPE}"), "of the tape that is extended"),
    (case("core.tape_size", f"{TAPE} -> i32"), "does not match the inferred tensor<i64>"),
    (case("core.cholesky", "2x3xf32 -> 2x3xf32, i32", "lower = true"), "a must hold square matrices"),
    (case("core.cholesky_solve", "3x3xf32, 4x4xf32, 3x4xf32 -> 3x4xf32", "lower = true, a_lower = true"), "a and its factor must have one shape"),
    (case("core.cholesky_solve", "3x3xf32, 3x3xf32, 4x3xf32 -> 4x3xf32", "lower = true, a_lower = true"), "the rows of a"),
    (case("core.cholesky_solve", "3x3xf32, 3x3xf32, 3x4xf32 -> 3x3xf32", "lower = true, a_lower = true"), "does not match the inferred tensor<3x4xf32>"),
    (case("core.lu", "4x3xf64 -> 4x3xf64, 4xi32, i32"), "result #1 type tensor<4xi32> does not match the inferred tensor<3xi32>"),
    (case("core.pivots_to_permutation", "3xf32 -> 3xi32"), "pivots must be a tensor of i32 with at least one dimension"),
    (case("core.pivots_to_permutation", "3xi32 -> 2xi32"), "as many elements or more"),
    (case("core.lu_diagonal", "3x3xf32, 3x3xf32, 2xi32 -> 3xf32"), "pivots must be of i32, with one element for each row of a"),
    (case("core.lu_diagonal", "3x3xf32, 3x3xf32, 3xi32 -> 2xf32"), "does not match the inferred tensor<3xf32>"),
    (case("core.lu_solve", "3x3xf32, 3x3xf32, 3xi64, 3x4xf32 -> 3x4xf32", "transpose = true"), "permutation must be of i32"),
    (case("core.lu_solve", "3x3xf32, 4x4xf32, 3xi32, 3x4xf32 -> 3x4xf32", "transpose = true"), "a and lu must have one shape"),
    (case("core.lu_solve", "3x3xf32, 3x3xf32, 3xi32, 4x3xf32 -> 4x3xf32", "transpose = true"), "the rows of a"),
    (case("core.lu_solve", "3x3xf32, 3x3xf32, 3xi32, 3x4xf32 -> 3x3xf32", "transpose = false"), "does not match the inferred tensor<3x4xf32>"),
    (case("core.qr", "4x3xf64 -> 4x4xf64, 4x3xf64", "full = false"), "result #0 type tensor<4x4xf64> does not match the inferred tensor<4x3xf64>"),
    (case("core.eigh", "3x3xc128 -> 3x3xc128, 3xc128, i32", "lower = true"), "does not match the inferred tensor<3xf64>"),
    (case("core.svd", "3xf32 -> 3xf32, 3xf32, 3xf32, i32", "full = true"), "a must hold matrices in its last two dimensions, found tensor<3xf32>"),
    (case("core.eig", "3x3xf32 -> 3xf32, 3x3xc64, 3x3xc64, i32"), "does not match the inferred tensor<3xcomplex<f32>>"),
    (case("core.tridiagonal_solve", "3xf64, 3xf64, 2xf64, 3x4xf64 -> 3x4xf64, i32"), "the diagonals must have one shape"),
    (case("core.tridiagonal_solve", "3xf64, 3xf64, 3xf64, 4x3xf64 -> 4x3xf64, i32"), "b must have the dimensions of the diagonals and one more"),
    *[(case(f"core.{n}", f"{TAPE}, i64 -> f32"), "does not match the type tensor<2xf32> that the tape holds") for n in ("tape_read", "tape_get")],
    *[(case(f"core.{n}", f"{TAPE}, i64, f32 -> {TAPE}"), "must have the type tensor<2xf32> that the tape holds") for n in ("tape_set", "tape_add")],
    *[(case(f"core.{n}", f"{TAPE}, i64, !core.tape<tensor<f32>> -> {TAPE}"), "of the first tape") for n in ("tape_set_from", "tape_add_from")],
    (case("core.tape_from", f"{TAPE}, i32 -> {TAPE}"), "index must be tensor<i64>, found tensor<i32>"),
]

BROADCASTING = (*BINARY, "next_after", "polygamma", "zeta")
INTEGRAL = (*BITS, *SHIFTS)


def scan(types: str, arguments: str, returns: str, dimension: int = 1) -> str:
    sizes = "operandSegmentSizes = array<i32: 1, 1>, resultSegmentSizes = array<i32: 1, 1>"
    return case("chlo.scan", types, f"dimension = {dimension} : i64, {sizes}", region(arguments, returns=returns))


NORM = "epsilon = 1.000000e-03 : f32, feature_index = {} : i64"
DEFINED_BY_OTHERS: Cases = [
    *[(case(f"chlo.broadcast_{n}", "2x4xf32, 3xf32 -> 2x4xf32"), "must have shapes that broadcast together, found [2, 4] and [3]") for n in BROADCASTING],
    *[(case(f"chlo.broadcast_{n}", "2x3xf32, 3xf64 -> 2x3xf32"), "lhs and rhs must have the same element type") for n in BROADCASTING],
    *[(case(f"chlo.broadcast_{n}", "2x3xi32, 3xi32 -> 3xi32"), "does not match the inferred tensor<2x3xi32>") for n in INTEGRAL],
    *[(case(f"chlo.broadcast_{n}", "2x3xf32, 3xf32 -> 2x3xf32"), f"chlo.broadcast_{n} takes ") for n in INTEGRAL],
    *[(case(f"chlo.broadcast_{n}", "2xi32, i32 -> 2xi32"), f"chlo.broadcast_{n} takes floats") for n in ("next_after", "polygamma", "zeta")],
    (
        case("chlo.broadcast_add", "2x3xf32, 3xf32 -> 2x3xf32", "broadcast_dimensions = array<i64: 0>"),
        "shapes that broadcast together, found [2, 3] and [3, 1]",
    ),
    (
        case("chlo.broadcast_add", "2x3xf32, 3xf32 -> 2x3xf32", "broadcast_dimensions = array<i64: 2>"),
        "must be in the range [0, 2) given by the rank of the larger",
    ),
    (case("chlo.broadcast_add", "3x3xf32, 3x3xf32 -> 3x3xf32", "broadcast_dimensions = array<i64: 1, 1>"), "must not repeat a dimension"),
    (case("chlo.broadcast_complex", "2xf16, 2xf16 -> 2xf16"), "the parts of a complex number must hold f32 or f64"),
    (
        case("chlo.broadcast_compare", "2xf32, f32 -> 2xf32", "comparison_direction = #chlo<comparison_direction LT>"),
        "does not match the inferred tensor<2xi1>",
    ),
    (case("chlo.broadcast_select", "2xf32, 2xf32, f32 -> 2xf32"), "pred must hold booleans (i1)"),
    (case("chlo.broadcast_select", "2xi1, 3xf32, f32 -> 3xf32"), "shapes that broadcast together, found [2] and [3] and []"),
    (case("chlo.mulhi", "2xf32, 2xf32 -> 2xf32"), "chlo.mulhi takes integers"),
    (case("chlo._asin_acos_kernel", "2xf32 -> 2xf32"), "takes complex numbers"),
    (case("chlo.constant_like", "2xf32 -> 2xf32", "value = 1.0 : f64"), "does not match the inferred tensor<2xf64>"),
    (case("chlo.constant_like", "2xf32 -> 2xf32", 'value = "one"'), 'value must be a number, found "one"'),
    (case("broadcast", "3xf32 -> 3x2xf32", "broadcast_sizes = array<i64: 2>"), "does not match the inferred tensor<2x3xf32>"),
    (case("broadcast", "3xf32 -> 3xf32", "broadcast_sizes = array<i64: -1>"), "broadcast_sizes must not be negative, found [-1]"),
    (case("dot", "2x3x4xf32, 4xf32 -> 2x3xf32"), "lhs and rhs must be vectors or matrices"),
    (case("dot", "2x3xf32, 4xf32 -> 2xf32"), "the last dimension of lhs and the first one of rhs must have the same extent"),
    (case("dot", "2x3xf32, 3xf32 -> 3xf32"), "does not match the inferred tensor<2xf32>"),
    (case("einsum", "2x3xf32, 4xf32 -> 2xf32", 'einsum_config = "ij,j->i"'), "dimensions of the label 'j' must have the same extent, found 3 and 4"),
    (case("einsum", "2x3xf32, 3xf32 -> 2xf32", 'einsum_config = "ij,j"'), "must name the dimensions of 2 operand(s) and of the result"),
    (case("einsum", "2x3xf32, 3xf32 -> 2xf32", 'einsum_config = "ij,jk->i"'), 'names 2 dimensions by "jk", but the operand has 1'),
    (case("einsum", "2x3xf32, 3xf32 -> 2x2xf32", 'einsum_config = "ij,j->ii"'), "must not repeat a label in the result"),
    (case("einsum", "2x3xf32, 3xf32 -> 2xf32", 'einsum_config = "ij,j->k"'), "has the label 'k' in the result and in no operand"),
    (case("einsum", "5x2xf32, 2xf32 -> 2xf32", 'einsum_config = "...i,i->i"'), "must keep the dimensions under '...'"),
    (case("unary_einsum", "2x3xf32 -> 3xf32", 'einsum_config = "i?->i"'), "consists of letters"),
    (case("unary_einsum", "2x3xf32 -> 2x3xf32", 'einsum_config = "ij->ji"'), "does not match the inferred tensor<3x2xf32>"),
    (case("batch_norm_training", "2x3xf32, 3xf32, 3xf32 -> 2x3xf32, 3xf32, 3xf32", NORM.format(2)), "feature_index must be in the range [0, 2)"),
    (case("batch_norm_training", "2x3xf32, 2xf32, 2xf32 -> 2x3xf32, 2xf32, 2xf32", NORM.format(1)), "scale must have one element for each of the features"),
    (case("batch_norm_training", "2x3xf32, 3xf64, 3xf64 -> 2x3xf32, 3xf64, 3xf64", NORM.format(1)), "operand and scale must have the same element type"),
    (case("batch_norm_inference", "2x3xi32, 3xi32, 3xi32, 3xi32, 3xi32 -> 2x3xi32", NORM.format(1)), "operand must hold floats"),
    (case("batch_norm_inference", "2x3xf32, 3xf32, 3xf32, 3xf32, 3xf32 -> 3x2xf32", NORM.format(1)), "does not match the inferred tensor<2x3xf32>"),
    (
        case("batch_norm_grad", "2x3xf32, 3xf32, 3xf32, 3xf32, 3x2xf32 -> 2x3xf32, 3xf32, 3xf32", NORM.format(1)),
        "operand and grad_output must have the same type",
    ),
    (case("chlo.ragged_dot", "6x4xf32, 3x4x5xf32, 2xi32 -> 6x5xf32", RAGGED), "the group dimension 0 of rhs must have the extent 2"),
    (
        case("chlo.ragged_dot", "6x4xf32, 2x4x5xf32, 6x2xi32 -> 6x5xf32", RAGGED),
        "group_sizes must have one dimension, or the extents [] before that of the groups",
    ),
    (case("chlo.ragged_dot", "6x4xf32, 2x4x5xf32, 2xi32 -> 5x6xf32", RAGGED), "does not match the inferred tensor<6x5xf32>"),
    (case("chlo.ragged_dot", "6x4xf32, 2x4x5xf32, 2xi32 -> 6x5xf32", RAGGED.replace("[0]>", "[]>")), "rhs_group_dimensions must name one dimension"),
    (case("chlo.ragged_dot", "6x4xf32, 2x4x5xf32, 2xi32 -> 6x5xf32", RAGGED.replace("ragged_dimensions = [0]", "ragged_dimensions = [1]")), "must be empty"),
    (
        case("chlo.ragged_dot", "6x4xf32, 2x4x5xf32, 2xi32 -> 6x5xf32", RAGGED.replace("ragged_dimensions = [0]", "ragged_dimensions = []")),
        "must name one dimension",
    ),
    (scan("2x3xf32, 2xf32 -> 2x3xf32, 2xf32", "2xf32, 2xf32", "%a0, %a1: 2xf32, 2xf32", 2), "dimension must be in the range [0, 2)"),
    (scan("2x3xf32, 2xf32 -> 2x3xf32, 2xf32", "3xf32, 2xf32", "%a0, %a1: 3xf32, 2xf32"), "argument of the body region #0 must have the type tensor<2xf32>"),
    (
        scan("2x3xf32, 2xf32 -> 3x2xf32, 2xf32", "2xf32, 2xf32", "%a0, %a1: 2xf32, 2xf32"),
        "result #0 type tensor<3x2xf32> does not match the type tensor<2x3xf32>",
    ),
    (
        scan("2x3xf32, 3xf32 -> 2x3xf32, 3xf32", "2xf32, 3xf32", "%a0, %a0: 2xf32, 2xf32"),
        "carried value returned by the body region #0 must have the type tensor<3xf32>",
    ),
    (case("torch_index_select", "0x6xf32, 3xi32 -> 3x6xf32", "dim = 0 : i64, batch_dims = 0 : i64"), "the operand must have elements in dimension 0"),
]

ILL_TYPED: Cases = [*ELEMENTWISE, *SHAPE, *CONTRACTION, *LINALG, *REDUCTION, *INDEXING, *CONTROL, *DYNAMIC, *CORE, *DEFINED_BY_OTHERS, *ILL_FORMS]
