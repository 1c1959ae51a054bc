"""Reading the elements at some places of a vector: slices and transpositions, which can be fused, where the places go in even steps; a gather where they do
not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from msgspec import Struct
from xdsl.ir import Attribute

from wengert.dialects.builder import OpBuilder, Value
from wengert.dialects.stablehlo.attributes import GatherDimensionNumbersAttr, dimensions
from wengert.ir.attributes import int_attr
from wengert.ir.tensor_types import dtype_of, shape_of_type, size, tensor

Places = np.ndarray[Any, np.dtype[np.int64]]

READ = GatherDimensionNumbersAttr(dimensions(()), dimensions((0,)), dimensions(()), dimensions(()), dimensions((0,)), int_attr(1))
"""Single elements of a vector."""
MOST_LOOPS = 4
"""Places that take more loops around each other are gathered."""


class Steps(Struct, frozen=True):
    """Places as loops around each other, the outermost first: ``base + sum(stride * number of the iteration)``."""

    base: int
    extents: tuple[int, ...]
    strides: tuple[int, ...]


def steps_of(places: Places) -> Steps | None:
    """The loops that go through the places in their order; None if there are none, or too many."""
    rest, loops = places, list[tuple[int, int]]()
    while len(rest) > 1:
        distances = np.diff(rest)
        step = int(distances[0])
        breaks = np.flatnonzero(distances != step)
        run = int(breaks[0]) + 1 if len(breaks) else len(rest)
        if len(rest) % run or len(loops) == MOST_LOOPS:
            return None
        table = rest.reshape(-1, run)
        if not np.array_equal(table - table[:, :1], np.broadcast_to(np.arange(run) * step, table.shape)):
            return None
        loops.append((run, step))
        rest = table[:, 0]
    if not len(rest):
        return None
    loops.reverse()
    return Steps(int(rest[0]), tuple(run for run, _ in loops), tuple(step for _, step in loops))


def read(b: OpBuilder, source: Value, places: Places) -> Value:
    """The elements of a vector at these places, in their order, as a vector."""
    steps = steps_of(places)
    value = None if steps is None else _sliced(b, source, steps)
    return b.gather(source, b.constant(places[:, None]), READ, [1], [len(places)]) if value is None else value


def numbers(b: OpBuilder, places: Places, element_type: Attribute) -> Value:
    """The places themselves, as integers: computed where they go in even steps."""
    steps = steps_of(places)
    if steps is None:
        return b.constant(places.astype(dtype_of(element_type)))
    type = tensor(steps.extents, element_type)
    total = b.full(steps.base, type)
    for d, stride in enumerate(steps.strides):
        if stride:
            total = b.add(total, b.multiply(b.iota(d, type), b.full(stride, type)))
    return b.reshape(total, [len(places)])


def _sliced(b: OpBuilder, source: Value, steps: Steps) -> Value | None:
    """The elements that loops go through, if each loop stays within a step of the loop around it, as in a part of a transposed tensor."""
    moving = [d for d, stride in enumerate(steps.strides) if stride]
    if len(moving) == 1 and len(steps.strides) == 1 and steps.strides[0] > 0:
        return b.slice(source, [steps.base], [steps.base + steps.strides[0] * (steps.extents[0] - 1) + 1], [steps.strides[0]])
    order = sorted(moving, key=lambda d: -steps.strides[d])
    corner = _corner(size(source), steps, order)
    if corner is None:
        return None
    extents, starts = corner
    limits = [start + steps.extents[d] for start, d in zip(starts, order, strict=False)] + [start + 1 for start in starts[len(order) :]]
    value = b.slice(b.reshape(source, extents), starts, limits)
    value = b.reshape(value, [steps.extents[d] for d in order])
    value = b.transpose(value, [order.index(d) for d in moving])
    value = b.broadcast_in_dim(value, moving, steps.extents)
    return b.reshape(value, [int(np.prod(steps.extents, dtype=np.int64))])


def _corner(length: int, steps: Steps, order: Sequence[int]) -> tuple[list[int], list[int]] | None:
    """The extents of the tensor that the vector is seen as, one for each moving loop from the widest step on, and where the loops begin in it."""
    extents, starts, outer, rest = list[int](), list[int](), length, steps.base
    for d in order:
        stride = steps.strides[d]
        if stride <= 0 or outer % stride:
            return None
        extents.append(outer // stride)
        starts.append(rest // stride)
        if starts[-1] + steps.extents[d] > extents[-1]:
            return None
        outer, rest = stride, rest % stride
    if outer > 1:
        extents.append(outer)
        starts.append(rest)
    return extents, starts


def side_by_side(b: OpBuilder, columns: Sequence[Value], height: int) -> Value:
    """Vectors of ``height`` rows each, side by side, as one vector, row by row."""
    if len(columns) == 1:
        return columns[0]
    parts = [b.reshape(part, [height, size(part) // height]) for part in columns]
    joined = b.concatenate(parts, 1)
    return b.reshape(joined, [int(np.prod(shape_of_type(joined.type)))])  # pyright: ignore[reportArgumentType]
