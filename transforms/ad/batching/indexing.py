"""Batching of reads and writes at computed positions: each stays one.

Where the positions are unbatched, the batch is one more dimension of the slices. Where they are batched, it is
one more dimension of positions, which also selects the batch element to read (a *batching dimension*).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from wengert.dialects import core
from wengert.dialects import stablehlo as hlo
from wengert.dialects.builder import Value
from wengert.dialects.stablehlo import attributes as sa
from wengert.ir.attributes import bool_attr, int_array, int_attr, int_of, ints
from wengert.ir.tensor_types import element, i64, shape, ui64
from wengert.transforms.ad.batching.rule import Batching, Mapped, Operands, Results, batches


@batches(hlo.GatherOp)
def gather(batch: Batching, op: hlo.GatherOp, operands: Operands) -> Results:
    x, indices = operands
    if batch.size == 0:
        return batch.empty_results(op)  # a slice of size 1 would not fit
    numbers, shift = op.dimension_numbers, int(x.batched)
    offset, collapsed, operand_batch, index_batch, index_map = (numbers.dims(key) for key in numbers.LISTS)
    lists = [
        [d + 1 for d in offset],
        *([d + shift for d in dims] for dims in (collapsed, operand_batch)),
        [d + indices.batched for d in index_batch],
        [d + shift for d in index_map],
    ]
    sizes = list(ints(op.slice_sizes))
    if x.batched and indices.batched:
        lists[2], lists[3], sizes = [0, *lists[2]], [0, *lists[3]], [1, *sizes]
    elif x.batched:
        lists[0], sizes = [0, *lists[0]], [batch.size, *sizes]
    parts: list[Any] = [*map(sa.dimensions, lists), int_attr(int_of(numbers.index_vector_dim) + indices.batched)]
    properties = {
        **op.properties,
        "dimension_numbers": sa.GatherDimensionNumbersAttr(*parts),
        "slice_sizes": int_array(sizes),
    }
    if indices.batched:
        properties["indices_are_sorted"] = bool_attr(False)
    return batch.b.create(hlo.GatherOp, [x.value, indices.value], [batch.type(op.result.type)], properties)


@batches(core.ScatterOp, hlo.ScatterOp)
def scatter(batch: Batching, op: core.ScatterOp | hlo.ScatterOp, operands: Operands) -> Results:
    position = len(op.operands) // 2
    indices = operands[position]
    numbers = op.scatter_dimension_numbers
    window, inserted, input_batch, index_batch, index_map = ([d + 1 for d in numbers.dims(key)] for key in numbers.LISTS)
    if indices.batched:
        input_batch, index_batch = [0, *input_batch], [0, *index_batch]
    else:
        window, index_batch = [0, *window], [d - 1 for d in index_batch]
    lists = (window, inserted, input_batch, index_batch, index_map)
    parts: list[Any] = [*map(sa.dimensions, lists), int_attr(int_of(numbers.index_vector_dim) + indices.batched)]
    properties = {**op.properties, "scatter_dimension_numbers": sa.ScatterDimensionNumbersAttr(*parts)}
    if indices.batched:
        properties["indices_are_sorted"] = bool_attr(False)
    values = [x.value if i == position else batch.broadcast(x) for i, x in enumerate(operands)]
    regions = batch.regions(op)
    return batch.b.create(type(op), values, [batch.type(r.type) for r in op.results], properties, regions)


@batches(hlo.DynamicSliceOp)
def dynamic_slice(batch: Batching, op: hlo.DynamicSliceOp, operands: Operands) -> Results:
    x, *starts = operands
    sizes = ints(op.slice_sizes)
    if not any(start.batched for start in starts):
        return [batch.b.dynamic_slice(x.value, _starts_in_front(batch, starts), [batch.size, *sizes])]
    movable = _movable(shape(op.operand), sizes)
    if not movable or batch.size == 0:
        return [batch.broadcast(x)] if not movable else batch.empty_results(op)
    # a gather clamps as a dynamic slice does
    indices = _stacked(batch, [starts[d] for d in movable])
    shift = int(x.batched)
    numbers = sa.GatherDimensionNumbersAttr(
        sa.dimensions(range(1, len(sizes) + 1)),
        sa.dimensions([]),
        sa.dimensions([0] * shift),
        sa.dimensions([0] * shift),
        sa.dimensions([d + shift for d in movable]),
        int_attr(1),
    )
    return [batch.b.gather(x.value, indices, numbers, [1] * shift + list(sizes), [batch.size, *sizes])]


@batches(hlo.DynamicUpdateSliceOp)
def dynamic_update_slice(batch: Batching, op: hlo.DynamicUpdateSliceOp, operands: Operands) -> Results:
    x, update, *starts = operands
    b = batch.b
    if not any(start.batched for start in starts):
        return [b.dynamic_update_slice(batch.broadcast(x), batch.broadcast(update), _starts_in_front(batch, starts))]
    extents, sizes = shape(op.operand), shape(op.update)
    movable = _movable(extents, sizes)
    if not movable:
        return [batch.broadcast(update)]
    # a scatter drops out-of-bounds updates, so start indices are clamped first
    clamped = [Mapped(_clamped(batch, starts[d], extents[d] - sizes[d]), starts[d].batched) for d in movable]
    numbers = sa.ScatterDimensionNumbersAttr(
        sa.dimensions(range(1, len(sizes) + 1)), sa.dimensions([]), sa.dimensions([0]), sa.dimensions([0]), sa.dimensions([d + 1 for d in movable]), int_attr(1)
    )
    return [b.scatter(core.Kind.set, batch.broadcast(x), _stacked(batch, clamped), batch.broadcast(update), numbers, unique=True)]


def _starts_in_front(batch: Batching, starts: Sequence[Mapped]) -> list[Value]:
    """The start indices of a slice that takes the whole batch."""
    index_type = element(starts[0].value) if starts else i64
    return [batch.b.scalar(0, index_type), *(start.value for start in starts)]


def _movable(extents: Sequence[int], sizes: Sequence[int]) -> list[int]:
    """The dimensions in which a slice can begin at more than one position."""
    return [d for d, (n, k) in enumerate(zip(extents, sizes, strict=True)) if n != k]


def _clamped(batch: Batching, start: Mapped, last: int) -> Value:
    """Clamps a start index to 0 .. ``last``, in an integer type that can represent both."""
    b, wide = batch.b, ui64 if element(start.value) == ui64 else i64
    return b.clamp(b.scalar(0, wide), b.convert(start.value, wide), b.scalar(last, wide))


def _stacked(batch: Batching, starts: Sequence[Mapped]) -> Value:
    """Stacks scalars into one row per batch element, ``[size, k]``."""
    columns = [batch.b.reshape(batch.broadcast(start), [batch.size, 1]) for start in starts]
    return columns[0] if len(columns) == 1 else batch.b.concatenate(columns, 1)
