"""Cases of extents that are unknown and have a bound: what is inferred keeps to it, and one of them may stand where extents are known."""

from __future__ import annotations

from typing_cases.communication import GROUPS
from typing_cases.indexing import SCATTER
from typing_cases.notation import Cases, case, predicate, reducer


def bounded(type: str, bounds: str) -> str:
    """A type with bounds."""
    return f"tensor<{type}, #stablehlo.bounds<{bounds}>>"


X, Y = bounded("?x5xf32", "4, ?"), bounded("?x?xf32", "4, 6")
NO_EDGE = "edge_padding_low = array<i64: {}, 0>, edge_padding_high = array<i64: 0, 0>, interior_padding = array<i64: 0, 0>"
EXCHANGE = "split_dimension = 0 : i64, concat_dimension = 1 : i64, split_count = 2 : i64, " + GROUPS
INTO = "broadcast_dimensions = array<i64: {}>"
SOLVE = "left_side = true, lower = true, unit_diagonal = false, transpose_a = #stablehlo<transpose NO_TRANSPOSE>"
NORMAL = "epsilon = 1.0e-3 : f32, feature_index = 1 : i64"
ROWS = "dimension = 0 : i64"
EQUAL = "comparison_direction = #stablehlo<comparison_direction EQ>"
ONE = "window_dimensions = array<i64: 1, 1>"
PAIRS = "source_target_pairs = dense<[[0, 1]]> : tensor<1x2xi64>"

WELL_TYPED = [
    case("broadcast_in_dim", f"{X} -> {X}", INTO.format("0, 1")),
    case("broadcast_in_dim", f"1x5xf32 -> {X}", INTO.format("0, 1")),
    case("reshape", f"{X} -> {bounded('5x?xf32', '?, 4')}"),
    case("reshape", f"?x5xf32 -> {X}"),
    case("transpose", f"{X} -> 5x3xf32", "permutation = array<i64: 1, 0>"),
    case("pad", f"{X}, f32 -> {bounded('?x5xf32', '6, ?')}", NO_EDGE.format(2)),
    case("concatenate", f"{X}, 2x5xf32 -> {bounded('?x5xf32', '6, ?')}", ROWS),
    case("set_dimension_size", f"4x5xf32, i32 -> {X}", ROWS),
    case("reduce", f"{Y}, f32 -> {bounded('?xf32', '6')}", "dimensions = array<i64: 0>", reducer("f32")),
    case("all_to_all", f"{X} -> {bounded('?x10xf32', '2, ?')}", EXCHANGE),
    case("chlo.broadcast_add", f"{X}, 1x5xf32 -> 4x5xf32"),
]

