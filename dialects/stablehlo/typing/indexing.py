"""Typing rules of ops that read or write at computed positions."""

from __future__ import annotations

from typing import cast

from xdsl.ir import Operation

from wengert.dialects.stablehlo import indexing as ops
from wengert.dialects.stablehlo.attributes import GatherDimensionNumbersAttr, ScatterDimensionNumbersAttr
from wengert.dialects.stablehlo.bounds import bounded, bounds_of
from wengert.dialects.stablehlo.typing.checks import (
    Shape,
    Tensor,
    expect_dimensions,
    expect_elements,
    expect_in_range,
    expect_result,
    expect_scalar,
    expect_sorted,
    expect_unique,
    extents,
    fail,
    int_list,
    int_property,
    operand,
    same_element,
    same_extent,
    tensors,
)
from wengert.dialects.stablehlo.typing.reduction import same_shapes
from wengert.dialects.stablehlo.typing.regions import check_reducer, expect_results
from wengert.ir.element_classes import INTEGER
from wengert.ir.tensor_types import DYNAMIC
from wengert.ir.verification.typing_rules import typing_rule


def expect_starts(op: Operation, first: int, rank: int) -> None:
    """One scalar index for each dimension, all of one integer type."""
    starts = op.operands[first:]
    if len(starts) != rank:
        fail(f"there must be {rank} start indices, one for each dimension of the operand, found {len(starts)}")
    for i, value in enumerate(starts):
        index = expect_scalar(f"start index #{i}", value.type)
        expect_elements(f"start index #{i}", index, INTEGER)
        if value.type != starts[0].type:
            fail(f"start indices must have the same type, found {starts[0].type} and {value.type}")


@typing_rule(ops.DynamicSliceOp)
def check_dynamic_slice(op: ops.DynamicSliceOp) -> None:
    """Result shape: slice_sizes."""
    x = operand(op, 0, "operand")
    shape = x.get_shape()
    expect_starts(op, 1, len(shape))
    sizes = int_list(op, "slice_sizes", len(shape))
    expect_sizes(sizes, shape)
    expect_result(op, sizes, x.element_type)


def expect_sizes(sizes: Shape, shape: Shape) -> None:
    """A slice of these sizes fits into the shape."""
    for d, (size, n) in enumerate(zip(sizes, shape, strict=True)):
        if size < 0 or (n != DYNAMIC and size > n):
            fail(f"slice_sizes must be between 0 and the extents {extents(shape)} of the operand, found {size} for dimension {d}")


@typing_rule(ops.DynamicUpdateSliceOp)
def check_dynamic_update_slice(op: ops.DynamicUpdateSliceOp) -> None:
    """The operand's type."""
    x, update = operand(op, 0, "operand"), operand(op, 1, "update")
    shape = x.get_shape()
    same_element("operand", x, "update", update)
    if len(update.get_shape()) != len(shape):
        fail(f"update must have the rank {len(shape)} of the operand, found {update}")
    for d, (m, n) in enumerate(zip(update.get_shape(), shape, strict=True)):
        if DYNAMIC not in (m, n) and m > n:
            fail(f"update must not be larger than the operand {x} in any dimension, found {update}, which is in dimension {d}")
    expect_starts(op, 2, len(shape))
    expect_result(op, shape, x.element_type, bounds=bounds_of(x))


def split_indices(indices: Tensor, role: str, vector_dim: int, batching: Shape) -> tuple[Shape, int]:
    """The shape of the batch of index vectors, and the length of each."""
    shape = indices.get_shape()
    if not 0 <= vector_dim <= len(shape):
        fail(f"index_vector_dim must be between 0 and the rank {len(shape)} of {role}, found {vector_dim}")
    expect_dimensions(f"the batching dimensions of {role}", batching, len(shape), f"the rank of {role}")
    if vector_dim in batching:
        fail(f"the batching dimensions {list(batching)} of {role} must not contain index_vector_dim = {vector_dim}")
    return tuple(n for d, n in enumerate(shape) if d != vector_dim), shape[vector_dim] if vector_dim < len(shape) else 1


def check_index_map(name: str, index_map: Shape, length: int, rank: int, batching: Shape) -> None:
    """Every component of an index vector is for a dimension of its own."""
    if not same_extent(len(index_map), length):
        fail(f"{name} must have {length} entries, the length of an index vector, found {list(index_map)}")
    expect_dimensions(name, index_map, rank)
    expect_unique(f"{name} and the operand's batching dimensions together", index_map + batching)


