"""Pooling over windows, and over bins of any number."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from wengert.dialects import core
from wengert.dialects.builder import Value
from wengert.frontends.aten.builder import AtenBuilder
from wengert.frontends.aten.indexing import scattered
from wengert.frontends.aten.meanings import means
from wengert.frontends.aten.result_types.matrices import bins_and_positions, put_back
from wengert.frontends.aten.result_types.shapes import averages, bins, extremes
from wengert.frontends.aten.shape import part
from wengert.frontends.kinks import declared
from wengert.frontends.windows import Windows
from wengert.ir.tensor_types import dtype_of, element, i64, shape, tensor
from wengert.numpy import searching

Lengths = Sequence[int] | int


def _spatial(value: Lengths, n: int) -> list[int]:
    lengths = [value] if isinstance(value, int) else list(value)
    return lengths * n if len(lengths) == 1 else lengths


def _windows(b: AtenBuilder, x: Value, n: int, kernel: Lengths, stride: Lengths, padding: Lengths, dilation: Lengths = 1) -> Windows:
    """Windows over the last n dimensions. PyTorch has inferred how many there are, also where it rounds up (``ceil_mode``)."""
    first = len(shape(x)) - n
    extents = _spatial(kernel, n)
    steps = _spatial(stride, n) if isinstance(stride, int) or stride else extents
    return Windows(first, shape(x)[first:], b.extents[first:], extents, steps, _spatial(padding, n), _spatial(dilation, n))


# -- windows


def _max_pool(n: int) -> Callable[..., tuple[Value, Value | None]]:
    def meaning(
        b: AtenBuilder, x: Value, kernel: Lengths, stride: Lengths = (), padding: Lengths = 0, dilation: Lengths = 1, ceil_mode: bool = False
    ) -> tuple[Value, Value | None]:
        windows = _windows(b, x, n, kernel, stride, padding, dilation)
        return windows.reduce(b, core.Kind.max, x), _argmax_of_windows(b, x, windows, n) if 1 in b.used else None

    return meaning


def _argmax_of_windows(b: AtenBuilder, x: Value, windows: Windows, n: int) -> Value:
    """The position of the largest element of every window among all places of the input; the first one, and NaN before all numbers."""
    return _argmax_at(b, x, windows.positions(), windows.first, windows.output)


def _argmax_at(b: AtenBuilder, x: Value, places: np.ndarray[Any, np.dtype[Any]], first: int, output: Sequence[int]) -> Value:
    """The same for places [outputs, places of each] among those of all dimensions from the first one on; -1 is none."""
    outer = shape(x)[:first]
    flat = b.reshape(b.stopped(x), [*outer, math.prod(shape(x)[first:])])
    elements = b.by_numpy(searching.take, flat, np.maximum(places, 0), axis=len(outer))
    extents = shape(elements)
    inside = b.broadcast_in_dim(b.constant(places >= 0), [len(outer), len(outer) + 1], extents)
    chosen = b.argreduce(core.Extreme.max, b.select(inside, elements, b.full_like(elements, float("-inf"))), len(outer) + 1, i64)[1]
    table = b.broadcast_in_dim(b.constant(places), [len(outer), len(outer) + 1], extents)
    positions = b.by_numpy(searching.take_along_axis, table, b.reshape(chosen, [*shape(chosen), 1]), axis=len(outer) + 1)
    return b.reshape(positions, [*outer, *output])


def _unpool(n: int) -> Callable[..., Value]:
    def meaning(b: AtenBuilder, x: Value, positions: Value, *_: Any) -> Value:
        outer = b.extents[: len(b.extents) - n]
        rows = [math.prod(outer), math.prod(shape(x)[len(outer) :])]
        blank = b.full(0, tensor((rows[0], math.prod(b.extents[len(outer) :])), element(x)))
        places, x = b.reshape(positions, rows), b.reshape(x, rows)
        values = scattered(b, core.Kind.set, blank, 1, places, b.stopped(x))
        # Where two elements go to one place, each has the derivative of that place, as in PyTorch.
        change = scattered(b, core.Kind.add, blank, 1, places, declared(b, b.full_like(x, 0), (x, b.full_like(x, 1))))
        return b.reshape(b.add(values, change), b.extents)

    return meaning


means("max_unpool2d.default(self, indices, output_size)", results=put_back(2))(_unpool(2))
means("max_unpool3d.default(self, indices, output_size, stride, padding)", results=put_back(3))(_unpool(3))


means(
    "max_pool2d_with_indices.default(self, kernel_size, stride=[], padding=[0, 0], dilation=[1, 1], ceil_mode=False)",
    results=extremes(2),
)(_max_pool(2))
means("max_pool3d_with_indices.default(self, kernel_size, stride=[], padding=[0, 0, 0], dilation=[1, 1, 1], ceil_mode=False)", results=extremes(3))(
    _max_pool(3)
)


def _avg_pool(n: int) -> Callable[..., Value]:
    def meaning(
        b: AtenBuilder,
        x: Value,
        kernel: Lengths,
        stride: Lengths = (),
        padding: Lengths = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> Value:
        windows = _windows(b, x, n, kernel, stride, padding)
        total = windows.reduce(b, core.Kind.add, x)
        counts = windows.counts(count_include_pad) if divisor_override is None else np.full(windows.output, divisor_override)
        return b.divide(total, b.expanded(b.constant(counts.astype(dtype_of(element(x)))), b.extents))

    return meaning


means(
    "avg_pool1d.default(self, kernel_size, stride=[], padding=[0], ceil_mode=False, count_include_pad=True)",
    results=averages(1),
)(_avg_pool(1))
means("avg_pool2d.default(self, kernel_size, stride=[], padding=[0, 0], ceil_mode=False, count_include_pad=True, divisor_override=None)", results=averages(2))(
    _avg_pool(2)
)
means(
    "avg_pool3d.default(self, kernel_size, stride=[], padding=[0, 0, 0], ceil_mode=False, count_include_pad=True, divisor_override=None)", results=averages(3)
)(_avg_pool(3))


# -- bins: n elements in o bins, of which the i-th is [floor(i n / o), ceil((i + 1) n / o))


def _bins(n: int, o: int) -> list[tuple[int, int]]:
    return [(i * n // o, math.ceil((i + 1) * n / o)) for i in range(o)]


def _binned(b: AtenBuilder, x: Value, n: int, combine: Callable[[Value, int], Value]) -> Value:
    for d in range(len(shape(x)) - n, len(shape(x))):
        x = b.concatenate([combine(part(b, x, d, start, end), d) for start, end in _bins(shape(x)[d], b.extents[d])], d)
    return x


def _kept(extents: Sequence[int], d: int) -> list[int]:
    return [1 if i == d else n for i, n in enumerate(extents)]


def _adaptive_avg_pool(n: int) -> Callable[..., Value]:
    def meaning(b: AtenBuilder, x: Value, output: Sequence[int]) -> Value:
        return _binned(b, x, n, lambda piece, d: b.reshape(b.mean(piece, [d]), _kept(shape(piece), d)))

    return meaning


means("_adaptive_avg_pool2d.default(self, output_size)", results=bins(2))(_adaptive_avg_pool(2))
means("_adaptive_avg_pool3d.default(self, output_size)", results=bins(3))(_adaptive_avg_pool(3))
means("adaptive_avg_pool1d.default(self, output_size)", results=bins(1))(_adaptive_avg_pool(1))


def _places_of_bins(extents: Sequence[int], counts: Sequence[int]) -> np.ndarray[Any, np.dtype[Any]]:
    """The places of each bin among those of all dimensions, [bins, places of each], -1 where a bin is smaller than others."""
    flat = np.zeros((1, 1), np.int64)
    for n, o in zip(extents, counts, strict=True):
        parts = [list(range(*part)) for part in _bins(n, o)]
        longest = max(map(len, parts), default=0)
        own = np.array([part + [-1] * (longest - len(part)) for part in parts]).reshape(len(parts), longest)
        both = np.where((flat[:, None, :, None] >= 0) & (own[None, :, None] >= 0), flat[:, None, :, None] * n + own[None, :, None], -1)
        flat = both.reshape(flat.shape[0] * own.shape[0], flat.shape[1] * longest)
    return flat


def _adaptive_max_pool(n: int) -> Callable[..., tuple[Value, Value | None]]:
    def meaning(b: AtenBuilder, x: Value, output: Sequence[int]) -> tuple[Value, Value | None]:
        largest = _binned(b, x, n, lambda piece, d: b.reshape(b.reduce(core.Kind.max, piece, [d]), _kept(shape(piece), d)))
        if 1 not in b.used:
            return largest, None
        first = len(shape(x)) - n
        counts = b.extents[first:]
        return largest, _argmax_at(b, x, _places_of_bins(shape(x)[first:], counts), first, counts)

    return meaning


means("adaptive_max_pool2d.default(self, output_size)", results=bins_and_positions(2))(_adaptive_max_pool(2))
means("adaptive_max_pool3d.default(self, output_size)", results=bins_and_positions(3))(_adaptive_max_pool(3))
