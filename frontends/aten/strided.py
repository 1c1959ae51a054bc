"""``as_strided``: elements at distances in memory, read from the elements of a tensor by its own layout."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from xdsl.dialects.builtin import TensorType

from wengert.dialects import core
from wengert.dialects.builder import Value
from wengert.frontends.aten.builder import AtenBuilder
from wengert.frontends.aten.indexing import scattered
from wengert.frontends.aten.meanings import means
from wengert.frontends.aten.ordering import taken
from wengert.frontends.aten.result_types.rules import same
from wengert.ir.tensor_types import element, i64, shape, size, tensor


def contiguous(extents: Sequence[int]) -> list[int]:
    """The strides of a tensor in row-major order."""
    strides, step = [0] * len(extents), 1
    for d in reversed(range(len(extents))):
        strides[d] = step
        step *= max(extents[d], 1)
    return strides


def strided(given: Mapping[str, Any]) -> tuple[TensorType[Any]]:
    """The extents that are asked for."""
    return (tensor(tuple(given["size"]), element(given["self"])),)


@means("as_strided.default(self, size, stride, storage_offset=None)", "as_strided_copy.default(self, size, stride, storage_offset=None)", results=strided)
def as_strided(b: AtenBuilder, x: Value, extents: Sequence[int], strides: Sequence[int], offset: int | None = None) -> Value:
    """The element at (i, j, ...) is the one at offset + i strides[0] + j strides[1] + ... in memory. Places that overlap are one element."""
    memory = _memory(b, x, _own_strides(b, x))
    first = _first(b, memory, extents, strides, offset)
    if 0 in extents:
        return b.zeros(b.type)
    kept = sorted((d for d, n in enumerate(extents) if n > 1 and strides[d]), key=lambda d: -strides[d])
    inner = _nested(b, memory, first, [extents[d] for d in kept], [strides[d] for d in kept])
    if inner is None:
        inner = _gathered(b, memory, first, [extents[d] for d in kept], [strides[d] for d in kept])
    placed = b.transpose(inner, [kept.index(d) for d in sorted(kept)])
    return b.broadcast_in_dim(placed, sorted(kept), b.extents)


@means("as_strided_scatter.default(self, src, size, stride, storage_offset=None)", results=same)
def as_strided_scatter(b: AtenBuilder, x: Value, source: Value, extents: Sequence[int], strides: Sequence[int], offset: int | None = None) -> Value:
    """x with the elements that ``as_strided`` reads replaced; which of several is written to one place is not defined."""
    order = _order(b, x, _own_strides(b, x))
    memory = _memory(b, x, _own_strides(b, x))
    first = _first(b, memory, extents, strides, offset)
    if 0 in extents:
        return x
    places = _places(b, first, extents, strides)
    flat = scattered(b, core.Kind.set, memory, 0, b.reshape(places, [size(places)]), b.reshape(b.convert(source, element(x)), [size(places)]))
    turned = b.reshape(flat, [shape(x)[d] for d in order])
    return b.transpose(turned, [order.index(d) for d in range(len(order))])


def _own_strides(b: AtenBuilder, x: Value) -> Sequence[int]:
    return contiguous(shape(x)) if b.layout is None else b.layout[0]


def _first(b: AtenBuilder, memory: Value, extents: Sequence[int], strides: Sequence[int], offset: int | None) -> int:
    """The place in memory of the first element that is read, which is checked with the last one."""
    start = 0 if b.layout is None else b.layout[1]
    first = (start if offset is None else offset) - start
    last = first + sum((n - 1) * step for n, step in zip(extents, strides, strict=True))
    if 0 not in extents and not 0 <= first <= last < size(memory):
        raise b.refuse("as_strided reaches memory outside of the tensor", "call it on the tensor that owns the memory")
    return first


def _order(b: AtenBuilder, x: Value, strides: Sequence[int]) -> list[int]:
    """The dimensions from the one with the largest steps in memory to the one with the smallest."""
    extents = shape(x)
    order = sorted(range(len(extents)), key=lambda d: (-strides[d], -extents[d]))
    turned = [extents[d] for d in order]
    if any(strides[d] != step for d, step, n in zip(order, contiguous(turned), turned, strict=True) if n > 1):
        raise b.refuse("as_strided of a tensor with gaps or repeated elements in memory has no translation", "call it on the tensor that owns the memory")
    return order


def _memory(b: AtenBuilder, x: Value, strides: Sequence[int]) -> Value:
    """The elements of a tensor in the order of memory, from its first one on."""
    return b.reshape(b.transpose(x, _order(b, x, strides)), [size(x)])


def _nested(b: AtenBuilder, memory: Value, first: int, extents: Sequence[int], strides: Sequence[int]) -> Value | None:
    """The elements as slices of reshapes, where steps of one dimension reach beyond all of the next one; None where they overlap or interleave."""
    if any(strides[i] < extents[i + 1] * strides[i + 1] for i in range(len(extents) - 1)):
        return None
    x = memory
    wanted = extents[0] * strides[0] if extents else 1
    if first + wanted > size(memory):
        x = b.pad(memory, b.scalar(0, element(memory)), [0], [first + wanted - size(memory)])
    x = b.slice(x, [first], [first + wanted])
    for i, (n, step) in enumerate(zip(extents, strides, strict=True)):
        x = b.reshape(x, [*extents[:i], n, step])
        part = extents[i + 1] * strides[i + 1] if i + 1 < len(extents) else 1
        x = b.slice(x, [0] * (i + 2), [*extents[: i + 1], part])
    return b.reshape(x, list(extents))


def _places(b: AtenBuilder, first: int, extents: Sequence[int], strides: Sequence[int]) -> Value:
    """The place in memory of every element."""
    type = tensor(tuple(extents), i64)
    places = b.full(first, type)
    for d, step in enumerate(strides):
        places = b.add(places, b.multiply(b.iota(d, type), b.full(step, type)))
    return places


def _gathered(b: AtenBuilder, memory: Value, first: int, extents: Sequence[int], strides: Sequence[int]) -> Value:
    places = _places(b, first, extents, strides)
    return b.reshape(taken(b, memory, b.reshape(places, [size(places)]), 0), list(extents))
