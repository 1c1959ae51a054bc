"""Sorting and what follows from it. NaN counts as the largest number; equal elements keep their order, also where PyTorch promises none."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from wengert.dialects import core
from wengert.dialects.builder import Value
from wengert.frontends.aten.axes import axis
from wengert.frontends.aten.builder import AtenBuilder
from wengert.frontends.aten.meanings import means
from wengert.frontends.aten.result_types.rules import extreme, reduced, same, with_positions
from wengert.frontends.aten.result_types.shapes import first_k, positions, unfolded
from wengert.frontends.aten.result_types.views import places_in_rows
from wengert.ir.tensor_types import element, i64, is_float, shape, size, tensor
from wengert.numpy import elementwise, searching

Pair = tuple[Value, Value]


def ordered(b: AtenBuilder, x: Value, dim: int, descending: bool = False) -> Pair:
    """The elements along a dimension in order, and their positions."""
    if not shape(x):
        return x, b.full(0, tensor((), i64))
    return b.by_numpy(searching.sort_with_positions, x, dim, descending)


def taken(b: AtenBuilder, x: Value, positions: Value, dim: int) -> Value:
    """The elements at positions along a dimension."""
    return b.by_numpy(searching.take_along_axis, x, positions, axis=dim) if shape(x) else x


@means("sort.default(self, dim=-1, descending=False)", results=with_positions)
def sort(b: AtenBuilder, x: Value, dim: int = -1, descending: bool = False) -> Pair:
    """Elements in order, and their positions."""
    return ordered(b, x, dim, descending)


@means("sort.stable(self, *, stable, dim=-1, descending=False)", results=with_positions)
def sort_stable(b: AtenBuilder, x: Value, stable: bool | None, dim: int = -1, descending: bool = False) -> Pair:
    """The same."""
    return ordered(b, x, dim, descending)


@means("argsort.default(self, dim=-1, descending=False)", results=positions)
def argsort(b: AtenBuilder, x: Value, dim: int = -1, descending: bool = False) -> Value:
    """The positions of the elements in order."""
    return ordered(b, x, dim, descending)[1]


def _part(b: AtenBuilder, values: Sequence[Value], dim: int, start: int, stop: int) -> Pair:
    """A range of positions of one dimension of two arrays."""
    rank = len(shape(values[0]))
    d = axis(dim, rank)
    first, second = (b.slice(v, [start if i == d else 0 for i in range(rank)], [stop if i == d else n for i, n in enumerate(shape(v))]) for v in values)
    return first, second


@means("topk.default(self, k, dim=-1, largest=True, sorted=True)", results=first_k)
def topk(b: AtenBuilder, x: Value, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> Pair:
    """The k largest (or smallest) elements, in order, and their positions."""
    in_order = ordered(b, x, dim, largest)
    return _part(b, in_order, dim, 0, k) if shape(x) else in_order


def _one(b: AtenBuilder, x: Value, pair: Pair) -> Pair:
    extents = b.extents
    return b.reshape(pair[0], extents), b.reshape(pair[1], extents)


@means("kthvalue.default(self, k, dim=-1, keepdim=False)", results=extreme)
def kthvalue(b: AtenBuilder, x: Value, k: int, dim: int = -1, keepdim: bool = False) -> Pair:
    """The k-th smallest element (counted from 1) and its position."""
    in_order = ordered(b, x, dim)
    return _one(b, x, _part(b, in_order, dim, k - 1, k)) if shape(x) else in_order


def _medians(b: AtenBuilder, x: Value, dim: int, ignore_nan: bool) -> Pair:
    """The lower of the two elements in the middle. With NaN among the elements it is the first NaN, or the median of the others."""
    if not shape(x):
        return x, b.full(0, tensor((), i64))
    dim = axis(dim, len(shape(x)))
    extent = shape(x)[dim]
    values, positions = ordered(b, x, dim)
    middle = b.full((extent - 1) // 2, tensor([1 if d == dim else n for d, n in enumerate(shape(x))], i64))
    if is_float(element(x)):
        numbers = b.convert(b.compare("EQ", x, x), i64)
        count = b.reshape(b.reduce_sum(numbers, [dim]), shape(middle))
        if ignore_nan:
            none = b.compare("EQ", count, b.full_like(count, 0))
            middle = b.select(none, b.full_like(count, 0), b.divide(b.subtract(count, b.full_like(count, 1)), b.full_like(count, 2)))
        else:
            middle = b.select(b.compare("LT", count, b.full_like(count, extent)), count, middle)
    return taken(b, values, middle, dim), taken(b, positions, middle, dim)


@means("mode.default(self, dim=-1, keepdim=False)", results=extreme)
def mode(b: AtenBuilder, x: Value, dim: int = -1, keepdim: bool = False) -> Pair:
    """The most frequent element along a dimension, the smallest of several, and the last position at which it stands.

    In order, equal elements are runs; an element's place in its run is its place less the last one at which a run began.
    """
    if not shape(x):
        return x, b.full(0, tensor((), i64))
    dim = axis(dim, len(shape(x)))
    _, positions = ordered(b, x, dim)
    values = b.stopped(taken(b, x, positions, dim))
    n = shape(x)[dim]
    before = [0] * len(shape(x))
    first, later = (
        b.slice(values, [start if d == dim else 0 for d in range(len(before))], [stop if d == dim else m for d, m in enumerate(shape(x))])
        for start, stop in ((0, n - 1), (1, n))
    )
    begins = b.convert(b.compare("NE", first, later), i64)
    begins = b.pad(begins, b.scalar(1, i64), [1 if d == dim else 0 for d in range(len(before))], before)
    place = b.iota(dim, tensor(shape(x), i64))
    begun = b.cumulative(core.Kind.max, b.select(b.compare("NE", begins, b.full_like(begins, 0)), place, b.full_like(place, 0)), dim)
    longest = b.argreduce(core.Extreme.max, b.subtract(place, begun), dim, i64)[1]
    at = b.reshape(longest, [1 if d == dim else m for d, m in enumerate(shape(x))])
    chosen = taken(b, positions, at, dim)
    return _one(b, x, (taken(b, x, chosen, dim), chosen))


@means("median.dim(self, dim, keepdim=False)", results=extreme)
def median_along(b: AtenBuilder, x: Value, dim: int, keepdim: bool = False) -> Pair:
    """The median along a dimension and its position."""
    return _one(b, x, _medians(b, x, dim, ignore_nan=False))


@means("nanmedian.dim(self, dim, keepdim=False)", results=extreme)
def nanmedian_along(b: AtenBuilder, x: Value, dim: int, keepdim: bool = False) -> Pair:
    """The median of what is not NaN."""
    return _one(b, x, _medians(b, x, dim, ignore_nan=True))


def _median_of_all(b: AtenBuilder, x: Value, ignore_nan: bool) -> Value:
    flat = b.reshape(x, [size(x)])
    median = _medians(b, flat, 0, ignore_nan)[0]
    if not is_float(element(x)):
        return b.reshape(median, b.extents)
    # The largest of those that are the median: its derivative goes to all of them in equal shares; if it is NaN, to all that are NaN.
    median = b.stopped(median)
    hit = b.compare("EQ", flat, b.broadcast_in_dim(median, [0], shape(flat)))
    largest = b.reduce(core.Kind.max, b.select(hit, flat, b.full_like(flat, float("-inf"))), [0])
    numbers = b.compare("EQ", flat, flat)
    ones, zeros = b.full_like(flat, 1), b.full_like(flat, 0)
    count = b.reduce_sum(b.select(numbers, zeros, ones), [0])
    share = b.divide(b.reduce_sum(b.select(numbers, zeros, flat), [0]), b.maximum(count, b.full_like(count, 1)))
    median = b.reshape(median, b.extents)
    return b.select(b.compare("EQ", median, median), largest, share)


@means("median.default(self)", results=reduced)
def median(b: AtenBuilder, x: Value) -> Value:
    """The median of all elements."""
    return _median_of_all(b, x, ignore_nan=False)


@means("nanmedian.default(self)", results=reduced)
def nanmedian(b: AtenBuilder, x: Value) -> Value:
    """The median of all elements that are not NaN."""
    return _median_of_all(b, x, ignore_nan=True)


# -- running extremes


def _running(b: AtenBuilder, kind: core.Kind, x: Value, dim: int) -> Pair:
    """The running extreme and the last position at which it is found; NaN stays. All of the derivative goes there."""
    if not shape(x):
        return x, b.full(0, tensor((), i64))
    dim = axis(dim, len(shape(x)))
    running = b.cumulative(kind, b.stopped(x) if is_float(element(x)) else x, dim)
    hit = b.compare("EQ", x, running)
    if is_float(element(x)):
        hit = b.or_(hit, b.compare("NE", x, x))
    places = b.iota(dim, tensor(shape(x), i64))
    positions = b.cumulative(core.Kind.max, b.select(hit, places, b.full_like(places, 0)), dim)
    return taken(b, x, positions, dim), positions


@means("cummax.default(self, dim)", results=with_positions)
def cummax(b: AtenBuilder, x: Value, dim: int) -> Pair:
    """The running maximum and its position."""
    return _running(b, core.Kind.max, x, dim)


@means("cummin.default(self, dim)", results=with_positions)
def cummin(b: AtenBuilder, x: Value, dim: int) -> Pair:
    """The running minimum and its position."""
    return _running(b, core.Kind.min, x, dim)


@means("logcumsumexp.default(self, dim)", results=same)
def logcumsumexp(b: AtenBuilder, x: Value, dim: int) -> Value:
    """The logarithm of the running sum of exponentials, in steps that double their reach (Hillis and Steele 1986)."""
    if not shape(x):
        return x
    dim, rank = axis(dim, len(shape(x))), len(shape(x))
    extent, reach = shape(x)[dim], 1
    while reach < extent:
        edge = [reach if d == dim else 0 for d in range(rank)]
        first = b.slice(x, [0] * rank, [reach if d == dim else n for d, n in enumerate(shape(x))])
        later = b.slice(x, edge, list(shape(x)))
        before = b.slice(x, [0] * rank, [extent - reach if d == dim else n for d, n in enumerate(shape(x))])
        x = b.concatenate([first, b.by_numpy(elementwise.logaddexp, later, before)], dim)
        reach *= 2
    return x


# -- places in sorted rows


def _places(b: AtenBuilder, rows: Value, x: Value, right: bool, side: str | None) -> Value:
    """The number of elements of a sorted row that go before each x: [..., n], [..., m] -> [..., m], or one row for x of any shape."""
    right = right if side is None else side == "right"
    if len(shape(rows)) == 1:
        return b.convert(b.by_numpy(searching.searchsorted, rows, x, side="right" if right else "left"), b.element_type)
    *outer, n = shape(rows)
    m = shape(x)[-1]
    extents = [*outer, m, n]
    lead = list(range(len(outer)))
    row = b.broadcast_in_dim(rows, [*lead, len(outer) + 1], extents)
    before = b.compare("LE" if right else "LT", row, b.broadcast_in_dim(x, [*lead, len(outer)], extents))
    return b.reduce_sum(b.convert(before, b.element_type), [len(outer) + 1])


@means("searchsorted.Tensor(sorted_sequence, self, *, out_int32=False, right=False, side=None, sorter=None)", results=places_in_rows)
def searchsorted(b: AtenBuilder, rows: Value, x: Value, out_int32: bool = False, right: bool = False, **options: str | Value | None) -> Value:
    """The positions at which x belong in sorted rows."""
    if options.get("sorter") is not None:
        raise b.refuse("searchsorted with a sorter has no translation", "sort the row first: row.gather(-1, sorter)")
    side = options.get("side")
    return _places(b, rows, x, right, side if isinstance(side, str) else None)


@means("bucketize.Tensor(self, boundaries, *, out_int32=False, right=False)", results=places_in_rows)
def bucketize(b: AtenBuilder, x: Value, boundaries: Value, out_int32: bool = False, right: bool = False) -> Value:
    """Between which boundaries x are."""
    return _places(b, boundaries, x, right, None)


@means("unfold.default(self, dimension, size, step)", results=unfolded)
def unfold(b: AtenBuilder, x: Value, dim: int, length: int, step: int) -> Value:
    """Windows along a dimension, their elements along a new last one."""
    if not shape(x):
        return b.reshape(x, b.extents)
    rank = len(shape(x))
    dim = axis(dim, rank)
    starts = np.arange(0, shape(x)[dim] - length + 1, step)
    windows = b.by_numpy(searching.take, x, starts[:, None] + np.arange(length), axis=dim)
    return b.transpose(windows, [*range(dim + 1), *range(dim + 2, rank + 1), dim + 1])