def check_batching(operand_dims: Shape, index_dims: Shape, shape: Shape, indices: Shape, names: tuple[str, str]) -> None:
    """Batching dimensions of operand and indices come in pairs of equal extents."""
    if len(operand_dims) != len(index_dims):
        fail(f"there must be as many {names[0]} as {names[1]}, found {list(operand_dims)} and {list(index_dims)}")
    for i, j in zip(operand_dims, index_dims, strict=True):
        if not same_extent(shape[i], indices[j]):
            fail(f"batching dimensions {i} of the operand and {j} of the indices must have the same extent, found {shape[i]} and {indices[j]}")


def check_gather_operand(numbers: GatherDimensionNumbersAttr, shape: Shape) -> tuple[int, ...]:
    """The dimensions of the operand's slices that do not appear in the result."""
    offset, collapsed, batching = (numbers.dims(key) for key in ("offset_dims", "collapsed_slice_dims", "operand_batching_dims"))
    for name, values in (("collapsed_slice_dims", collapsed), ("operand_batching_dims", batching)):
        expect_in_range(name, values, len(shape))
        expect_sorted(name, values)
    expect_unique("collapsed_slice_dims and operand_batching_dims together", collapsed + batching)
    if len(shape) != len(offset) + len(collapsed) + len(batching):
        fail(
            f"every dimension of the operand must be an offset, collapsed or batching dimension, but its rank is {len(shape)} and there are "
            f"{len(offset)} offset_dims, {len(collapsed)} collapsed_slice_dims and {len(batching)} operand_batching_dims"
        )
    return collapsed + batching


def gathered_shape(numbers: GatherDimensionNumbersAttr, x: Tensor, indices: Tensor, sizes: Shape | None) -> list[int]:
    """The result's shape, after checking everything; slice sizes that are computed at run time are None."""
    shape = x.get_shape()
    expect_elements("start_indices", indices, INTEGER)
    hidden = check_gather_operand(numbers, shape)
    index_batching, batching = numbers.dims("start_indices_batching_dims"), numbers.dims("operand_batching_dims")
    batch, length = split_indices(indices, "start_indices", numbers.index_vector_dim.value.data, index_batching)
    check_batching(batching, index_batching, shape, indices.get_shape(), ("operand_batching_dims", "start_indices_batching_dims"))
    check_index_map("start_index_map", numbers.dims("start_index_map"), length, len(shape), batching)
    if sizes is not None:
        expect_sizes(sizes, shape)
        for d in hidden:
            if sizes[d] > 1:
                fail(f"slice_sizes must be at most 1 in collapsed and batching dimensions, found {sizes[d]} for dimension {d}")
    window = [n for d, n in enumerate(sizes or (DYNAMIC,) * len(shape)) if d not in hidden]
    return merge(batch, window, numbers.dims("offset_dims"), "offset_dims")


def merge(batch: Shape, window: list[int], window_dims: Shape, name: str) -> list[int]:
    """The batch dimensions in order, with the window dimensions at the given positions."""
    rank = len(batch) + len(window)
    expect_in_range(name, window_dims, rank, "the rank of the batch and window dimensions together")
    expect_sorted(name, window_dims)
    rest, inner = iter(batch), iter(window)
    return [next(inner) if d in window_dims else next(rest) for d in range(rank)]


@typing_rule(ops.GatherOp)
def check_gather(op: ops.GatherOp) -> None:
    """Result shape: the batch of index vectors, and the slices without collapsed and batching dimensions at offset_dims."""
    x, indices = operand(op, 0, "operand"), operand(op, 1, "start_indices")
    sizes = int_list(op, "slice_sizes", len(x.get_shape()))
    numbers = cast(GatherDimensionNumbersAttr, op.properties["dimension_numbers"])
    expect_result(op, gathered_shape(numbers, x, indices, sizes), x.element_type)


