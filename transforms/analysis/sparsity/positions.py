"""The positions of ops that read or write at computed places, as StableHLO's specification defines them, for indices that are known."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

Positions = np.ndarray[Any, np.dtype[np.int64]]
OUTSIDE = -1
"""The position of what is not in the operand."""


def flat(coordinates: Sequence[Any], extents: Sequence[int]) -> Positions:
    """Row-major positions of coordinates, which broadcast; OUTSIDE where one of them is out of bounds."""
    inside: Any = np.True_
    position: Any = np.int64(0)
    for coordinate, extent in zip(coordinates, extents, strict=True):
        inside = inside & (coordinate >= 0) & (coordinate < extent)
        position = position * extent + coordinate
    return np.where(inside, position, OUTSIDE)


def slice_positions(extents: Sequence[int], starts: Sequence[int], sizes: Sequence[int]) -> Positions:
    """``dynamic_slice``: the positions of the elements of a slice, clamped so that it fits; of the shape of the slice."""
    clamped = [min(max(int(start), 0), extent - size) for start, extent, size in zip(starts, extents, sizes, strict=True)]
    axes = np.ix_(*[np.arange(start, start + size) for start, size in zip(clamped, sizes, strict=True)]) if sizes else ()
    return np.broadcast_to(flat(axes, extents), tuple(sizes))


class Windowed:
    """The maps by which a gather or a scatter takes the dimensions of its indices and of its result (or updates) to those of its operand.

    Args:
        extents: of the operand.
        sizes: of the window in each dimension of the operand.
        offsets: the dimensions of the result that run through the window.
        collapsed: dimensions of the operand that the result has not.
        batching, index_batching: dimensions of the operand, and of the indices, that go together.
        start_map: which dimension of the operand each component of an index is for.
        vector: the dimension of the indices that holds the components.
        result: extents of the result.
    """

    def __init__(
        self,
        extents: Sequence[int],
        sizes: Sequence[int],
        offsets: Sequence[int],
        collapsed: Sequence[int],
        batching: Sequence[int],
        index_batching: Sequence[int],
        start_map: Sequence[int],
        vector: int,
        result: Sequence[int],
    ):
        self.extents, self.sizes, self.result, self.start_map = tuple(extents), tuple(sizes), tuple(result), tuple(start_map)
        window_dims = [d for d in range(len(extents)) if d not in collapsed and d not in batching]
        batch_dims = [d for d in range(len(result)) if d not in offsets]
        self.within = dict(zip(window_dims, offsets, strict=True))
        """The dimension of the result that runs through a dimension of the operand."""
        index_dims = [d for d in range(len(batch_dims) + 1) if d != vector][: len(batch_dims)]
        of_index = dict(zip(index_dims, batch_dims, strict=True))
        self.batches = batch_dims
        self.together = {d: of_index[index_dim] for d, index_dim in zip(batching, index_batching, strict=True)}
        """The dimension of the result that is the same as a batching dimension of the operand."""
        self.vector = vector

    def along(self, dimension: int) -> Any:
        """The number of an element in a dimension of the result, as an array that broadcasts."""
        extents = [1] * len(self.result)
        extents[dimension] = self.result[dimension]
        return np.arange(self.result[dimension]).reshape(extents)

    def positions(self, indices: Any, *, clamped: bool) -> Positions:
        """The position in the operand of each element of the result; starts are clamped (gather), or windows that do not fit are OUTSIDE (scatter)."""
        vectors = indices[..., None] if self.vector == indices.ndim else np.moveaxis(indices, self.vector, -1)
        vectors = vectors.astype(np.int64)
        shape = [1] * len(self.result)
        for d in self.batches:
            shape[d] = self.result[d]
        fits: Any = np.True_
        coordinates: list[Any] = [np.int64(0)] * len(self.extents)
        for d in range(len(self.extents)):
            if d in self.start_map:
                start = vectors[..., self.start_map.index(d)].reshape(shape)
                last = self.extents[d] - self.sizes[d]
                fits = fits & (start >= 0) & (start <= last)
                coordinates[d] = np.clip(start, 0, last) if clamped else start
            if d in self.together:
                coordinates[d] = coordinates[d] + self.along(self.together[d])
            if d in self.within:
                coordinates[d] = coordinates[d] + self.along(self.within[d])
        places = flat(coordinates, self.extents)
        return np.broadcast_to(places if clamped else np.where(fits, places, OUTSIDE), self.result)

    def moving(self) -> list[int]:
        """The dimensions of the operand in which the position depends on the indices: the window is smaller than they are."""
        return [d for d in range(len(self.extents)) if d in self.start_map and self.sizes[d] < self.extents[d]]


def window_positions(
    extents: Sequence[int],
    window: Sequence[int],
    strides: Sequence[int],
    base: Sequence[int],
    dilations: Sequence[int],
    low: Sequence[int],
    high: Sequence[int],
) -> Positions:
    """The positions of the elements of each window, OUTSIDE for those in the padding or between elements: ``[*windows, elements of a window]``."""
    rank = len(extents)
    coordinates: list[Any] = []
    counts: list[int] = []
    for d in range(rank):
        dilated = (extents[d] - 1) * base[d] + 1 if extents[d] else 0
        padded, reach = dilated + low[d] + high[d], (window[d] - 1) * dilations[d] + 1
        count = max(0, (padded - reach) // strides[d] + 1) if padded >= reach else 0
        places = np.arange(count)[:, None] * strides[d] + np.arange(window[d])[None, :] * dilations[d] - low[d]
        inside = (places >= 0) & (places < dilated) & (places % base[d] == 0)
        shape = [1] * (2 * rank)
        shape[d], shape[rank + d] = count, window[d]
        coordinates.append(np.where(inside, places // base[d], OUTSIDE).reshape(shape))
        counts.append(count)
    reached = np.broadcast_to(flat(coordinates, extents), (*counts, *window))
    return reached.reshape(*counts, prod(window))
