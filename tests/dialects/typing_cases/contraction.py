"""Well-typed and ill-typed cases of contractions."""

from __future__ import annotations

from typing_cases.notation import Cases, case

BATCHED_DOT = (
    "dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [2], "
    "lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [0]>"
)

AS_MATMUL = "dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>"

RAGGED = (
    "ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [1], "
    "rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]>"
)

RAGGED_SUM = "ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0], lhs_ragged_dimensions = [1]>"

RAGGED_BATCHED = (
    "ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [1], lhs_contracting_dimensions = [2], "
    "rhs_contracting_dimensions = [2], lhs_ragged_dimensions = [1], rhs_group_dimensions = [0]>, "
    "precision_config = [#chlo<precision DEFAULT>, #chlo<precision HIGHEST>]"
)

CONV = "feature_group_count = 1 : i64, batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>"


def dot(types: str, lists: str, more: str = "") -> str:
    return case("dot_general", types, f"dot_dimension_numbers = #stablehlo.dot<{lists}>{more}")


def conv(types: str, more: str = "", groups: tuple[int, int] = (1, 1), numbers: str = "[b, 0, f]x[0, i, o]->[b, 0, f]") -> str:
    counts = f"feature_group_count = {groups[0]} : i64, batch_group_count = {groups[1]} : i64"
    return case("convolution", types, f"{counts}, dimension_numbers = #stablehlo.conv<{numbers}>{more}")


MATMUL = "lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]"

WELL_TYPED = [
    case("dot", "2x3xf32, 3x4xf32 -> 2x4xf32"),
    case("dot", "3xi8, 3xi8 -> i32"),
    case("einsum", "5x2x3xf32, 5x3x4xf32 -> 5x2x4xf32", 'einsum_config = "...ij,...jk->...ik"'),
    case("einsum", "3x3x2xf32, 2xf32 -> 3xf32", 'einsum_config = "iij,j->i"'),
    case("unary_einsum", "2x3xf32 -> 3x2xf32", 'einsum_config = "ij->ji"'),
    case("chlo.ragged_dot", "4x6xf32, 6x5xf32, 3xi32 -> 3x4x5xf32", RAGGED_SUM),
    case("chlo.ragged_dot", "2x6x4xf32, 3x2x4x5xf32, 2x3xi32 -> 2x6x5xf32", RAGGED_BATCHED),
    case("dot_general", "2x3x4xf32, 4x5x2xf32 -> 2x3x5xf32", BATCHED_DOT),
    case("dot_general", "3x4xi8, 4x5xi8 -> 3x5xi32", AS_MATMUL),
    case("dot_general", "3x?xf32, 4x5xf32 -> 3x5xf32", f"{AS_MATMUL}, precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision DEFAULT>]"),
    case("convolution", "2x8x9x3xf32, 3x2x3x5xf32 -> 2x6x8x5xf32", CONV),
    case(
        "convolution",
        "2x8x9x3xf32, 3x2x3x5xf32 -> 2x7x5x5xf32",
        f"{CONV}, window_strides = array<i64: 2, 3>, padding = dense<[[1, 0], [2, -1]]> : tensor<2x2xi64>, lhs_dilation = array<i64: 2, 2>, "
        "rhs_dilation = array<i64: 1, 3>, window_reversal = array<i1: true, false>",
    ),
    case("convolution", "2x8x9x4xf32, 3x2x2x6xf32 -> 2x6x8x6xf32", CONV.replace("feature_group_count = 1", "feature_group_count = 2")),
    case("convolution", "4x8x9x3xf32, 3x2x3x6xf32 -> 2x6x8x6xf32", CONV.replace("batch_group_count = 1", "batch_group_count = 2")),
    case("convolution", "?x8x9x3xf32, 3x2x3x5xf32 -> ?x6x8x5xf32", CONV),
    case(
        "chlo.ragged_dot",
        "6x4xf32, 2x4x5xf32, 2xi64 -> 6x5xf32",
        RAGGED,
    ),
]


ILL_TYPED: Cases = [
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
