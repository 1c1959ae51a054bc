"""The standard's statistical and utility functions: sums, means, extremes, running sums, all and any."""

from __future__ import annotations

from collections.abc import Callable
from math import prod as product
from typing import Any

import numpy as np

from wengert.dialects import core
from wengert.dialects.builder import Value
from wengert.frontends.tracing.errors import value_error
from wengert.frontends.tracing.operands import axes_of, axis_of, builder, convert, full, is_traced, traced, value_of
from wengert.frontends.tracing.tracer import TracedArray
from wengert.frontends.tracing.weak_types import is_narrow_float
from wengert.ir.tensor_types import shape
from wengert.numpy.dispatch import NUMPY, Array, ArrayLike, concrete_by, result_dtype


def _reduced(kind: core.Kind, value: Value, axes: tuple[int, ...], keepdims: bool) -> Value:
    """core.reduce, with the dimensions kept as 1 if asked; the extremes of nothing are an error, as in NumPy."""
    extents = shape(value)
    reduced = builder().reduce(kind, value, axes)
    return builder().reshape(reduced, [1 if d in axes else n for d, n in enumerate(extents)]) if keepdims else reduced


def _accumulated(kind: core.Kind, numpy_function: Callable[..., Any], x: TracedArray, axis: Any, dtype: Any, keepdims: bool) -> Array:
    accumulator = np.dtype(dtype) if dtype is not None else x.dtype if is_narrow_float(x.dtype) else result_dtype(numpy_function, x.dtype)
    return traced(_reduced(kind, value_of(x, accumulator), axes_of(axis, x.ndim), keepdims))


@concrete_by(np.sum)
def sum(x: ArrayLike, /, axis: Any = None, *, dtype: Any = None, keepdims: bool = False) -> Array:
    """The sum over dimensions, of all elements by default; small integers are summed as int64, as NumPy does."""
    return _accumulated(core.Kind.add, np.sum, x, axis, dtype, keepdims)


@concrete_by(np.prod)
def prod(x: ArrayLike, /, axis: Any = None, *, dtype: Any = None, keepdims: bool = False) -> Array:
    """The product over dimensions; see :func:`sum`."""
    return _accumulated(core.Kind.mul, np.prod, x, axis, dtype, keepdims)


def _extreme(kind: core.Kind, x: TracedArray, axis: Any, keepdims: bool) -> Array:
    axes = axes_of(axis, x.ndim)
    if 0 in [x.shape[d] for d in axes]:
        raise value_error(f"an array of shape {x.shape} has no {kind} along {axes}: nothing is there")
    if x.dtype.kind == "b":
        kind = core.Kind.or_ if kind is core.Kind.max else core.Kind.and_
    return traced(_reduced(kind, value_of(x), axes, keepdims))


@concrete_by(np.max)
def max(x: ArrayLike, /, axis: Any = None, *, keepdims: bool = False) -> Array:
    """The largest element, NaN if one is; equal ones share the derivative."""
    return _extreme(core.Kind.max, x, axis, keepdims)


@concrete_by(np.min)
def min(x: ArrayLike, /, axis: Any = None, *, keepdims: bool = False) -> Array:
    """The smallest element, NaN if one is; equal ones share the derivative."""
    return _extreme(core.Kind.min, x, axis, keepdims)


def _count(x: TracedArray, axis: Any) -> int:
    return product(x.shape[d] for d in axes_of(axis, x.ndim))


@concrete_by(np.mean)
def mean(x: ArrayLike, /, axis: Any = None, *, keepdims: bool = False) -> Array:
    """The arithmetic mean, of integers as float64."""
    dtype = x.dtype if is_narrow_float(x.dtype) else result_dtype(np.mean, x.dtype)
    value = _reduced(core.Kind.add, value_of(x, dtype), axes_of(axis, x.ndim), keepdims)
    count = _count(x, axis)
    return traced(builder().divide(value, full(shape(value), count if count else float("nan"), dtype)))


def var(x: ArrayLike, /, axis: Any = None, *, correction: float = 0.0, keepdims: bool = False) -> Array:
    """The variance: squared distances from the mean, summed and divided by their number less ``correction``."""
    if not isinstance(x, TracedArray):
        return np.var(x, axis=axis, correction=correction, keepdims=keepdims)
    distance = x - mean(x, axis, keepdims=True)
    squares = (distance * distance.conj()).real if x.dtype.kind == "c" else distance * distance
    freedom = _count(x, axis) - correction
    return sum(squares, axis, keepdims=keepdims) * (1.0 / freedom if freedom > 0 else float("nan"))


