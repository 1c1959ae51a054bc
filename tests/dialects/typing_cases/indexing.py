"""Well-typed and ill-typed cases of ops that read or write at computed positions."""

from __future__ import annotations

from typing_cases.notation import Cases, case, reducer, region

GATHER = "dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>"

BATCHED_GATHER = (
    "dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [1], operand_batching_dims = [0], "
    "start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 2>"
)

SCATTER = (
    "scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], "
    "scatter_dims_to_operand_dims = [0], index_vector_dim = 1>"
)

BATCHED_SCATTER = (
    "scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [2], inserted_window_dims = [1], input_batching_dims = [0], "
    "scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [1], index_vector_dim = 2>"
)


def gather(types: str, sizes: str, numbers: str = "offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1") -> str:
    return case("gather", types, f"dimension_numbers = #stablehlo.gather<{numbers}>, slice_sizes = array<i64: {sizes}>")


def scatter(
    types: str, body: str, numbers: str = "update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1"
) -> str:
    return case("scatter", types, f"scatter_dimension_numbers = #stablehlo.scatter<{numbers}>", body)


WELL_TYPED = [
    case("dynamic_slice", "4x5xf32, i32, i32 -> 2x3xf32", "slice_sizes = array<i64: 2, 3>"),
    case("dynamic_update_slice", "4x5xf32, 2x3xf32, ui8, ui8 -> 4x5xf32"),
    case("dynamic_update_slice", "4x?xf32, 2x3xf32, i64, i64 -> 4x?xf32"),
    case("gather", "5x6xf32, 3x1xi32 -> 3x6xf32", f"{GATHER}, slice_sizes = array<i64: 1, 6>, indices_are_sorted = false"),
    case("gather", "?x6xf32, 3x1xi32 -> 3x6xf32", f"{GATHER}, slice_sizes = array<i64: 1, 6>"),
    case("gather", "2x5x6xf32, 2x3x1xi32 -> 2x3x4xf32", f"{BATCHED_GATHER}, slice_sizes = array<i64: 1, 1, 4>"),
    case(
        "gather",
        "5x6xf32, 3xi32 -> 3x2x6xf32",
        "dimension_numbers = #stablehlo.gather<offset_dims = [1, 2], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 2, 6>",
    ),
    case("scatter", "5x6xf32, 3x1xi32, 3x6xf32 -> 5x6xf32", f"{SCATTER}, unique_indices = false", reducer("f32")),
    case("scatter", "5x6xf32, 5x6xi32, 3x1xi32, 3x4xf32, 3x4xi32 -> 5x6xf32, 5x6xi32", SCATTER, region("f32, i32, f32, i32", returns="%a0, %a1: f32, i32")),
    case("scatter", "2x5x6xf32, 2x3x1xi32, 2x3x4xf32 -> 2x5x6xf32", BATCHED_SCATTER, reducer("f32")),
    case("torch_index_select", "5x6xf32, 3xi32 -> 5x3xf32", "dim = 1 : i64, batch_dims = 0 : i64"),
    case("core.scatter", "5x6xf32, 3x1xi32, 3x6xf32 -> 5x6xf32", f"kind = #core<kind add>, {SCATTER}, indices_are_sorted = false, unique_indices = false"),
]


ILL_TYPED: Cases = [
    (case("torch_index_select", "0x6xf32, 3xi32 -> 3x6xf32", "dim = 0 : i64, batch_dims = 0 : i64"), "the operand must have elements in dimension 0"),
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
