"""Reading and writing at computed positions.

Negative positions count from the end where PyTorch counts them so (``x[i]``), and not where it refuses them (``gather``,
``embedding``). A position out of range is an error in PyTorch; here, as StableHLO has it, what is
read there is the nearest element, and what is written there is dropped.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from wengert.dialects import core
from wengert.dialects.builder import Value
from wengert.dialects.stablehlo import attributes as sa
from wengert.frontends.aten.axes import axis
from wengert.frontends.aten.builder import AtenBuilder
from wengert.frontends.aten.masks import only_mask, written_where
from wengert.frontends.aten.meanings import Number, means
from wengert.frontends.aten.result_types.rules import counted, same
from wengert.frontends.aten.result_types.shapes import at_index, rows, selected
from wengert.frontends.aten.result_types.views import indexed
from wengert.frontends.aten.shape import bounds
from wengert.frontends.kinks import declared
from wengert.ir.attributes import int_attr
from wengert.ir.tensor_types import element, f64, i64, is_boolean, is_float, rank, shape, size, tensor

Indices = Sequence[Value | None]


def _numbers(offsets: Sequence[int], indexed: Sequence[int], vector: int) -> sa.GatherDimensionNumbersAttr:
    return sa.GatherDimensionNumbersAttr(
        sa.dimensions(offsets), sa.dimensions(indexed), sa.dimensions(()), sa.dimensions(()), sa.dimensions(indexed), int_attr(vector)
    )


def _scatter_numbers(windows: Sequence[int], indexed: Sequence[int], vector: int) -> sa.ScatterDimensionNumbersAttr:
    return sa.ScatterDimensionNumbersAttr(
        sa.dimensions(windows), sa.dimensions(indexed), sa.dimensions(()), sa.dimensions(()), sa.dimensions(indexed), int_attr(vector)
    )


def _common(columns: Sequence[Value]) -> tuple[int, ...]:
    return np.broadcast_shapes(*map(shape, columns))


def _vectors(b: AtenBuilder, columns: Sequence[Value]) -> Value:
    """Index arrays broadcast together, as vectors along a new last dimension."""
    extents = _common(columns)
    return b.concatenate([b.reshape(b.expanded(b.convert(c, i64), extents), [*extents, 1]) for c in columns], len(extents))


def _wrapped(b: AtenBuilder, index: Value, extent: int) -> Value:
    index = b.convert(index, i64)
    return b.select(b.compare("LT", index, b.full_like(index, 0)), b.add(index, b.full_like(index, extent)), index)


# -- x[i, :, j]: arrays of indices for some dimensions


def _index_columns(b: AtenBuilder, x: Value, indices: Indices) -> tuple[list[int], list[Value]]:
    dims = [d for d, index in enumerate(indices) if index is not None]
    arrays = [index for index in indices if index is not None]
    if any(is_boolean(element(index)) for index in arrays):
        raise b.refuse("the shape of x[mask] depends on the elements of the mask", "write torch.where(mask, x, 0), or multiply by the mask")
    return dims, [_wrapped(b, index, shape(x)[d]) for d, index in zip(dims, arrays, strict=True)]


def _place(dims: Sequence[int]) -> int:
    """The position of the dimensions of the indices: those side by side stay there, others go first (NumPy's rule)."""
    return dims[0] if list(dims) == list(range(dims[0], dims[0] + len(dims))) else 0


@means("index.Tensor(self, indices)", results=indexed)
def index(b: AtenBuilder, x: Value, indices: Indices) -> Value:
    """x[indices]."""
    dims, columns = _index_columns(b, x, indices)
    extents, common = shape(x), len(_common(columns))
    kept = [d for d in range(len(extents)) if d not in dims]
    first = _place(dims)
    offsets = [i if i < first else i + common for i in range(len(kept))]
    sizes = [1 if d in dims else n for d, n in enumerate(extents)]
    rest = [extents[d] for d in kept]
    return b.gather(x, _vectors(b, columns), _numbers(offsets, dims, common), sizes, [*rest[:first], *_common(columns), *rest[first:]])


@means("index_put.default(self, indices, values, accumulate=False)", "_unsafe_index_put.default(self, indices, values, accumulate=False)", results=same)
def index_put(b: AtenBuilder, x: Value, indices: Indices, values: Value, accumulate: bool = False) -> Value:
    """x with x[indices] replaced, or added to."""
    if (mask := only_mask(indices)) is not None:
        written = written_where(b, x, mask[1], mask[0], values, accumulate)
        if written is None:
            raise b.refuse(
                "x[mask] = values takes as many values as there are places at which the mask holds",
                "write torch.where(mask, new, x) with a value for every place, or x.masked_scatter(mask, values)",
            )
        return written
    dims, columns = _index_columns(b, x, indices)
    extents, common = shape(x), _common(columns)
    kept = [n for d, n in enumerate(extents) if d not in dims]
    first = _place(dims)
    windows = [i if i < first else i + len(common) for i in range(len(kept))]
    updates = b.expanded(b.convert(values, element(x)), [*kept[:first], *common, *kept[first:]])
    kind = core.Kind.add if accumulate else core.Kind.set
    return b.scatter(kind, x, _vectors(b, columns), updates, _scatter_numbers(windows, dims, len(common)))


# -- one dimension


@means("index_select.default(self, dim, index)", results=selected)
def index_select(b: AtenBuilder, x: Value, dim: int, positions: Value) -> Value:
    """Positions of one dimension."""
    if not shape(x):
        return b.expanded(x, b.extents)
    dim = axis(dim, rank(x))
    return index(b, x, [None] * dim + [positions])


@means("index_reduce.default(self, dim, index, source, reduce, *, include_self=True)", results=same)
def index_reduce(b: AtenBuilder, x: Value, dim: int, positions: Value, source: Value, reduce: str, *, include_self: bool = True) -> Value:
    """x with rows combined into it at positions of one dimension."""
    if not shape(x):
        x, source = b.reshape(x, [1]), b.reshape(source, [1])
    dim = axis(dim, rank(x))
    wide = b.broadcast_in_dim(b.reshape(positions, [size(positions)]), [dim], shape(source))
    return b.reshape(scatter_reduce(b, x, dim, wide, source, reduce, include_self=include_self), b.extents)


@means("diagonal_scatter.default(self, src, offset=0, dim1=0, dim2=1)", results=same)
def diagonal_scatter(b: AtenBuilder, x: Value, source: Value, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Value:
    """x with a diagonal replaced, whose elements are along the last dimension of what replaces it."""
    n = rank(x)
    order = [first := axis(dim1, n), second := axis(dim2, n), *(d for d in range(n) if d not in (first, second))]
    count = shape(source)[-1]
    steps = [b.constant(np.arange(count) + max(k, 0)) for k in (-offset, offset)]
    moved = b.transpose(source, [n - 2, *range(n - 2)])
    return b.transpose(index_put(b, b.transpose(x, order), steps, moved), [order.index(d) for d in range(n)])


def rows_at(b: AtenBuilder, x: Value, positions: Value) -> Value:
    """Rows of x: [n, e] at positions: [...] -> [..., e]."""
    count = rank(positions)
    return b.gather(x, _vectors(b, [positions]), _numbers([count], [0], count), [1, shape(x)[1]], [*shape(positions), shape(x)[1]])


def with_scaled_gradient(b: AtenBuilder, rows: Value, positions: Value, count: int) -> Value:
    """Rows: [..., e] whose derivatives are divided by how often their position, of so many, is among all (``scale_grad_by_freq``)."""
    flat = b.reshape(positions, [size(positions)])
    blank = b.full(0, tensor((count,), element(rows)))
    often = scattered(b, core.Kind.add, blank, 0, flat, b.full(1, tensor((size(positions),), element(rows))))
    times = b.reshape(index(b, often, [flat]), shape(positions))
    return declared(b, rows, (rows, b.along(rows, b.divide(b.full_like(times, 1), times), [rank(rows) - 1])))


@means("embedding.default(weight, indices, padding_idx=-1, scale_grad_by_freq=False, sparse=False)", results=rows)
def embedding(b: AtenBuilder, weight: Value, indices: Value, padding_idx: int = -1, scale_by_freq: bool = False, sparse: bool = False) -> Value:
    """Rows of weight: [n, e]. The row for padding has no derivative, so that training leaves it as it is."""
    rows = rows_at(b, weight, indices)
    if scale_by_freq:
        rows = with_scaled_gradient(b, rows, indices, shape(weight)[0])
    if padding_idx < 0:
        return rows
    padding = b.compare("EQ", indices, b.full_like(indices, padding_idx))
    return b.select(b.along(rows, padding, [rank(indices)]), b.stopped(rows), rows)


@means("gather.default(self, dim, index, *, sparse_grad=False)", results=at_index)
def gather(b: AtenBuilder, x: Value, dim: int, positions: Value, sparse_grad: bool = False) -> Value:
    """x[..., positions, ...]: one position of dimension dim for every other one."""
    if not shape(x):
        return b.expanded(x, b.extents)
    n = rank(x)
    return b.gather(x, _coordinates(b, positions, dim, n), _numbers([], range(n), n), [1] * n, b.extents)


def _coordinates(b: AtenBuilder, positions: Value, dim: int, n: int) -> Value:
    """The full index of every element: its own place, and the position in dimension dim."""
    dim, own = axis(dim, n), tensor(shape(positions), i64)
    return _vectors(b, [positions if d == dim else b.iota(d, own) for d in range(n)])


def scattered(b: AtenBuilder, kind: core.Kind, x: Value, dim: int, positions: Value, source: Value | Number) -> Value:
    """x with a source combined into it at positions of one dimension."""
    n = rank(x)
    indices = _coordinates(b, positions, dim, n)
    extents = shape(positions)
    if not isinstance(source, bool | int | float | complex):
        updates = b.slice(source, [0] * n, extents) if shape(source) != extents else source
    else:
        updates = b.full(source, tensor(extents, element(x)))
    return b.scatter(kind, x, indices, updates, _scatter_numbers([], range(n), n))


@means("scatter.src(self, dim, index, src)", "scatter.value(self, dim, index, value)", results=same)
def scatter(b: AtenBuilder, x: Value, dim: int, positions: Value, source: Value | Number) -> Value:
    """x with elements replaced at positions of one dimension."""
    return scattered(b, core.Kind.set, x, dim, positions, source)


@means("scatter_add.default(self, dim, index, src)", results=same)
def scatter_add(b: AtenBuilder, x: Value, dim: int, positions: Value, source: Value) -> Value:
    """x with elements added at positions of one dimension."""
    return scattered(b, core.Kind.add, x, dim, positions, source)


_REDUCTIONS = {
    "sum": (core.Kind.add, 0.0),
    "mean": (core.Kind.add, 0.0),
    "prod": (core.Kind.mul, 1.0),
    "amax": (core.Kind.max, float("-inf")),
    "amin": (core.Kind.min, float("inf")),
}
"""The way in which elements combine, and its neutral element."""


@means("scatter_reduce.two(self, dim, index, src, reduce, *, include_self=True)", results=same)
def scatter_reduce(b: AtenBuilder, x: Value, dim: int, positions: Value, source: Value, reduce: str, *, include_self: bool = True) -> Value:
    """x with elements combined into it at positions of one dimension; what is there before counts or does not."""
    kind, neutral = _REDUCTIONS[reduce]
    if not include_self:
        if not is_float(element(x)) and neutral not in (0.0, 1.0):
            raise b.refuse(f"scatter_reduce of integers by {reduce} without what is there before has no translation")
        x = scattered(b, core.Kind.set, x, dim, positions, neutral)
    combined = scattered(b, kind, x, dim, positions, source)
    if reduce != "mean":
        return combined
    if not is_float(element(x)):
        raise b.refuse("scatter_reduce of integers by mean has no translation")
    counts = scattered(b, core.Kind.add, b.full_like(x, 1 if include_self else 0), dim, positions, 1)
    return b.divide(combined, b.maximum(counts, b.full_like(counts, 1)))


@means("put.default(self, index, source, accumulate=False)", results=same)
def put(b: AtenBuilder, x: Value, positions: Value, source: Value, accumulate: bool = False) -> Value:
    """x with elements replaced (or added to) at positions among all of them."""
    flat, places = b.reshape(x, [size(x)]), _wrapped(b, b.reshape(positions, [size(positions)]), size(x))
    kind = core.Kind.add if accumulate else core.Kind.set
    return b.reshape(scattered(b, kind, flat, 0, places, b.reshape(source, [size(source)])), shape(x))


@means("histc.default(self, bins=100, min=0, max=0)", results=counted)
def histc(b: AtenBuilder, x: Value, bins: int = 100, low: Number = 0, high: Number = 0) -> Value:
    """How many elements lie in each of equal bins, the last of which has its upper bound; those outside and NaN do not count. Constant for derivatives."""
    flat = b.reshape(b.stopped(x) if is_float(element(x)) else b.convert(x, f64), [size(x)])
    least, most = (b.expanded(b.scalar(bound, element(flat)), shape(flat)) for bound in (low, high))
    if low == high:
        if not size(x):
            return b.zeros(b.type)
        least, most = (b.expanded(b.reduce(kind, flat, [0]), shape(flat)) for kind in (core.Kind.min, core.Kind.max))
        one, equal = b.full_like(flat, 1), b.compare("EQ", least, most)
        least, most = b.select(equal, b.subtract(least, one), least), b.select(equal, b.add(most, one), most)
    inside = b.and_(b.compare("GE", flat, least), b.compare("LE", flat, most))
    place = b.floor(b.divide(b.multiply(b.subtract(flat, least), b.full_like(flat, bins)), b.subtract(most, least)))
    place = b.convert(b.select(inside, place, b.full_like(place, 0)), i64)
    place = b.minimum(place, b.full_like(place, bins - 1))
    return scattered(b, core.Kind.add, b.zeros(b.type), 0, place, b.convert(inside, b.element_type))


# -- writing to a slice


def _written(b: AtenBuilder, x: Value, source: Value, dim: int, start: int, count: int, step: int) -> Value:
    if count == 0:
        return x
    if step == 1:
        starts = [b.scalar(start if d == dim else 0, i64) for d in range(rank(x))]
        return b.dynamic_update_slice(x, source, starts)
    rows = b.constant(np.arange(start, start + count * step, step, dtype=np.int64).reshape(count, 1))
    windows = [d for d in range(rank(x)) if d != dim]
    return b.scatter(core.Kind.set, x, rows, source, _scatter_numbers(windows, [dim], 1), sorted=True, unique=True)


@means("slice_scatter.default(self, src, dim=0, start=None, end=None, step=1)", results=same)
def slice_scatter(b: AtenBuilder, x: Value, source: Value, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1) -> Value:
    """x with a slice replaced."""
    dim = axis(dim, rank(x))
    low, high = bounds(start, end, shape(x)[dim])
    count = len(range(low, high, step))
    extents = [count if d == dim else n for d, n in enumerate(shape(x))]
    return _written(b, x, b.expanded(b.convert(source, element(x)), extents), dim, low, count, step)


@means("select_scatter.default(self, src, dim, index)", results=same)
def select_scatter(b: AtenBuilder, x: Value, source: Value, dim: int, position: int) -> Value:
    """x with one position of a dimension replaced."""
    dim = axis(dim, rank(x))
    extents = [1 if d == dim else n for d, n in enumerate(shape(x))]
    return _written(b, x, b.reshape(b.convert(source, element(x)), extents), dim, axis(position, shape(x)[dim]), 1, 1)
