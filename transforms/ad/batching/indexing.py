"""Batching of reads and writes at computed positions: each stays one.

Where the positions are the same for all instances the batch is one more dimension of the slices. Where they are not, it is
one more dimension of positions, which says at the same time which instance to read (a *batching dimension*).
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
        return batch.nothing(op)  # a slice of one instance would not fit
    numbers, held = op.dimension_numbers, x.batched
    offset, collapsed, operand_batch, index_batch, index_map = (numbers.dims(key) for key in numbers.LISTS)
    lists = [
        [d + 1 for d in offset],
        *([d + held for d in dims] for dims in (collapsed, operand_batch)),
        [d + indices.batched for d in index_batch],
        [d + held for d in index_map],
    ]
    sizes = list(ints(op.slice_sizes))
    if held and indices.batched:
        lists[2], lists[3], sizes = [0, *lists[2]], [0, *lists[3]], [1, *sizes]
    elif held:
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
    values = [x.value if i == position else batch.spread(x) for i, x in enumerate(operands)]
    regions = batch.regions(op)
    return batch.b.create(type(op), values, [batch.type(r.type) for r in op.results], properties, regions)


@batches(hlo.DynamicSliceOp)
def dynamic_slice(batch: Batching, op: hlo.DynamicSliceOp, operands: Operands) -> Results:
    x, *starts = operands
    sizes = ints(op.slice_sizes)
    if not any(start.batched for start in starts):
        return [batch.b.dynamic_slice(x.value, _starts_in_front(batch, starts), [batch.size, *sizes])]
    moving = _moving(shape(op.operand), sizes)
    if not moving or batch.size == 0:
        return [batch.spread(x)] if not moving else batch.nothing(op)
    # a gather clamps as a dynamic slice does
    indices = _stacked(batch, [starts[d] for d in moving])
    held = int(x.batched)
    numbers = sa.GatherDimensionNumbersAttr(
        sa.dimensions(range(1, len(sizes) + 1)),
        sa.dimensions([]),
        sa.dimensions([0] * held),
        sa.dimensions([0] * held),
        sa.dimensions([d + held for d in moving]),
        int_attr(1),
    )
    return [batch.b.gather(x.value, indices, numbers, [1] * held + list(sizes), [batch.size, *sizes])]


@batches(hlo.DynamicUpdateSliceOp)
def dynamic_update_slice(batch: Batching, op: hlo.DynamicUpdateSliceOp, operands: Operands) -> Results:
    x, update, *starts = operands
    b = batch.b
    if not any(start.batched for start in starts):
        return [b.dynamic_update_slice(batch.spread(x), batch.spread(update), _starts_in_front(batch, starts))]
    extents, sizes = shape(op.operand), shape(op.update)
    moving = _moving(extents, sizes)
    if not moving:
        return [batch.spread(update)]
    # a scatter drops what does not fit, so the clamping comes first
    clamped = [Mapped(_clamped(batch, starts[d], extents[d] - sizes[d]), starts[d].batched) for d in moving]
    numbers = sa.ScatterDimensionNumbersAttr(
        sa.dimensions(range(1, len(sizes) + 1)), sa.dimensions([]), sa.dimensions([0]), sa.dimensions([0]), sa.dimensions([d + 1 for d in moving]), int_attr(1)
    )
    return [b.scatter(core.Kind.set, batch.spread(x), _stacked(batch, clamped), batch.spread(update), numbers, unique=True)]


def _starts_in_front(batch: Batching, starts: Sequence[Mapped]) -> list[Value]:
    """The starts of a slice that takes the whole batch."""
    held = element(starts[0].value) if starts else i64
    return [batch.b.scalar(0, held), *(start.value for start in starts)]


def _moving(extents: Sequence[int], sizes: Sequence[int]) -> list[int]:
    """The dimensions in which a slice can begin at more than one position."""
    return [d for d, (n, k) in enumerate(zip(extents, sizes, strict=True)) if n != k]


def _clamped(batch: Batching, start: Mapped, last: int) -> Value:
    """A start within 0 and ``last``, in an integer type that holds both."""
    b, held = batch.b, ui64 if element(start.value) == ui64 else i64
    return b.clamp(b.scalar(0, held), b.convert(start.value, held), b.scalar(last, held))


def _stacked(batch: Batching, starts: Sequence[Mapped]) -> Value:
    """Scalars of every instance as the rows of a table, ``[size, k]``."""
    columns = [batch.b.reshape(batch.spread(start), [batch.size, 1]) for start in starts]
    return columns[0] if len(columns) == 1 else batch.b.concatenate(columns, 1)
