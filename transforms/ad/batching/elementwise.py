"""Batching of elementwise ops: the op itself, on operands that are all batched."""

from __future__ import annotations

from wengert.dialects import ad, chlo
from wengert.dialects import stablehlo as hlo
from wengert.dialects.stablehlo.base import BinaryOp, UnaryOp
from wengert.ir.tensor_types import rank, shape
from wengert.transforms.ad.batching.rule import Batching, Mapped, Operands, Results, batches

UNARY = [op for dialect in (hlo.StableHLO, chlo.Chlo) for op in dialect.operations if issubclass(op, UnaryOp)]
BINARY = [op for dialect in (hlo.StableHLO, chlo.Chlo) for op in dialect.operations if issubclass(op, BinaryOp)]


@batches(*UNARY, *BINARY, hlo.CompareOp, hlo.ReducePrecisionOp, ad.StopGradientOp)
def pointwise(batch: Batching, op: hlo.AddOp, operands: Operands) -> Results:
    return batch.again(op, operands)


@batches(hlo.MapOp)
def map_(batch: Batching, op: hlo.MapOp, operands: Operands) -> Results:
    return batch.again(op, operands, dimensions=range(rank(op.result) + 1))


@batches(hlo.SelectOp)
def select(batch: Batching, op: hlo.SelectOp, operands: Operands) -> Results:
    pred, on_true, on_false = operands
    b = batch.b
    values = [batch.spread(on_true), batch.spread(on_false)]
    if rank(op.pred) == 0 and not pred.batched:
        return [b.select(pred.value, *values)]
    dims = range(rank(op.pred))
    return [b.select(batch.align(pred, dims, shape(op.result)), *values)]


@batches(hlo.ClampOp)
def clamp(batch: Batching, op: hlo.ClampOp, operands: Operands) -> Results:
    low, x, high = operands
    bounds = low, high
    if not low.batched and not high.batched and rank(op.min) == rank(op.max) == 0:
        return [batch.b.clamp(low.value, batch.spread(x), high.value)]
    placed = [batch.align(bound, range(rank(old)), shape(op.result)) for bound, old in zip(bounds, (op.min, op.max), strict=True)]
    return [batch.b.clamp(placed[0], batch.spread(x), placed[1])]


@batches(ad.GuardOp)
def guard(batch: Batching, op: ad.GuardOp, operands: Operands) -> Results:
    return batch.again(op, operands)


@batches(hlo.OptimizationBarrierOp)
def optimization_barrier(batch: Batching, op: hlo.OptimizationBarrierOp, operands: Operands) -> Results:
    values = [x.value for x in operands]
    made = batch.b.create(hlo.OptimizationBarrierOp, values, [v.type for v in values])
    return [Mapped(value, x.batched) for value, x in zip(made, operands, strict=True)]
