"""Batching of reductions, windows and sorts: dimension numbers shift by one, and windows have extent 1 in the batch."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr
from xdsl.ir import Attribute, Operation

from wengert.dialects import chlo, core
from wengert.dialects import stablehlo as hlo
from wengert.ir import elements
from wengert.ir.attributes import int_array, int_attr, int_of, ints
from wengert.ir.tensor_types import rank
from wengert.transforms.ad.batching.rule import Batching, Operands, Results, batches, element_by_element
from wengert.transforms.ad.batching.shape import shifted


@batches(core.ReduceOp)
def reduce(batch: Batching, op: core.ReduceOp, operands: Operands) -> Results:
    return batch.rebuild(op, operands, dimensions=shifted(op.dimensions))


@batches(core.ArgReduceOp, core.CumulativeOp)
def along(batch: Batching, op: core.ArgReduceOp, operands: Operands) -> Results:
    return moved(batch, op, operands, dimension=int_attr(int_of(op.dimension) + 1))


@batches(hlo.SortOp)
def sort(batch: Batching, op: hlo.SortOp, operands: Operands) -> Results:
    dimension = -1 if op.dimension is None else int_of(op.dimension)
    return moved(batch, op, operands, dimension=int_attr(dimension % rank(op.inputs[0]) + 1))


@batches(chlo.TopKOp, hlo.FftOp, hlo.CholeskyOp, *(op for op in core.LINALG if op not in (core.CholeskySolveOp, core.LuSolveOp)))
def in_last_dimensions(batch: Batching, op: Operation, operands: Operands) -> Results:
    """Ops on the last dimensions, which treat all leading dimensions as a batch already."""
    return moved(batch, op, operands)


def moved(batch: Batching, op: Operation, operands: Operands, **properties: Attribute) -> Results:
    """Emits the op on batched operands, with some properties replaced."""
    clone = type(op).create(
        operands=[batch.broadcast(x) for x in operands],
        result_types=[batch.type(r.type) for r in op.results],
        properties={**op.properties, **properties},
        attributes=op.attributes,
        regions=batch.regions(op),
    )
    if op.regions or op.attributes:
        return batch.b.insert(clone).results
    return batch.b.create(type(op), clone.operands, clone.result_types, clone.properties)


@batches(core.WindowReduceOp)
def window_reduce(batch: Batching, op: core.WindowReduceOp, operands: Operands) -> Results:
    windows = {name: [1, *ints(op.properties[name])] for name in ("window_dimensions", "window_strides", "base_dilations", "window_dilations")}
    return batch.rebuild(op, operands, **windows, padding=[0, 0, *ints(op.padding)])


@batches(hlo.ReduceOp)
def reduce_by_region(batch: Batching, op: hlo.ReduceOp, operands: Operands) -> Results:
    inputs, initial = operands[: len(op.inputs)], operands[len(op.inputs) :]
    if any(x.batched for x in initial):
        return element_by_element(batch, op, operands)
    return _windowed(batch, op, inputs, initial, {"dimensions": int_array(shifted(op.dimensions))})


@batches(hlo.ReduceWindowOp)
def reduce_window(batch: Batching, op: hlo.ReduceWindowOp, operands: Operands) -> Results:
    inputs, initial = operands[: len(op.inputs)], operands[len(op.inputs) :]
    if any(x.batched for x in initial):
        return element_by_element(batch, op, operands)
    return _windowed(batch, op, inputs, initial, _windows(op))


@batches(hlo.SelectAndScatterOp)
def select_and_scatter(batch: Batching, op: hlo.SelectAndScatterOp, operands: Operands) -> Results:
    if operands[2].batched:
        return element_by_element(batch, op, operands)
    return _windowed(batch, op, operands[:2], operands[2:], _windows(op))


def _windows(op: Operation) -> dict[str, Attribute]:
    """The window properties of an op, with a window of extent 1 in the batch dimension."""
    names = ("window_dimensions", "window_strides", "base_dilations", "window_dilations")
    windows: dict[str, Attribute] = {name: int_array([1, *ints(op.properties[name])]) for name in names if name in op.properties}
    if "padding" in op.properties:
        edges = elements.to_numpy(cast("DenseIntOrFPElementsAttr[Any]", op.properties["padding"]))
        windows["padding"] = elements.from_numpy(np.concatenate([np.zeros((1, 2), np.int64), edges]))
    return windows


def _windowed(batch: Batching, op: Operation, inputs: Operands, initial: Operands, properties: dict[str, Attribute]) -> Results:
    """Emits an op whose last operands are unbatched initial values."""
    operands = [*(batch.broadcast(x) for x in inputs), *(x.value for x in initial)]
    regions = batch.regions(op)
    return batch.b.create(type(op), operands, [batch.type(r.type) for r in op.results], {**op.properties, **properties}, regions)
