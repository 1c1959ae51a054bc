"""The standard's manipulation functions: other shapes, orders and arrangements of the same elements."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from wengert.frontends.tracing.errors import type_error, value_error
from wengert.frontends.tracing.operands import (
    axes_of,
    axis_of,
    broadcast,
    builder,
    common_shape,
    is_traced,
    listed,
    promoted,
    shape_argument,
    shape_of,
    traced,
    value_of,
)
from wengert.frontends.tracing.tracer import TracedArray
from wengert.numpy.dispatch import NUMPY, Array, ArrayLike, concrete_by, copied


@concrete_by(np.reshape)
def reshape(x: ArrayLike, /, shape: Any, *, copy: Any = None) -> Array:
    """The elements in row-major order under another shape; one extent may be -1, which follows from the others."""
    extents, size = shape_argument(shape), prod(x.shape)
    if extents.count(-1) == 1:
        rest = prod(n for n in extents if n != -1)
        extents = tuple((size // rest if rest else 0) if n == -1 else n for n in extents)
    if prod(extents) != size or any(n < 0 for n in extents):
        raise value_error(f"an array of shape {x.shape} has {size} elements and cannot have the shape {tuple(shape_argument(shape))}")
    return traced(builder().reshape(value_of(x), extents)).viewing(x)


@concrete_by(np.permute_dims)
def permute_dims(x: ArrayLike, /, axes: Any = None) -> Array:
    """The dimensions in another order (reversed by default)."""
    order = tuple(reversed(range(x.ndim))) if axes is None else axes_of(tuple(axes), x.ndim)
    if len(order) != x.ndim:
        raise value_error(f"axes {axes} do not name each of the {x.ndim} dimensions once")
    return traced(builder().transpose(value_of(x), order)).viewing(x)


transpose = permute_dims


@concrete_by(np.moveaxis)
def moveaxis(x: ArrayLike, source: Any, destination: Any, /) -> Array:
    """Some dimensions moved elsewhere, the others in their order."""
    sources, targets = axes_of(source, x.ndim), axes_of(destination, x.ndim)
    if len(sources) != len(targets):
        raise value_error(f"moveaxis moves {len(sources)} dimensions to {len(targets)} places")
    order = [d for d in range(x.ndim) if d not in sources]
    for target, start in sorted(zip(targets, sources, strict=True)):
        order.insert(target, start)
    return permute_dims(x, tuple(order))


@concrete_by(np.swapaxes)
def swapaxes(x: ArrayLike, axis1: int, axis2: int, /) -> Array:
    """Two dimensions exchanged."""
    order = list(range(x.ndim))
    a, c = axis_of(axis1, x.ndim), axis_of(axis2, x.ndim)
    order[a], order[c] = order[c], order[a]
    return permute_dims(x, tuple(order))


@concrete_by(np.matrix_transpose)
def matrix_transpose(x: ArrayLike, /) -> Array:
    """The last two dimensions exchanged."""
    if x.ndim < 2:
        raise value_error(f"matrix_transpose needs two dimensions, found {x!r}")
    return swapaxes(x, -1, -2)


@concrete_by(np.squeeze)
def squeeze(x: ArrayLike, /, axis: Any = None) -> Array:
    """The array without some dimensions of extent 1 (all of them by default)."""
    axes = tuple(d for d, n in enumerate(x.shape) if n == 1) if axis is None else axes_of(axis, x.ndim)
    if any(x.shape[d] != 1 for d in axes):
        raise value_error(f"axis {axis} of an array of shape {x.shape} has an extent that is not 1")
    return reshape(x, tuple(n for d, n in enumerate(x.shape) if d not in axes))


@concrete_by(np.expand_dims)
def expand_dims(x: ArrayLike, /, axis: Any = 0) -> Array:
    """The array with new dimensions of extent 1 at these places of the result."""
    rank = x.ndim + len(listed(axis))
    axes = axes_of(axis, rank)
    rest = iter(x.shape)
    return reshape(x, tuple(1 if d in axes else next(rest) for d in range(rank)))


@concrete_by(np.broadcast_to)
def broadcast_to(x: ArrayLike, /, shape: Any) -> Array:
    """The array repeated to a shape by the rules of broadcasting."""
    extents = shape_argument(shape)
    if common_shape(x, np.broadcast_to(0, extents)) != extents:
        raise value_error(f"an array of shape {x.shape} cannot be broadcast to {extents}")
    wide = traced(broadcast(value_of(x), extents))
    return wide.viewing(x) if isinstance(x, TracedArray) else wide


def broadcast_shapes(*shapes: Any) -> tuple[int, ...]:
    """The shape that arrays of these shapes are broadcast to."""
    return np.broadcast_shapes(*[shape_argument(s) for s in shapes])


def broadcast_arrays(*arrays: ArrayLike) -> list[Array]:
    """All arrays repeated to their common shape, a list as the standard of 2024.12 says."""
    if not is_traced(*arrays):
        return list(np.broadcast_arrays(*arrays))
    extents = common_shape(*arrays)
    return [broadcast_to(x, extents) for x in arrays]


def concat(arrays: Any, /, *, axis: int | None = 0) -> Array:
    """Arrays one after the other along a dimension; None flattens them first."""
    if not is_traced(*arrays):
        return np.concatenate(arrays, axis=axis)
    if axis is None:
        arrays, axis = [reshape(x, (-1,)) for x in arrays], 0
    shapes = [shape_of(x) for x in arrays]
    d = axis_of(axis, len(shapes[0]))
    if any(len(s) != len(shapes[0]) or s[:d] + s[d + 1 :] != shapes[0][:d] + shapes[0][d + 1 :] for s in shapes):
        raise value_error(f"arrays of shapes {', '.join(map(str, shapes))} cannot be concatenated along axis {axis}: the other extents must agree")
    values, _ = promoted(*arrays)
    return traced(builder().concatenate(values, d))


concatenate = concat


def stack(arrays: Any, /, *, axis: int = 0) -> Array:
    """Arrays of one shape along a new dimension."""
    arrays = list(arrays)
    if not is_traced(*arrays):
        return np.stack(arrays, axis=axis)
    shapes = {shape_of(x) for x in arrays}
    if len(shapes) != 1:
        raise value_error(f"stack needs arrays of one shape, found {' and '.join(map(str, sorted(shapes)))}")
    values, _ = promoted(*arrays)
    d = axis_of(axis, len(shapes.pop()) + 1)
    return concat([expand_dims(traced(v), axis=d) for v in values], axis=d)


def unstack(x: ArrayLike, /, *, axis: int = 0) -> Any:
    """The arrays of which :func:`stack` would make this one."""
    if not isinstance(x, TracedArray):
        return np.unstack(x, axis=axis)
    d = axis_of(axis, x.ndim)
    return tuple(x[(slice(None),) * d + (i,)] for i in range(x.shape[d]))


@concrete_by(np.flip)
def flip(x: ArrayLike, /, *, axis: Any = None) -> Array:
    """The elements in reverse order along some dimensions (all by default)."""
    return traced(builder().reverse(value_of(x), axes_of(axis, x.ndim))).viewing(x)


@concrete_by(np.roll)
def roll(x: ArrayLike, /, shift: Any, *, axis: Any = None) -> Array:
    """The elements moved along dimensions, those that leave at one end coming in at the other; None rolls all as one row."""
    if is_traced(shift):
        raise type_error("roll needs to know its shift", "index with (wengert.numpy.arange(n) - shift) % n instead")
    if axis is None:
        return copied(reshape(roll(reshape(x, (-1,)), shift, axis=0), x.shape))
    axes = listed(axis)
    shifts = listed(shift) if isinstance(shift, Sequence) else (shift,) * len(axes)
    for d, by in zip([axis_of(a, x.ndim) for a in axes], shifts, strict=True):
        if x.shape[d] and (cut := -int(by) % x.shape[d]):
            before = (slice(None),) * d
            x = concat([x[(*before, slice(cut, None))], x[(*before, slice(None, cut))]], axis=d)
    return copied(x)


@concrete_by(np.repeat)
def repeat(x: ArrayLike, repeats: Any, /, *, axis: int | None = None) -> Array:
    """Each element several times in a row; how often is one number or one for each position, and known."""
    if is_traced(repeats):
        raise type_error("repeat decides the shape of its result by its counts, so they cannot be traced")
    if axis is None:
        x, axis = reshape(x, (-1,)), 0
    d = axis_of(axis, x.ndim)
    positions = NUMPY.repeat(NUMPY.arange(x.shape[d]), repeats)
    if np.ndim(repeats) == 0:  # a broadcast is better than a gather
        wide = broadcast_to(expand_dims(x, axis=d + 1), (*x.shape[: d + 1], int(repeats), *x.shape[d + 1 :]))
        return copied(reshape(wide, (*x.shape[:d], len(positions), *x.shape[d + 1 :])))
    return x[(slice(None),) * d + (positions,)]


@concrete_by(np.tile)
def tile(x: ArrayLike, repetitions: Any, /) -> Array:
    """The whole array several times along each dimension."""
    counts = shape_argument(repetitions)
    rank = max(len(counts), x.ndim)
    counts = (1,) * (rank - len(counts)) + counts
    extents = (1,) * (rank - x.ndim) + x.shape
    pairs = [n for d in range(rank) for n in (1, extents[d])]
    wide = broadcast_to(reshape(x, tuple(pairs)), tuple(n for d in range(rank) for n in (counts[d], extents[d])))
    return copied(reshape(wide, tuple(c * n for c, n in zip(counts, extents, strict=True))))


def pad(x: ArrayLike, pad_width: Any, *, constant_values: Any = 0) -> Array:
    """The array between copies of one value: ``pad_width`` is one number, a pair, or a pair for each dimension. Not in the standard."""
    if not is_traced(x, constant_values):
        return np.pad(x, pad_width, constant_values=constant_values)
    pairs = np.broadcast_to(np.asarray(pad_width), (len(shape_of(x)), 2))
    value, fill = value_of(x), value_of(constant_values, x.dtype)
    return traced(builder().pad(value, fill, [int(n) for n in pairs[:, 0]], [int(n) for n in pairs[:, 1]]))