ABOVE: list[tuple[str, str]] = [
    (case("transpose", f"{X} -> 5x6xf32", "permutation = array<i64: 1, 0>"), "tensor<5x?xf32, #stablehlo.bounds<?, 4>>"),
    (case("pad", f"{X}, f32 -> 7x5xf32", NO_EDGE.format(2)), "tensor<?x5xf32, #stablehlo.bounds<6, ?>>"),
    (case("concatenate", f"{X}, 2x5xf32 -> 7x5xf32", ROWS), "tensor<?x5xf32, #stablehlo.bounds<6, ?>>"),
    (case("reverse", f"{Y} -> 4x7xf32", "dimensions = array<i64: 1>"), "tensor<?x?xf32, #stablehlo.bounds<4, 6>>"),
    (case("set_dimension_size", "4x5xf32, i32 -> 7x5xf32", ROWS), "tensor<?x5xf32, #stablehlo.bounds<4, ?>>"),
    (case("reduce", f"{Y}, f32 -> 7xf32", "dimensions = array<i64: 0>", reducer("f32")), "the type tensor<?xf32, #stablehlo.bounds<6>>"),
    (case("reduce_window", f"{Y}, f32 -> 4x7xf32", ONE, reducer("f32")), "the type tensor<?x?xf32, #stablehlo.bounds<4, 6>>"),
    (case("select_and_scatter", f"{Y}, {Y}, f32 -> 4x7xf32", ONE, predicate("f32, f32"), reducer("f32")), "#stablehlo.bounds<4, 6>"),
    (case("scatter", f"{Y}, 3x1xi32, 3x?xf32 -> 5x6xf32", SCATTER, reducer("f32")), "the type tensor<?x?xf32, #stablehlo.bounds<4, 6>>"),
    (case("dynamic_update_slice", f"{Y}, 1x1xf32, i32, i32 -> 5x6xf32"), "tensor<?x?xf32, #stablehlo.bounds<4, 6>>"),
    (case("all_to_all", f"{X} -> 3x10xf32", EXCHANGE), "tensor<?x10xf32, #stablehlo.bounds<2, ?>>"),
    (case("collective_permute", f"{X} -> 5x5xf32", PAIRS), "tensor<?x5xf32, #stablehlo.bounds<4, ?>>"),
    (case("collective_broadcast", f"{X} -> 5x5xf32", GROUPS), "tensor<?x5xf32, #stablehlo.bounds<4, ?>>"),
    (case("select", f"i1, {X}, {bounded('?x5xf32', '3, ?')} -> 4x5xf32"), "tensor<?x5xf32, #stablehlo.bounds<3, ?>>"),
    (case("compare", f"{X}, {X} -> 5x5xi1", EQUAL), "tensor<?x5xi1, #stablehlo.bounds<4, ?>>"),
    (case("is_finite", f"{X} -> 5x5xi1"), "tensor<?x5xi1, #stablehlo.bounds<4, ?>>"),
    (case("complex", f"{X}, {X} -> 5x5xc64"), "tensor<?x5xcomplex<f32>, #stablehlo.bounds<4, ?>>"),
    (case("real", f"{bounded('?xcomplex<f32>', '4')} -> 5xf32"), "tensor<?xf32, #stablehlo.bounds<4>>"),
    (case("reduce_precision", f"{X} -> 5x5xf32", "exponent_bits = 5 : i32, mantissa_bits = 10 : i32"), "#stablehlo.bounds<4, ?>"),
    (case("cholesky", f"{bounded('?x?xf32', '4, 4')} -> 5x5xf32"), "tensor<?x?xf32, #stablehlo.bounds<4, 4>>"),
    (case("triangular_solve", f"?x?xf32, {Y} -> 4x7xf32", SOLVE), "tensor<?x?xf32, #stablehlo.bounds<4, 6>>"),
    (case("batch_norm_inference", f"{X}, 5xf32, 5xf32, 5xf32, 5xf32 -> 5x5xf32", NORMAL), "tensor<?x5xf32, #stablehlo.bounds<4, ?>>"),
    (case("chlo.broadcast_add", f"{X}, 1x5xf32 -> 5x5xf32"), "tensor<?x5xf32, #stablehlo.bounds<4, ?>>"),
    (case("chlo.broadcast_add", f"{X}, {X} -> 5x5xf32"), "tensor<?x5xf32, #stablehlo.bounds<4, ?>>"),
    (case("chlo.is_inf", f"{X} -> 5x5xi1"), "tensor<?x5xi1, #stablehlo.bounds<4, ?>>"),
]

ILL_TYPED: Cases = [
    *[(text, f"does not match the inferred {part}" if part.startswith("tensor") else part) for text, part in ABOVE],
    (case("pad", f"{X}, f32 -> ?x5xf32", NO_EDGE.format(-5)), "leaves a negative extent of -1 in dimension 0"),
    (case("broadcast_in_dim", f"{Y} -> {Y}", INTO.format("0, 1")), "must have a static shape"),
    (case("broadcast_in_dim", f"3x5xf32 -> {X}", INTO.format("0, 1")), "dimension 0 of the operand has the extent 3"),
    (case("broadcast_in_dim", "?x5xf32 -> ?x5xf32", INTO.format("0, 1")), "must have a static shape"),
    (case("reshape", f"{Y} -> {Y}"), "must have a static shape"),
    (case("reshape", "?x5xf32 -> 5x?xf32"), "must have a static shape"),
]
