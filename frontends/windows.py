"""Windows over the last dimensions of an array, as pooling has them: their places, and how many elements each is over."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from wengert.dialects import core
from wengert.dialects.builder import OpBuilder, Value
from wengert.ir.tensor_types import shape


def window_count(n: int, kernel: int, stride: int, padding: int, dilation: int = 1, ceil_mode: bool = False) -> int:
    """The number of windows along a dimension of extent n; the last may reach beyond the end if ``ceil_mode``, but must not start there."""
    room = n + 2 * padding - dilation * (kernel - 1) - 1
    if not ceil_mode:
        return room // stride + 1
    count = -(-room // stride) + 1
    return count - ((count - 1) * stride >= n + padding)


@dataclass(frozen=True)
class Windows:
    """Windows over the dimensions that follow the first ``first``; all other attributes have an entry for each of these dimensions."""

    first: int
    input: Sequence[int]
    output: Sequence[int]
    kernel: Sequence[int]
    stride: Sequence[int]
    padding: Sequence[int]
    dilation: Sequence[int]

    def edges(self) -> list[tuple[int, int]]:
        """The padding at both ends of every dimension that makes as many windows as there are results."""
        needed = [(o - 1) * s + (k - 1) * d + 1 for o, s, k, d in zip(self.output, self.stride, self.kernel, self.dilation, strict=True)]
        return [(p, max(p, reach - n - p)) for p, reach, n in zip(self.padding, needed, self.input, strict=True)]

    def reduce(self, b: OpBuilder, kind: core.Kind, x: Value) -> Value:
        """All windows, each combined."""
        one = [1] * self.first
        padding = [(0, 0)] * self.first + self.edges()
        return b.window_reduce(kind, x, [*one, *self.kernel], [*one, *self.stride], [1] * len(shape(x)), [*one, *self.dilation], padding)

    def positions(self) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
        """For every window and every place in it, the position among all places of the input, or -1 in the padding: [outputs, places]."""
        columns: list[np.ndarray[tuple[int, ...], np.dtype[np.int64]]] = []
        for o, k, s, p, d in zip(self.output, self.kernel, self.stride, self.padding, self.dilation, strict=True):
            columns.append(np.arange(o)[:, None] * s - p + np.arange(k) * d)
        n = len(columns)
        positions, inside = np.zeros((1,) * (2 * n), np.int64), np.ones((1,) * (2 * n), bool)
        for i, (column, extent) in enumerate(zip(columns, self.input, strict=True)):
            wide = np.expand_dims(column, tuple(j for j in range(2 * n) if j not in (i, n + i)))
            positions, inside = positions * extent + wide, inside & (wide >= 0) & (wide < extent)
        return np.where(inside, positions, -1).reshape(math.prod(self.output), -1)

    def counts(self, padded: bool) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
        """The number of elements that a mean is over: those of the input, or those of the padded input."""
        counts = np.ones((), np.int64)
        for n, o, k, s, p in zip(self.input, self.output, self.kernel, self.stride, self.padding, strict=True):
            starts = np.arange(o) * s - p
            ends = np.minimum(starts + k, n + p)
            lengths = ends - starts if padded else np.minimum(ends, n) - np.maximum(starts, 0)
            counts = counts[..., None] * lengths
        return counts
