"""Blocks of split values: which block of a whole tensor each device has, and the whole tensor of the blocks.

A block along several axes of a mesh is numbered with the first axis outermost, as Shardy and JAX's ``PartitionSpec`` have it.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import prod

import numpy as np

from wengert.dialects.builder import OpBuilder, Value
from wengert.dialects.sdy_shardings import Mesh, Spec
from wengert.dialects.stablehlo.attributes import GatherDimensionNumbersAttr, dimensions
from wengert.dialects.stablehlo.process_groups import Group
from wengert.ir.attributes import int_attr
from wengert.ir.tensor_types import shape

_ROWS = GatherDimensionNumbersAttr


def along(spec: Spec, axes: Sequence[str]) -> Spec:
    """The spec with only these axes of the mesh."""
    return tuple(tuple(axis for axis in split if axis.name in axes) for split in spec)


def parts(spec: Spec, mesh: Mesh) -> tuple[int, ...]:
    """The number of blocks along each dimension."""
    return tuple(mesh.extents(split) for split in spec)


def places(spec: Spec, mesh: Mesh) -> list[tuple[int, ...]]:
    """The place of each device's block along each dimension, by the numbers of the devices."""
    return [tuple(mesh.index(split, place) for split in spec) for place in mesh.positions()]


def holders(spec: Spec, mesh: Mesh) -> list[Group]:
    """The devices that have the same block, block by block in row-major order."""
    by_place: dict[tuple[int, ...], list[int]] = {}
    for device, place in enumerate(places(spec, mesh)):
        by_place.setdefault(place, []).append(device)
    return [tuple(by_place[place]) for place in product(*(range(n) for n in parts(spec, mesh)))]


def replicas(spec: Spec, mesh: Mesh) -> int:
    """The number of devices that have the same block."""
    return mesh.size // prod(parts(spec, mesh))


def slices(extents: Sequence[int], spec: Spec, mesh: Mesh) -> list[tuple[slice, ...]]:
    """The block of each device in a whole array of these extents."""
    counts = parts(spec, mesh)
    sizes = [n // count for n, count in zip(extents, counts, strict=True)]
    return [tuple(slice(at * n, (at + 1) * n) for at, n in zip(place, sizes, strict=True)) for place in places(spec, mesh)]


# -- blocks of all devices together, in the IR


def rows(b: OpBuilder, x: Value, numbers: Sequence[int]) -> Value:
    """Rows of x along its first dimension."""
    if list(numbers) == list(range(shape(x)[0])):
        return x
    rest = shape(x)[1:]
    offsets = dimensions(range(1, len(rest) + 1))
    where = _ROWS(offsets, dimensions((0,)), dimensions(()), dimensions(()), dimensions((0,)), int_attr(1))
    indices = b.constant(np.array(numbers, np.int64).reshape(-1, 1))
    return b.gather(x, indices, where, [1, *rest], [len(numbers), *rest])


def blocks_of_all(b: OpBuilder, whole: Value, spec: Spec, mesh: Mesh) -> Value:
    """The blocks of all devices of a whole tensor, ``[n, *block]``."""
    counts = parts(spec, mesh)
    split = [size for n, count in zip(shape(whole), counts, strict=True) for size in (count, n // count)]
    order = [*range(0, len(split), 2), *range(1, len(split), 2)]
    blocks = b.transpose(b.reshape(whole, split), order)
    flat = b.reshape(blocks, [prod(counts), *(split[d] for d in range(1, len(split), 2))])
    numbers = [int(np.ravel_multi_index(place, counts)) if counts else 0 for place in places(spec, mesh)]
    return rows(b, flat, numbers)


def whole_of_blocks(b: OpBuilder, blocks: Value, spec: Spec, mesh: Mesh) -> Value:
    """The whole tensor of the blocks ``[n, *block]`` of all devices; of devices with the same block, the first one's."""
    counts, extents = parts(spec, mesh), shape(blocks)[1:]
    chosen = b.reshape(rows(b, blocks, [group[0] for group in holders(spec, mesh)]), [*counts, *extents])
    rank = len(extents)
    mixed = b.transpose(chosen, [d for pair in zip(range(rank), range(rank, 2 * rank), strict=True) for d in pair])
    return b.reshape(mixed, [count * n for count, n in zip(counts, extents, strict=True)])
