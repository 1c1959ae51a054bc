"""Well-typed and ill-typed cases of the core dialect."""

from __future__ import annotations

from typing_cases.notation import Cases, case, region

TAPE = "!core.tape<tensor<2xf32>>"

ALWAYS = region("i32, f32", '%p = "stablehlo.constant"() <{value = dense<true> : tensor<i1>}> : () -> tensor<i1>', returns="%p: i1")

WELL_TYPED = [
    case("core.reduce", "2x3xf32 -> 3xf32", "kind = #core<kind add>, dimensions = array<i64: 0>"),
    case("core.reduce", "2x3xi1 -> 2xi1", "kind = #core<kind or>, dimensions = array<i64: 1>"),
    case("core.argreduce", "2x3xf32 -> 2xf32, 2xi32", "extreme = #core<extreme max>, dimension = 1 : i64"),
    case(
        "core.window_reduce",
        "4x9xf32 -> 4x4xf32",
        "kind = #core<kind max>, window_dimensions = array<i64: 2, 3>, window_strides = array<i64: 1, 2>, base_dilations = array<i64: 1, 1>, "
        "window_dilations = array<i64: 1, 1>, padding = array<i64: 1, 0, 0, 0>",
    ),
    case("core.cumulative", "2x3xf32 -> 2x3xf32", "kind = #core<kind mul>, dimension = 1 : i64, reverse = false"),
    case("core.for", "i64, 2xf32, f32 -> f32", "constants = 1 : i64", region("i64, 2xf32, f32", returns="%a2: f32")),
    case("core.while", "i32, f32 -> f32", "constants = 1 : i64", ALWAYS, region("i32, f32", returns="%a1: f32")),
    case("core.case", "i32, f32 -> f32", "", region("f32"), region("f32")),
    case("core.tape_create", f"-> {TAPE}"),
    case("core.tape_push", f"{TAPE}, 2xf32 -> {TAPE}"),
    case("core.tape_extend", f"{TAPE}, {TAPE} -> {TAPE}"),
    case("core.tape_size", f"{TAPE} -> i64"),
    case("core.cholesky", "2x3x3xf32 -> 2x3x3xf32, 2xi32", "lower = true"),
    case("core.cholesky_solve", "2x3x3xc64, 2x3x3xc64, 2x3x4xc64 -> 2x3x4xc64", "lower = true, a_lower = false"),
    case("core.lu", "4x3xf64 -> 4x3xf64, 3xi32, i32"),
    case("core.pivots_to_permutation", "2x3xi32 -> 2x4xi32"),
    case("core.lu_solve", "2x3x3xc64, 2x3x3xc64, 2x3xi32, 2x3x4xc64 -> 2x3x4xc64", "transpose = true"),
    case("core.lu_diagonal", "2x3x3xc64, 2x3x3xc64, 2x3xi32 -> 2x3xc64"),
    case("core.qr", "4x3xf64 -> 4x3xf64, 3x3xf64", "full = false"),
    case("core.qr", "4x3xf64 -> 4x4xf64, 4x3xf64", "full = true"),
    case("core.eigh", "3x3xc128 -> 3x3xc128, 3xf64, i32", "lower = true"),
    case("core.svd", "4x3xc64 -> 4x3xc64, 3xf32, 3x3xc64, i32", "full = false"),
    case("core.svd", "4x3xf32 -> 4x4xf32, 3xf32, 3x3xf32, i32", "full = true"),
    case("core.eig", "3x3xf32 -> 3xc64, 3x3xc64, 3x3xc64, i32"),
    case("core.tridiagonal_solve", "2x3xf64, 2x3xf64, 2x3xf64, 2x3x4xf64 -> 2x3x4xf64, 2xi32"),
    *[case(f"core.{n}", f"{TAPE}, i64 -> 2xf32") for n in ("tape_read", "tape_get")],
    case("core.tape_from", f"{TAPE}, i64 -> {TAPE}"),
    *[case(f"core.{n}", f"{TAPE}, i64, 2xf32 -> {TAPE}") for n in ("tape_set", "tape_add")],
    *[case(f"core.{n}", f"{TAPE}, i64, {TAPE} -> {TAPE}") for n in ("tape_set_from", "tape_add_from")],
]


ILL_TYPED: Cases = [
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
