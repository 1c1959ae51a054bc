"""The standard's searching, sorting, set and indexing functions. What finds a number of elements that depends on their values needs concrete arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.dialects import core
from wengert.dialects.builder import Value
from wengert.frontends.sorting import in_order
from wengert.frontends.tracing.errors import type_error, value_error
from wengert.frontends.tracing.operands import axis_of, builder, promoted, traced, value_of
from wengert.frontends.tracing.tracer import TracedArray
from wengert.ir.tensor_types import i64, shape, tensor
from wengert.numpy.dispatch import NUMPY, Array, ArrayLike, concrete_by

# -- positions


def _arg_extreme(extreme: core.Extreme, x: TracedArray, axis: int | None, keepdims: bool) -> Array:
    value, d = value_of(x), 0 if axis is None else axis_of(axis, x.ndim)
    if axis is None:
        value = builder().reshape(value, [x.size])
    if shape(value)[d] == 0:
        raise value_error(f"{x!r} has no largest or smallest element: nothing is there")
    positions = builder().argreduce(extreme, value, d, i64)[1]
    if keepdims:
        positions = builder().reshape(positions, [1] * x.ndim if axis is None else [1 if i == d else n for i, n in enumerate(x.shape)])
    return traced(positions)


@concrete_by(np.argmax)
def argmax(x: ArrayLike, /, axis: int | None = None, *, keepdims: bool = False) -> Array:
    """The first position of the largest element along a dimension, of all elements by default."""
    return _arg_extreme(core.Extreme.max, x, axis, keepdims)


@concrete_by(np.argmin)
def argmin(x: ArrayLike, /, axis: int | None = None, *, keepdims: bool = False) -> Array:
    """The first position of the smallest element along a dimension, of all elements by default."""
    return _arg_extreme(core.Extreme.min, x, axis, keepdims)


def searchsorted(x1: ArrayLike, x2: ArrayLike, /, *, side: Any = "left", sorter: ArrayLike | None = None) -> Array:
    """The positions at which elements ``x2`` belong in the sorted row ``x1``: before equal ones (left) or after them (right)."""
    if not isinstance(x1, TracedArray) and not isinstance(x2, TracedArray) and not isinstance(sorter, TracedArray):
        return NUMPY.searchsorted(x1, x2, side=side, sorter=sorter)
    from wengert.numpy.comparisons import where
    from wengert.numpy.manipulation import broadcast_to

    row, wanted = (traced(v) for v in promoted(x1, x2)[0])
    if sorter is not None:
        row = row[sorter]
    low: Any = broadcast_to(traced(value_of(np.int64(0))), wanted.shape)
    high: Any = broadcast_to(traced(value_of(np.int64(row.shape[0]))), wanted.shape)
    for _ in range(row.shape[0].bit_length()):  # bisection: the interval of n + 1 places halves each time
        middle = (low + high) // 2
        element = row[middle]
        goes_right = (element < wanted) if side == "left" else (element <= wanted)
        searching = low < high
        low, high = where(searching & goes_right, middle + 1, low), where(searching & ~goes_right, middle, high)
    return low


# -- order


def _sorted(values: list[Value], d: int) -> Any:
    return in_order(builder(), values, d)


def _sort_concrete(x: Any, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Any:
    ordered = np.sort(x, axis=axis, stable=stable)
    return np.flip(ordered, axis=axis) if descending else ordered


def _argsort_concrete(x: Any, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Any:
    if not descending:
        return np.argsort(x, axis=axis, stable=stable)
    return np.shape(x)[axis] - 1 - np.flip(np.argsort(np.flip(x, axis=axis), axis=axis, stable=stable), axis=axis)


@concrete_by(_sort_concrete)
def sort(x: ArrayLike, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Array:
    """The elements in order along a dimension, NaN last (first if descending)."""
    d = axis_of(axis, x.ndim)
    ordered = traced(_sorted([value_of(x)], d)[0])
    return _flip(ordered, d) if descending else ordered


@concrete_by(_argsort_concrete)
def argsort(x: ArrayLike, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Array:
    """The positions at which the elements in order are found, as int64; equal elements keep their order."""
    return sort_with_positions(x, axis, descending)[1]


def sort_with_positions(x: Any, axis: int, descending: bool) -> tuple[Any, Any]:
    """The elements of a traced array in order along a dimension, and the positions at which they are found."""
    d = axis_of(axis, x.ndim)
    value = value_of(_flip(x, d) if descending else x)
    positions = builder().iota(d, tensor(x.shape, i64))
    ordered, places = map(traced, _sorted([value, positions], d))
    return (_flip(ordered, d), x.shape[d] - 1 - _flip(places, d)) if descending else (ordered, places)


def _flip(x: Any, d: int) -> Any:
    from wengert.numpy.manipulation import flip

    return flip(x, axis=d)


# -- elements by position


@concrete_by(np.take)
def take(x: ArrayLike, indices: ArrayLike, /, *, axis: int | None = None) -> Array:
    """The elements at positions along a dimension; see :mod:`wengert.numpy.subscripts` for positions out of range."""
    from wengert.numpy.creation import asarray
    from wengert.numpy.manipulation import reshape

    x = asarray(x)
    if axis is None:
        x, axis = reshape(x, (-1,)), 0
    return _on_traced(x)[(slice(None),) * axis_of(axis, x.ndim) + (asarray(indices),)]


def _on_traced(x: ArrayLike) -> TracedArray:
    return x if isinstance(x, TracedArray) else traced(value_of(x))


@concrete_by(np.take_along_axis)
def take_along_axis(x: ArrayLike, indices: ArrayLike, /, *, axis: int = -1) -> Array:
    """The element at a position along a dimension, a position for each place of the other dimensions."""
    from wengert.numpy.creation import asarray

    x, indices = _on_traced(x), asarray(indices)
    d = axis_of(axis, x.ndim)
    places: list[Any] = [NUMPY.reshape(np.arange(n), [-1 if i == k else 1 for i in range(x.ndim)]) for k, n in enumerate(x.shape)]
    # along the other dimensions, indices may have extent 1 and are broadcast
    places[d] = indices
    return x[tuple(places)]


# -- what has as many elements as are found


def _unknown_size(function: str, hint: str) -> Any:
    return type_error(f"the shape of the result of {function} depends on the elements of a traced array", hint)


def nonzero(x: ArrayLike, /) -> Any:
    """The positions of elements that are not zero, of a concrete array."""
    if isinstance(x, TracedArray):
        raise _unknown_size("nonzero", "use wengert.numpy.where(condition, x, y), or count_nonzero and argsort for the first positions")
    return np.nonzero(x)


def _unique(name: str, x: ArrayLike) -> Any:
    if isinstance(x, TracedArray):
        raise _unknown_size(name, "call it outside of the traced function; sort(x) and x[1:] != x[:-1] have static shapes")
    return getattr(np, name)(x)


@concrete_by(np.isin)
def isin(x1: ArrayLike, x2: ArrayLike, /, *, invert: bool = False) -> Array:
    """Whether each element of ``x1`` is among those of ``x2``; the only set function whose result has a static shape."""
    from wengert.numpy.comparisons import equal, logical_not
    from wengert.numpy.manipulation import expand_dims, reshape
    from wengert.numpy.reductions import any

    among = any(equal(expand_dims(_on_traced(x1), axis=-1), reshape(_on_traced(x2), (-1,))), -1)
    return logical_not(among) if invert else among


def unique_all(x: ArrayLike, /) -> Any:
    """Unique elements of a concrete array, their first positions, the inverse and counts."""
    return _unique("unique_all", x)


def unique_counts(x: ArrayLike, /) -> Any:
    """Unique elements of a concrete array and how often each occurs."""
    return _unique("unique_counts", x)


def unique_inverse(x: ArrayLike, /) -> Any:
    """Unique elements of a concrete array and which of them each element is."""
    return _unique("unique_inverse", x)


def unique_values(x: ArrayLike, /) -> Any:
    """Unique elements of a concrete array."""
    return _unique("unique_values", x)
