"""Computes where ops with computed indices read and write: a static index, and starts that are known only at run time.

``dynamic_slice``, ``gather``, ``dynamic_update_slice`` and ``scatter`` all reach element ``index + start`` of their operand,
where the starts come from other tensors. Reads and slice updates clamp the starts so that the whole window lies inside; a
scatter drops windows that do not.
"""

from __future__ import annotations

from msgspec import Struct
from xdsl.ir import SSAValue

from wengert.dialects import core, stablehlo
from wengert.dialects.kernel.positions import ZERO, Position
from wengert.dialects.stablehlo.attributes import GatherDimensionNumbersAttr, ScatterDimensionNumbersAttr
from wengert.ir.attributes import int_of, ints
from wengert.ir.tensor_types import shape
from wengert.transforms.fuse.views import Index


class Start(Struct, frozen=True):
    """A start along one dimension: an element of a tensor of integers, which must lie in [0, limit]."""

    dimension: int
    value: SSAValue
    at: Index
    limit: int


class Access(Struct, frozen=True):
    """An element of ``operand``: its static index plus the starts."""

    operand: SSAValue
    index: Index
    starts: tuple[Start, ...]


def read(op: stablehlo.DynamicSliceOp | stablehlo.GatherOp, at: Index) -> Access:
    """The element that an element of the result is."""
    if isinstance(op, stablehlo.DynamicSliceOp):
        return _sliced(op.operand, tuple(op.start_indices), ints(op.slice_sizes), at)
    numbers = op.dimension_numbers
    assert isinstance(numbers, GatherDimensionNumbersAttr)
    offsets = numbers.dims("offset_dims")
    return _placed(
        op.operand,
        op.start_indices,
        ints(op.slice_sizes),
        tuple([p for d, p in enumerate(at) if d not in offsets]),
        [at[d] for d in offsets],
        numbers.dims("start_index_map"),
        (numbers.dims("operand_batching_dims"), numbers.dims("start_indices_batching_dims")),
        numbers.dims("collapsed_slice_dims"),
        int_of(numbers.index_vector_dim),
    )


def write(op: stablehlo.DynamicUpdateSliceOp | core.ScatterOp, at: Index) -> Access:
    """The element that an element of the update goes to."""
    if isinstance(op, stablehlo.DynamicUpdateSliceOp):
        return _sliced(op.operand, tuple(op.start_indices), shape(op.update), at)
    numbers = op.scatter_dimension_numbers
    assert isinstance(numbers, ScatterDimensionNumbersAttr)
    window = numbers.dims("update_window_dims")
    inserted, batching = numbers.dims("inserted_window_dims"), numbers.dims("input_batching_dims")
    sizes = [1] * len(shape(op.operand))
    extents = iter([shape(op.updates)[d] for d in window])
    for d in range(len(sizes)):
        if d not in inserted and d not in batching:
            sizes[d] = next(extents)
    return _placed(
        op.operand,
        op.scatter_indices,
        tuple(sizes),
        tuple([p for d, p in enumerate(at) if d not in window]),
        [at[d] for d in window],
        numbers.dims("scatter_dims_to_operand_dims"),
        (batching, numbers.dims("scatter_indices_batching_dims")),
        inserted,
        int_of(numbers.index_vector_dim),
    )


def _sliced(operand: SSAValue, starts: tuple[SSAValue, ...], sizes: tuple[int, ...], at: Index) -> Access:
    bounded = [Start(d, start, (), n - size) for d, (start, n, size) in enumerate(zip(starts, shape(operand), sizes, strict=True))]
    return Access(operand, at, tuple(bounded))


def _placed(
    operand: SSAValue,
    indices: SSAValue,
    sizes: tuple[int, ...],
    batch: Index,
    offsets: list[Position],
    start_map: tuple[int, ...],
    batching: tuple[tuple[int, ...], tuple[int, ...]],
    collapsed: tuple[int, ...],
    vector_dim: int,
) -> Access:
    extents = shape(operand)
    index = [ZERO] * len(extents)
    rest = iter(offsets)
    for d in range(len(extents)):
        if d not in collapsed and d not in batching[0]:
            index[d] = next(rest)
    for d, i in zip(*batching, strict=True):
        index[d] = batch[i - (i > vector_dim)]
    starts: list[Start] = []
    for k, d in enumerate(start_map):
        at = batch if vector_dim == len(shape(indices)) else (*batch[:vector_dim], Position(k), *batch[vector_dim:])
        starts.append(Start(d, indices, at, extents[d] - sizes[d]))
    return Access(operand, tuple(index), tuple(starts))
