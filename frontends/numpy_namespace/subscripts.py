"""``x[...]`` of a traced array: slices, integers, ellipsis and new axes, integer arrays, boolean masks that are concrete.

Slices are static. An integer or an integer array may be traced; then a negative one counts from the end, and one that is out of
range is moved to the nearest element, as StableHLO's gather does it. A concrete one that is out of range is an IndexError.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from wengert.dialects.builder import Value
from wengert.dialects.stablehlo import attributes as sa
from wengert.frontends.tracing.errors import index_error, type_error
from wengert.frontends.tracing.operands import broadcast, builder, common_shape, traced, value_of
from wengert.frontends.tracing.tracer import TracedArray
from wengert.ir.attributes import int_attr
from wengert.ir.tensor_types import shape
from wengert.numpy.dispatch import Array


@dataclass
class Subscript:
    """A subscript by dimension, after ellipsis and new axes are resolved.

    Attributes:
        slices: (start, count, step) of each dimension; the whole dimension where there is an index.
        indices: integer arrays by dimension (concrete or traced).
        items: for each dimension of the result in the order written: "slice", "index" or "new", with the dimension.
    """

    slices: list[tuple[int, int, int]]
    indices: dict[int, Any]
    items: list[tuple[str, int]]


def subscript(x: Any, key: Any) -> Array:
    """``x[key]`` for a traced array or a traced key."""
    extents = x.shape
    asked = parse(extents, key)
    value = _sliced(value_of(x), asked.slices)
    if not asked.indices:
        return traced(builder().reshape(value, _with_new_axes(asked, shape(value)))).viewing(x)
    if all(not isinstance(i, TracedArray) and i.ndim == 0 for i in asked.indices.values()):
        return traced(_static_scalars(value, asked)).viewing(x)
    if all(len(getattr(i, "shape", ())) == 0 for i in asked.indices.values()):
        return traced(_dynamic_scalars(value, asked))
    return traced(_gathered(value, asked))


def parse(extents: Sequence[int], key: Any) -> Subscript:
    """Parses a subscript of an array of this shape; raises TracedIndexError and TracedTypeError."""
    keys = _resolve_masks([*key] if isinstance(key, tuple) else [key], extents)  # pyright: ignore[reportUnknownArgumentType]
    used = sum(k is not None and k is not Ellipsis for k in keys)
    if used > len(extents):
        raise index_error(f"an array of {len(extents)} dimensions has no {used} indices")
    if sum(k is Ellipsis for k in keys) > 1:
        raise index_error("a subscript can have one ellipsis")
    if Ellipsis not in [k if k is Ellipsis else 0 for k in keys]:
        keys.append(Ellipsis)
    at = next(i for i, k in enumerate(keys) if k is Ellipsis)
    keys[at : at + 1] = [slice(None)] * (len(extents) - used)
    subscript = Subscript([(0, n, 1) for n in extents], {}, [])
    d = 0
    for k in keys:
        if k is None:
            subscript.items.append(("new", -1))
            continue
        if isinstance(k, slice):
            subscript.slices[d] = _slice(k, extents[d])  # pyright: ignore[reportUnknownArgumentType]
            subscript.items.append(("slice", d))
        else:
            subscript.indices[d] = _index(k, d, extents[d])
            subscript.items.append(("index", d))
        d += 1
    return subscript


def _resolve_masks(keys: list[Any], extents: Sequence[int]) -> list[Any]:
    """Boolean masks as the positions where they hold."""
    from wengert.numpy.creation import asarray

    resolved: list[Any] = []
    keys = [asarray(k) if isinstance(k, list) else k for k in keys]
    used = sum(_dimensions(k) for k in keys)
    d = 0
    for k in keys:
        if isinstance(k, TracedArray) and k.dtype.kind == "b":
            raise type_error(
                "the shape of x[mask] depends on the elements of a traced mask",
                "write wengert.numpy.where(mask, x, 0), or multiply by the mask; x.at[mask].set(y) takes one",
            )
        if isinstance(k, bool | np.bool_):
            raise type_error("a boolean is no index while a function is traced", "use wengert.numpy.where")
        if isinstance(k, np.ndarray) and k.dtype.kind == "b":  # pyright: ignore[reportUnknownMemberType]
            mask = cast("np.ndarray[Any, Any]", k)
            seen = tuple(extents[d : d + mask.ndim])
            if mask.shape != seen:
                raise index_error(f"a mask of shape {list(mask.shape)} is no index of dimensions of extents {list(seen)}")
            resolved += list(np.nonzero(mask))
        else:
            resolved.append(k)
        d = len(extents) - used + d if k is Ellipsis else d + _dimensions(k)
    return resolved


def _dimensions(k: Any) -> int:
    """How many dimensions of the array a part of a subscript stands for."""
    if k is None or k is Ellipsis:
        return 0
    return k.ndim if isinstance(k, np.ndarray) and k.dtype.kind == "b" else 1  # pyright: ignore[reportUnknownMemberType]


def _slice(given: slice, extent: int) -> tuple[int, int, int]:
    for part in (given.start, given.stop, given.step):
        if isinstance(part, TracedArray):
            raise type_error(
                f"the bounds of a slice must be known, found {part!r}",
                "take a window of fixed size: x[start + wengert.numpy.arange(size)], or make the bound a static argument",
            )
    start, stop, step = given.indices(extent)
    return start, len(range(start, stop, step)), step


def _index(given: Any, dimension: int, extent: int) -> Any:
    if isinstance(given, TracedArray):
        if given.dtype.kind not in "iu":
            raise type_error(f"an index must be of an integer dtype, found {given!r}")
        return given
    array = np.asarray(given)
    if array.dtype.kind not in "iu" and array.size:
        raise type_error(f"an index must be an integer, a slice, an ellipsis, None or an integer array, found {given!r}")
    array = array.astype(np.int64)
    if array.size and not (-extent <= int(array.min()) and int(array.max()) < extent):
        raise index_error(f"index {given} is out of range for dimension {dimension} of extent {extent}")
    return np.where(array < 0, array + extent, array)


def _sliced(value: Value, slices: list[tuple[int, int, int]]) -> Value:
    b = builder()
    backwards = [d for d, (_, _, step) in enumerate(slices) if step < 0]
    starts, limits, steps = list[int](), list[int](), list[int]()
    for start, count, step in slices:
        first = start if step > 0 else start + (count - 1) * step
        starts.append(first if count else 0)
        limits.append(first + (count - 1) * abs(step) + 1 if count else 0)
        steps.append(abs(step))
    if starts != [0] * len(slices) or limits != list(shape(value)) or steps != [1] * len(slices):
        value = b.slice(value, starts, limits, steps)
    return b.reverse(value, backwards) if backwards else value


def _with_new_axes(asked: Subscript, extents: Sequence[int]) -> list[int]:
    """The shape of what was sliced, without indexed dimensions and with new ones."""
    return [1 if kind == "new" else extents[d] for kind, d in asked.items if kind != "index"]


def _static_scalars(value: Value, asked: Subscript) -> Value:
    extents = shape(value)
    starts = [int(asked.indices[d]) if d in asked.indices else 0 for d in range(len(extents))]
    limits = [starts[d] + 1 if d in asked.indices else n for d, n in enumerate(extents)]
    return builder().reshape(builder().slice(value, starts, limits), _with_new_axes(asked, extents))


def scalar_starts(asked: Subscript, extents: Sequence[int]) -> list[Value]:
    """One start index for each dimension, where all indices are scalars; slices begin where they begin."""
    dtype = np.dtype(np.int64)
    return [
        value_of(wrapped(asked.indices[d], n), dtype) if d in asked.indices else value_of(np.asarray(asked.slices[d][0], dtype)) for d, n in enumerate(extents)
    ]


def wrapped(index: Any, extent: int) -> Any:
    """An index with negative ones counted from the end."""
    if not isinstance(index, TracedArray):
        return index
    from wengert.numpy.comparisons import where
    from wengert.numpy.dtypes import astype

    index = astype(index, np.int64)
    return where(index < 0, index + extent, index)


def _dynamic_scalars(value: Value, asked: Subscript) -> Value:
    extents = shape(value)
    whole = Subscript([(0, n, 1) for n in extents], asked.indices, asked.items)
    sizes = [1 if d in asked.indices else n for d, n in enumerate(extents)]
    return builder().reshape(builder().dynamic_slice(value, scalar_starts(whole, extents), sizes), _with_new_axes(asked, extents))


def _gathered(value: Value, asked: Subscript) -> Value:
    b, extents = builder(), shape(value)
    dims = sorted(asked.indices)
    arrays = [wrapped(asked.indices[d], extents[d]) for d in dims]
    common = common_shape(*arrays)
    columns = [broadcast(value_of(a, np.dtype(np.int64)), common) for a in arrays]
    starts = b.concatenate([b.reshape(c, [*common, 1]) for c in columns], len(common))
    # Arrays that stand side by side leave their dimensions where they stood; others put them first (NumPy's rule).
    kinds = [kind for kind, _ in asked.items]
    places = [i for i, kind in enumerate(kinds) if kind == "index"]
    together = places == list(range(places[0], places[-1] + 1))
    kept = [d for d in range(len(extents)) if d not in asked.indices]
    before = sum(kind == "slice" for kind in kinds[: places[0]]) if together else 0
    offsets = [i if i < before else i + len(common) for i in range(len(kept))]
    numbers = sa.GatherDimensionNumbersAttr(
        sa.dimensions(offsets), sa.dimensions(dims), sa.dimensions(()), sa.dimensions(()), sa.dimensions(dims), int_attr(len(common))
    )
    sizes = [1 if d in asked.indices else n for d, n in enumerate(extents)]
    inner = [extents[d] for d in kept]
    slices = b.gather(value, starts, numbers, sizes, [*inner[:before], *common, *inner[before:]])
    # New axes: those before the indices (or anywhere, if the indices' dimensions come first) keep their order among slices.
    result: list[int] = [] if together else list(common)
    rest = iter(inner)
    for i, kind in enumerate(kinds):
        if kind == "index":
            if together and i == places[0]:
                result += common
        else:
            result.append(1 if kind == "new" else next(rest))
    return b.reshape(slices, result)
