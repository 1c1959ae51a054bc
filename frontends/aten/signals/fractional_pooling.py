"""Pooling over windows whose beginnings are drawn at random (B. Graham, "Fractional max-pooling", 2014)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Any

from xdsl.dialects.builtin import TensorType

from wengert.dialects import core
from wengert.dialects.builder import Value
from wengert.frontends.aten.builder import AtenBuilder
from wengert.frontends.aten.meanings import means
from wengert.ir.tensor_types import element, i64, shape, tensor
from wengert.numpy import searching


def drawn(n: int) -> Callable[[Mapping[str, Any]], tuple[TensorType[Any], ...]]:
    """An element and its position for each of the windows that are asked for."""

    def rule(given: Mapping[str, Any]) -> tuple[TensorType[Any], ...]:
        x, asked = given["self"], given["output_size"]
        extents = (*shape(x)[: len(shape(x)) - n], *([asked] * n if isinstance(asked, int) else asked))
        return tensor(extents, element(x)), tensor(extents, i64)

    return rule


def _beginnings(b: AtenBuilder, sample: Value, n: int, windows: int, length: int) -> Value:
    """Where windows of this length among n elements begin, [..., windows], for random numbers [...]: the last one ends with the elements."""
    extents = (*shape(sample), windows)
    if windows == 1:
        return b.full(n - length, tensor(extents, i64))
    step = (n - length) / (windows - 1)
    wide = b.broadcast_in_dim(sample, list(range(len(shape(sample)))), extents)
    place = b.iota(len(extents) - 1, tensor(extents, i64))
    scaled = b.multiply(b.add(b.convert(place, element(sample)), wide), b.full_like(wide, step))
    begin = b.subtract(b.convert(scaled, i64), b.convert(b.multiply(wide, b.full_like(wide, step)), i64))
    return b.select(b.compare("EQ", place, b.full_like(place, windows - 1)), b.full_like(begin, n - length), begin)


def _pooled(n: int) -> Callable[..., tuple[Value, Value]]:
    def meaning(b: AtenBuilder, x: Value, kernel: Sequence[int] | int, output: Sequence[int] | int, samples: Value) -> tuple[Value, Value]:
        lengths = [kernel] * n if isinstance(kernel, int) else list(kernel)
        counts = b.extents[len(b.extents) - n :]
        spatial, outer = shape(x)[len(shape(x)) - n :], shape(x)[: len(shape(x)) - n]
        rows, windows, window = prod(outer), prod(counts), prod(lengths)
        drawn = b.reshape(b.stopped(samples), [rows, n])
        extents = (rows, *counts, *lengths)
        flat = b.full(0, tensor(extents, i64))
        for d in range(n):
            # Of two dimensions, PyTorch draws for the last one first.
            number = n - 1 - d if n == 2 else d
            sample = b.reshape(b.slice(drawn, [0, number], [rows, number + 1]), [rows])
            begin = _beginnings(b, sample, spatial[d], counts[d], lengths[d])
            place = b.add(b.broadcast_in_dim(begin, [0, 1 + d], extents), b.iota(1 + n + d, tensor(extents, i64)))
            flat = b.add(b.multiply(flat, b.full_like(flat, spatial[d])), place)
        places = b.reshape(flat, [rows, windows * window])
        elements = b.reshape(x, [rows, prod(spatial)])
        read = b.reshape(b.by_numpy(searching.take_along_axis, b.stopped(elements), places, axis=1), [rows, windows, window])
        chosen = b.argreduce(core.Extreme.max, read, 2, i64)[1]
        of_windows = b.reshape(places, [rows, windows, window])
        positions = b.reshape(b.by_numpy(searching.take_along_axis, of_windows, b.reshape(chosen, [rows, windows, 1]), axis=2), [rows, windows])
        largest = b.by_numpy(searching.take_along_axis, elements, positions, axis=1)
        return b.reshape(largest, b.extents), b.reshape(positions, b.extents)

    return meaning


for _n in (2, 3):
    means(f"fractional_max_pool{_n}d.default(self, kernel_size, output_size, random_samples)", results=drawn(_n))(_pooled(_n))