def check_scatter_numbers(numbers: ScatterDimensionNumbersAttr, shape: Shape, indices: Tensor, updates: Shape) -> None:
    """The dimension numbers fit the shapes of operand, indices and updates."""
    expect_elements("scatter_indices", indices, INTEGER)
    inserted, batching = numbers.dims("inserted_window_dims"), numbers.dims("input_batching_dims")
    window_dims, index_batching = numbers.dims("update_window_dims"), numbers.dims("scatter_indices_batching_dims")
    for name, values, rank, what in (
        ("update_window_dims", window_dims, len(updates), "the updates' rank"),
        ("inserted_window_dims", inserted, len(shape), "the inputs' rank"),
        ("input_batching_dims", batching, len(shape), "the inputs' rank"),
    ):
        expect_in_range(name, values, rank, what)
        expect_sorted(name, values)
    expect_unique("inserted_window_dims and input_batching_dims together", inserted + batching)
    if len(shape) != len(window_dims) + len(inserted) + len(batching):
        fail(
            f"every dimension of the inputs must be a window, inserted or batching dimension, but their rank is {len(shape)} and there are "
            f"{len(window_dims)} update_window_dims, {len(inserted)} inserted_window_dims and {len(batching)} input_batching_dims"
        )
    batch, length = split_indices(indices, "scatter_indices", numbers.index_vector_dim.value.data, index_batching)
    check_batching(batching, index_batching, shape, indices.get_shape(), ("input_batching_dims", "scatter_indices_batching_dims"))
    check_index_map("scatter_dims_to_operand_dims", numbers.dims("scatter_dims_to_operand_dims"), length, len(shape), batching)
    check_update_shape(updates, batch, [n for d, n in enumerate(shape) if d not in inserted + batching], window_dims)


def check_update_shape(updates: Shape, batch: Shape, window: list[int], window_dims: Shape) -> None:
    """The updates are windows, no larger than the inputs, for a batch of index vectors."""
    if len(updates) != len(batch) + len(window_dims):
        parts = f"{len(batch)} dimensions of scatter_indices and {len(window_dims)} window dimensions"
        fail(f"updates must have the rank {len(batch) + len(window_dims)} ({parts}), found {extents(updates)}")
    for d, bound in zip(window_dims, window, strict=True):
        if DYNAMIC not in (bound, updates[d]) and updates[d] > bound:
            fail(f"window dimension {d} of the updates must not be larger than the extent {bound} of the inputs, found {extents(updates)}")
    rest = [d for d in range(len(updates)) if d not in window_dims]
    for d, n in zip(rest, batch, strict=True):
        if not same_extent(updates[d], n):
            fail(f"dimension {d} of the updates must have the extent {n} of its dimension of scatter_indices, found {extents(updates)}")


@typing_rule(ops.ScatterOp)
def check_scatter(op: ops.ScatterOp) -> None:
    """Results have the inputs' shapes and the elements of the update_computation."""
    if len(op.operands) % 2 == 0 or len(op.operands) < 3:
        fail(f"the operands must be inputs, scatter_indices and as many updates, found {len(op.operands)} operands")
    n = len(op.operands) // 2
    inputs, updates = tensors((v.type for v in op.operands[:n]), "input"), tensors((v.type for v in op.operands[n + 1 :]), "update")
    shape, update_shape = same_shapes(inputs, "input"), same_shapes(updates, "update")
    numbers = cast(ScatterDimensionNumbersAttr, op.properties["scatter_dimension_numbers"])
    check_scatter_numbers(numbers, shape, operand(op, n, "scatter_indices"), update_shape)
    accumulators = check_reducer(op.regions[0], "update_computation", updates, inputs)
    results = [bounded(x.get_shape(), a.element_type, bounds_of(x)) for x, a in zip(inputs, accumulators, strict=True)]
    expect_results(op, results, "inferred from the inputs and the update_computation")


@typing_rule(ops.TorchIndexSelectOp)
def check_torch_index_select(op: ops.TorchIndexSelectOp) -> None:
    """The dimension ``dim`` is replaced by the index's dimensions after the first batch_dims."""
    x, index = operand(op, 0, "operand"), operand(op, 1, "index")
    expect_elements("index", index, INTEGER)
    shape, picks = x.get_shape(), index.get_shape()
    dim, batch = (value + len(shape) if value < 0 else value for value in (int_property(op, "dim"), int_property(op, "batch_dims")))
    expect_in_range("dim", (dim,), len(shape))
    if not 0 <= batch <= min(dim, len(picks)):
        fail(f"batch_dims must be between 0 and the smaller of dim = {dim} and the rank {len(picks)} of index, found {batch}")
    if shape[dim] == 0 and 0 not in (*shape[:dim], *picks, *shape[dim + 1 :]):
        fail(f"the operand must have elements in dimension {dim}, which the indices point into, found {x}")
    expect_result(op, [*shape[:dim], *picks[batch:], *shape[dim + 1 :]], x.element_type)
