"""The dimension numbers of the scatter that writes where a gather reads, and vice versa."""

from __future__ import annotations

from wengert.dialects.stablehlo.attributes import GatherDimensionNumbersAttr, ScatterDimensionNumbersAttr


def scatter_numbers(numbers: GatherDimensionNumbersAttr) -> ScatterDimensionNumbersAttr:
    """The scatter that writes where a gather reads."""
    return ScatterDimensionNumbersAttr(
        numbers.offset_dims,
        numbers.collapsed_slice_dims,
        numbers.operand_batching_dims,
        numbers.start_indices_batching_dims,
        numbers.start_index_map,
        numbers.index_vector_dim,
    )


def gather_numbers(numbers: ScatterDimensionNumbersAttr) -> GatherDimensionNumbersAttr:
    """The gather that reads where a scatter writes."""
    return GatherDimensionNumbersAttr(
        numbers.update_window_dims,
        numbers.inserted_window_dims,
        numbers.input_batching_dims,
        numbers.scatter_indices_batching_dims,
        numbers.scatter_dims_to_operand_dims,
        numbers.index_vector_dim,
    )
