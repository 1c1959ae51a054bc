"""``at(x)[index].set(y)``: arrays with some elements replaced; of traced arrays also ``x.at[index]``, and ``x[index] = y`` in place.

Indices that are out of range are moved to the nearest element, as when they are read. Where one element is named twice, ``add``
and its like count both, and which one ``set`` leaves is not said. A traced mask is an index here (:mod:`wengert.numpy.masked_updates`).
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from wengert.dialects import core
from wengert.dialects.stablehlo import attributes as sa
from wengert.frontends.tracing.context import active_trace
from wengert.frontends.tracing.errors import type_error, value_error
from wengert.frontends.tracing.operands import broadcast, builder, is_traced, shape_of, traced, value_of
from wengert.frontends.tracing.tracer import TracedArray
from wengert.ir.attributes import int_attr
from wengert.numpy.dispatch import Array, ArrayLike


def at(x: ArrayLike, /) -> Updater:
    """``at(x)[index].set(y)`` is ``x`` with some elements replaced; also add, multiply, min, max. ``x`` and ``y`` may be traced or not."""
    return Updater(x)


def change_in_place(x: TracedArray, key: Any, y: ArrayLike) -> None:
    """``x[key] = y``: the array takes the value of ``x.at[key].set(y)``.

    Raises:
        TracedTypeError: ``x`` is an argument of a traced function (its caller's array would not change), or belongs to a function around this one.
    """
    if not x.owned or x.trace is not active_trace():
        what = "an array of the function around this one" if x.owned else "an argument of a traced function"
        raise type_error(f"{what} cannot be changed in place", "write x = x.at[index].set(value), or change a copy: x = x.copy()")
    x.become(value_of(at(x)[key].set(y)))


class Updater:
    """``x.at``: wants an index."""

    __slots__ = ("_x",)

    def __init__(self, x: Any):
        self._x = x

    def __getitem__(self, key: Any) -> Update:
        return Update(self._x, key)


class Update:
    """``x.at[key]``: what can be done to these elements."""

    __slots__ = ("_key", "_x")

    def __init__(self, x: Any, key: Any):
        self._x = x
        self._key = key

    def get(self) -> Array:
        """The elements."""
        return self._x[self._key]

    def set(self, y: ArrayLike) -> Array:
        """The array with these elements replaced by ``y``, which is broadcast."""
        return _updated(self._x, self._key, y, core.Kind.set)

    def add(self, y: ArrayLike) -> Array:
        """The array with ``y`` added to these elements."""
        return _updated(self._x, self._key, y, core.Kind.add)

    def multiply(self, y: ArrayLike) -> Array:
        """The array with these elements multiplied by ``y``."""
        return _updated(self._x, self._key, y, core.Kind.mul)

    def min(self, y: ArrayLike) -> Array:
        """The array with the smaller of these elements and ``y``."""
        return _updated(self._x, self._key, y, core.Kind.min)

    def max(self, y: ArrayLike) -> Array:
        """The array with the larger of these elements and ``y``."""
        return _updated(self._x, self._key, y, core.Kind.max)


def _updated(x: ArrayLike, key: Any, y: ArrayLike, kind: core.Kind) -> Array:
    from wengert.numpy.masked_updates import has_traced_mask, masked_update
    from wengert.numpy.subscripts import parse, scalar_starts

    if not is_traced(x, y, *(key if isinstance(key, tuple) else [key])):  # pyright: ignore[reportUnknownArgumentType]
        copy = np.array(x)
        _IN_PLACE[kind](copy, key, y)
        return copy
    if not isinstance(x, TracedArray):
        x = traced(value_of(x))
    if has_traced_mask(key):
        return masked_update(x, key, y, kind)
    asked = parse(x.shape, key)
    plain = all(step == 1 for _, _, step in asked.slices) and all(len(shape_of(i)) == 0 for i in asked.indices.values())
    if plain and kind is core.Kind.set:
        window = [1 if d in asked.indices else asked.slices[d][1] for d in range(x.ndim)]
        shown = [1 if item == "new" else window[d] for item, d in asked.items if item != "index"]
        part = builder().reshape(_fitted(x, y, shown), window)
        return traced(builder().dynamic_update_slice(value_of(x), part, scalar_starts(asked, x.shape)))
    return _scattered(x, key, y, kind)


def _set(x: Any, key: Any, y: Any) -> None:
    x[key] = y


_IN_PLACE: dict[core.Kind, Any] = {
    core.Kind.set: _set,
    core.Kind.add: np.add.at,
    core.Kind.mul: np.multiply.at,
    core.Kind.min: np.minimum.at,
    core.Kind.max: np.maximum.at,
}
"""NumPy's functions that update an array in place."""


def _scattered(x: TracedArray, key: Any, y: ArrayLike, kind: core.Kind) -> Array:
    """By flat positions, which are what indexing an array of positions gives."""
    from wengert.numpy.subscripts import subscript

    b, size = builder(), prod(x.shape)
    positions = subscript(_positions(x.shape), key)
    updates = b.reshape(_fitted(x, y, positions.shape), [positions.size])
    indices = b.reshape(value_of(positions), [positions.size, 1])
    numbers = sa.ScatterDimensionNumbersAttr(sa.dimensions(()), sa.dimensions((0,)), sa.dimensions(()), sa.dimensions(()), sa.dimensions((0,)), int_attr(1))
    return traced(b.reshape(b.scatter(kind, b.reshape(value_of(x), [size]), indices, updates, numbers), x.shape))


def _positions(extents: tuple[int, ...]) -> TracedArray:
    return traced(value_of(np.arange(prod(extents), dtype=np.int64).reshape(extents)))


def _fitted(x: TracedArray, y: ArrayLike, extents: Any) -> Any:
    """``y`` as a value of x's dtype and the shape of the elements."""
    value = value_of(y, x.dtype)
    own = tuple(shape_of(y))
    while len(own) > len(extents) and own[0] == 1:
        own = own[1:]
    if len(own) > len(extents) or any(n not in (1, m) for n, m in zip(own[::-1], tuple(extents)[::-1], strict=False)):
        raise value_error(f"elements of shape {tuple(extents)} cannot be updated with an array of shape {shape_of(y)}")
    return broadcast(builder().reshape(value, own), extents)