def std(x: ArrayLike, /, axis: Any = None, *, correction: float = 0.0, keepdims: bool = False) -> Array:
    """The standard deviation, the square root of :func:`var`."""
    if not isinstance(x, TracedArray):
        return np.std(x, axis=axis, correction=correction, keepdims=keepdims)
    from wengert.numpy.elementwise import sqrt

    return sqrt(var(x, axis, correction=correction, keepdims=keepdims))


def _truths(kind: core.Kind, x: TracedArray, axis: Any, keepdims: bool) -> Array:
    return traced(_reduced(kind, convert(value_of(x), np.dtype(np.bool_)), axes_of(axis, x.ndim), keepdims))


@concrete_by(np.all)
def all(x: ArrayLike, /, axis: Any = None, *, keepdims: bool = False) -> Array:
    """Whether no element is zero."""
    return _truths(core.Kind.and_, x, axis, keepdims)


@concrete_by(np.any)
def any(x: ArrayLike, /, axis: Any = None, *, keepdims: bool = False) -> Array:
    """Whether some element is not zero."""
    return _truths(core.Kind.or_, x, axis, keepdims)


@concrete_by(np.count_nonzero)
def count_nonzero(x: ArrayLike, /, axis: Any = None, *, keepdims: bool = False) -> Array:
    """The number of elements that are not zero, as int64."""
    truths = traced(convert(value_of(x), np.dtype(np.bool_)))
    return sum(truths, axis, dtype=np.int64, keepdims=keepdims)


def _running(kind: core.Kind, numpy_function: Callable[..., Any], x: TracedArray, axis: int | None, dtype: Any, include_initial: bool) -> Array:
    if axis is None:
        if x.ndim != 1:
            raise value_error(f"a running sum of {x!r} needs an axis")
        axis = 0
    d = axis_of(axis, x.ndim)
    accumulator = np.dtype(dtype) if dtype is not None else x.dtype if is_narrow_float(x.dtype) else result_dtype(numpy_function, x.dtype)
    b, value = builder(), value_of(x, accumulator)
    running = b.cumulative(kind, value, d)
    if include_initial:
        first = full([1 if i == d else n for i, n in enumerate(x.shape)], 1 if kind is core.Kind.mul else 0, accumulator)
        running = b.concatenate([first, running], d)
    return traced(running)


def cumulative_sum(x: ArrayLike, /, axis: int | None = None, *, dtype: Any = None, include_initial: bool = False) -> Array:
    """The running sum along a dimension, which begins with 0 if ``include_initial``."""
    if not isinstance(x, TracedArray):
        return NUMPY.cumulative_sum(x, axis=axis, dtype=dtype, include_initial=include_initial)
    return _running(core.Kind.add, np.cumsum, x, axis, dtype, include_initial)


def cumulative_prod(x: ArrayLike, /, axis: int | None = None, *, dtype: Any = None, include_initial: bool = False) -> Array:
    """The running product along a dimension, which begins with 1 if ``include_initial``."""
    if not isinstance(x, TracedArray):
        return NUMPY.cumulative_prod(x, axis=axis, dtype=dtype, include_initial=include_initial)
    return _running(core.Kind.mul, np.cumprod, x, axis, dtype, include_initial)


def diff(x: ArrayLike, /, *, axis: int = -1, n: int = 1, prepend: Any = None, append: Any = None) -> Array:
    """Differences of neighbours along a dimension, taken ``n`` times."""
    if not is_traced(x, prepend, append):
        ends: dict[str, Any] = {key: value for key, value in (("prepend", prepend), ("append", append)) if value is not None}
        return NUMPY.diff(x, n=n, axis=axis, **ends)
    from wengert.numpy.manipulation import concat

    parts = [part for part in (prepend, x, append) if part is not None]
    x = concat(parts, axis=axis) if len(parts) > 1 else x
    before = (slice(None),) * axis_of(axis, x.ndim)
    for _ in range(n):
        x = x[(*before, slice(1, None))] - x[(*before, slice(None, -1))]
    return x
