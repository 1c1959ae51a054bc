"""Batching of ops that move elements: the batch is one more leading dimension, which they leave alone."""

from __future__ import annotations

from wengert.dialects import stablehlo as hlo
from wengert.ir.attributes import int_of, ints
from wengert.ir.tensor_types import element, i1, shape, tensor
from wengert.transforms.ad.batching.rule import Batching, Mapped, Operands, Results, batches


def shifted(dims: object) -> list[int]:
    """Dimension numbers behind a leading batch dimension."""
    return [d + 1 for d in ints(dims)]  # pyright: ignore[reportArgumentType]


@batches(hlo.BroadcastInDimOp)
def broadcast_in_dim(batch: Batching, op: hlo.BroadcastInDimOp, operands: Operands) -> Results:
    return batch.rebuild(op, operands, broadcast_dimensions=[0, *shifted(op.broadcast_dimensions)])


@batches(hlo.ReshapeOp)
def reshape(batch: Batching, op: hlo.ReshapeOp, operands: Operands) -> Results:
    return batch.rebuild(op, operands)


@batches(hlo.TransposeOp)
def transpose(batch: Batching, op: hlo.TransposeOp, operands: Operands) -> Results:
    return batch.rebuild(op, operands, permutation=[0, *shifted(op.permutation)])


@batches(hlo.ReverseOp)
def reverse(batch: Batching, op: hlo.ReverseOp, operands: Operands) -> Results:
    return batch.rebuild(op, operands, dimensions=shifted(op.dimensions))


@batches(hlo.SliceOp)
def slice_(batch: Batching, op: hlo.SliceOp, operands: Operands) -> Results:
    start, limit, strides = [0, *ints(op.start_indices)], [batch.size, *ints(op.limit_indices)], [1, *ints(op.strides)]
    return batch.rebuild(op, operands, start_indices=start, limit_indices=limit, strides=strides)


@batches(hlo.ConcatenateOp)
def concatenate(batch: Batching, op: hlo.ConcatenateOp, operands: Operands) -> Results:
    return [batch.b.concatenate([batch.broadcast(x) for x in operands], int_of(op.dimension) + 1)]


@batches(hlo.PadOp)
def pad(batch: Batching, op: hlo.PadOp, operands: Operands) -> Results:
    x, value = operands
    low, high, interior = ([0, *ints(p)] for p in (op.edge_padding_low, op.edge_padding_high, op.interior_padding))
    b = batch.b
    if not value.batched:
        return [b.pad(batch.broadcast(x), value.value, low, high, interior)]
    # the padding value depends on the batch element: pad with 0, and select it where there is padding
    padded = b.pad(batch.broadcast(x), b.scalar(0, element(op.operand)), low, high, interior)
    inside = b.pad(b.full(1, tensor(shape(op.operand), i1)), b.scalar(0, i1), low[1:], high[1:], interior[1:])
    return [b.select(batch.align(Mapped(inside, False), range(len(low) - 1), shape(op.result)), padded, batch.align(value, [], shape(op.result)))]


@batches(hlo.GetDimensionSizeOp)
def get_dimension_size(batch: Batching, op: hlo.GetDimensionSizeOp, operands: Operands) -> Results:
    extent = shape(op.operand)[int_of(op.dimension)]
    return [Mapped(batch.b.scalar(extent, element(op.result)), False)]
