"""Well-typed and ill-typed cases of matrix routines, Fourier transforms, random numbers and top-k."""

from __future__ import annotations

from typing_cases.notation import Cases, case

TRIANGULAR = "left_side = {}, lower = true, unit_diagonal = false, transpose_a = #stablehlo<transpose {}>"
FFT = "fft_type = #stablehlo<fft_type {}>, fft_length = array<i64: {}>"

WELL_TYPED = [
    case("cholesky", "2x3x3xf32 -> 2x3x3xf32", "lower = true"),
    case("cholesky", "3x3xc128 -> 3x3xc128"),
    case("triangular_solve", "3x3xf32, 3x4xf32 -> 3x4xf32", TRIANGULAR.format("true", "NO_TRANSPOSE")),
    case("triangular_solve", "2x3x3xc64, 2x4x3xc64 -> 2x4x3xc64", TRIANGULAR.format("false", "ADJOINT")),
    case("fft", "3x8xc64 -> 3x8xc64", "fft_type = #stablehlo<fft_type FFT>, fft_length = array<i64: 8>"),
    case("fft", "3x8xc64 -> 3x8xc64", "fft_type = #stablehlo<fft_type IFFT>, fft_length = array<i64: 3, 8>"),
    case("fft", "3x8xf32 -> 3x5xc64", "fft_type = #stablehlo<fft_type RFFT>, fft_length = array<i64: 3, 8>"),
    case("fft", "5xc128 -> 9xf64", "fft_type = #stablehlo<fft_type IRFFT>, fft_length = array<i64: 9>"),
    case("rng_bit_generator", "2xui64 -> 2xui64, 3x4xui32", "rng_algorithm = #stablehlo<rng_algorithm THREE_FRY>"),
    case("rng", "f32, f32, 2xi64 -> 3x4xf32", "rng_distribution = #stablehlo<rng_distribution NORMAL>"),
    case("rng", "i32, i32, 1xi64 -> 3xi32", "rng_distribution = #stablehlo<rng_distribution UNIFORM>"),
    case("chlo.top_k", "3x5xf32 -> 3x2xf32, 3x2xi32", "k = 2 : i64"),
    case("rng", "f32, f32, 2xindex -> 3x?xf32", "rng_distribution = #stablehlo<rng_distribution NORMAL>"),
]


ILL_TYPED: Cases = [
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
    (
        case("rng", "f32, f32, 2xi64 -> 3xf32", "rng_distribution = #stablehlo<rng_distribution NORMAL>"),
        "shape must be a list of 1 integers (the result's rank)",
    ),
    (case("rng", "1xf32, f32, 1xi64 -> 3xf32", "rng_distribution = #stablehlo<rng_distribution NORMAL>"), "a must be a tensor of rank 0, found tensor<1xf32>"),
    (case("chlo.top_k", "5xf32 -> 2xf32, 2xi64", "k = 2 : i64"), "result #1 type tensor<2xi64> does not match the inferred tensor<2xi32>"),
    (case("chlo.top_k", "5xf32 -> 6xf32, 6xi32", "k = 6 : i64"), "k must be between 0 and the last extent of the operand tensor<5xf32>, found 6"),
    (case("chlo.top_k", "f32 -> f32, i32", "k = 1 : i64"), "operand must have at least one dimension"),
]
