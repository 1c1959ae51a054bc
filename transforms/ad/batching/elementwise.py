"""Batching of ops that are nearly elementwise: some operand is a scalar for all elements, or a property lists dimensions."""

from __future__ import annotations

from wengert.dialects import stablehlo as hlo
from wengert.ir.tensor_types import rank, shape
from wengert.transforms.ad.batching.rule import Batching, Mapped, Operands, Results, batches


@batches(hlo.MapOp)
def map_(batch: Batching, op: hlo.MapOp, operands: Operands) -> Results:
    return batch.rebuild(op, operands, dimensions=range(rank(op.result) + 1))


@batches(hlo.SelectOp)
def select(batch: Batching, op: hlo.SelectOp, operands: Operands) -> Results:
    pred, on_true, on_false = operands
    b = batch.b
    values = [batch.broadcast(on_true), batch.broadcast(on_false)]
    if rank(op.pred) == 0 and not pred.batched:
        return [b.select(pred.value, *values)]
    dims = range(rank(op.pred))
    return [b.select(batch.align(pred, dims, shape(op.result)), *values)]


@batches(hlo.ClampOp)
def clamp(batch: Batching, op: hlo.ClampOp, operands: Operands) -> Results:
    low, x, high = operands
    bounds = low, high
    if not low.batched and not high.batched and rank(op.min) == rank(op.max) == 0:
        return [batch.b.clamp(low.value, batch.broadcast(x), high.value)]
    placed = [batch.align(bound, range(rank(old)), shape(op.result)) for bound, old in zip(bounds, (op.min, op.max), strict=True)]
    return [batch.b.clamp(placed[0], batch.broadcast(x), placed[1])]


@batches(hlo.OptimizationBarrierOp)
def optimization_barrier(batch: Batching, op: hlo.OptimizationBarrierOp, operands: Operands) -> Results:
    values = [x.value for x in operands]
    outputs = batch.b.create(hlo.OptimizationBarrierOp, values, [v.type for v in values])
    return [Mapped(value, x.batched) for value, x in zip(outputs, operands, strict=True)]
