"""Reductions and running combinations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from wengert.dialects import core
from wengert.dialects.builder import Value
from wengert.frontends.aten.axes import axes, axis
from wengert.frontends.aten.builder import AtenBuilder
from wengert.frontends.aten.elementwise import truth
from wengert.frontends.aten.meanings import Number, means
from wengert.frontends.aten.result_types.matrices import distances, pairs_of_rows
from wengert.frontends.aten.result_types.rules import averaged, both, decided, extreme, measured, position, reduced, running, summed
from wengert.frontends.kinks import root
from wengert.ir.tensor_types import element, i64, is_complex, shape, size
from wengert.numpy import searching

Dims = Sequence[int] | int | None


def _rank(x: Value) -> int:
    return len(shape(x))


@means("sum.default(self, *, dtype=None)", "sum.dim_IntList(self, dim, keepdim=False, *, dtype=None)", results=summed)
def sum_(b: AtenBuilder, x: Value, dims: Dims = None, keepdim: bool = False) -> Value:
    """The sum, in the result's dtype."""
    return b.reshape(b.reduce_sum(b.convert(x, b.element_type), axes(dims, _rank(x))), b.extents)


@means("mean.default(self, *, dtype=None)", "mean.dim(self, dim, keepdim=False, *, dtype=None)", results=averaged)
def mean(b: AtenBuilder, x: Value, dims: Dims = None, keepdim: bool = False) -> Value:
    """The mean."""
    return b.reshape(b.mean(b.convert(x, b.element_type), axes(dims, _rank(x))), b.extents)


@means("prod.default(self, *, dtype=None)", "prod.dim_int(self, dim, keepdim=False, *, dtype=None)", results=summed)
def prod(b: AtenBuilder, x: Value, dims: Dims = None, keepdim: bool = False) -> Value:
    """The product."""
    return b.reshape(b.reduce(core.Kind.mul, b.convert(x, b.element_type), axes([dims] if isinstance(dims, int) else dims, _rank(x))), b.extents)


@means("amax.default(self, dim=[], keepdim=False)", "max.default(self)", results=reduced)
def amax(b: AtenBuilder, x: Value, dims: Dims = None, keepdim: bool = False) -> Value:
    """The largest element."""
    return b.reshape(b.reduce(core.Kind.max, x, axes(dims, _rank(x))), b.extents)


@means("amin.default(self, dim=[], keepdim=False)", "min.default(self)", results=reduced)
def amin(b: AtenBuilder, x: Value, dims: Dims = None, keepdim: bool = False) -> Value:
    """The smallest element."""
    return b.reshape(b.reduce(core.Kind.min, x, axes(dims, _rank(x))), b.extents)


@means("any.default(self)", "any.dim(self, dim, keepdim=False)", "any.dims(self, dim=None, keepdim=False)", results=decided)
def any_(b: AtenBuilder, x: Value, dims: Dims = None, keepdim: bool = False) -> Value:
    """Whether one is not zero."""
    return b.reshape(b.reduce(core.Kind.or_, truth(b, x), axes([dims] if isinstance(dims, int) else dims, _rank(x))), b.extents)


@means("all.default(self)", "all.dim(self, dim, keepdim=False)", "all.dims(self, dim=None, keepdim=False)", results=decided)
def all_(b: AtenBuilder, x: Value, dims: Dims = None, keepdim: bool = False) -> Value:
    """Whether none is zero."""
    return b.reshape(b.reduce(core.Kind.and_, truth(b, x), axes([dims] if isinstance(dims, int) else dims, _rank(x))), b.extents)


def _variance(b: AtenBuilder, x: Value, dims: Dims, correction: Number | None) -> tuple[Value, Value]:
    chosen = axes(dims, _rank(x))
    mean, _, centred = b.moments(x, chosen)
    if is_complex(element(x)):
        centred = b.abs(centred)
    total = b.reduce_sum(b.multiply(centred, centred), chosen)
    count = size(x) // max(size(total), 1)
    divisor = max(count - float(1 if correction is None else correction.real), 0.0)
    return b.divide(total, b.full_like(total, divisor)), mean


@means("var.correction(self, dim=None, *, correction=None, keepdim=False)", results=measured)
def var(b: AtenBuilder, x: Value, dims: Dims = None, correction: Number | None = None, keepdim: bool = False) -> Value:
    """The variance; the divisor is the number of elements less the correction (1 by default)."""
    return b.reshape(_variance(b, x, dims, correction)[0], b.extents)


@means("std.correction(self, dim=None, *, correction=None, keepdim=False)", results=measured)
def std(b: AtenBuilder, x: Value, dims: Dims = None, correction: Number | None = None, keepdim: bool = False) -> Value:
    """The square root of the variance."""
    return b.reshape(root(b, _variance(b, x, dims, correction)[0]), b.extents)


@means("var_mean.correction(self, dim=None, *, correction=None, keepdim=False)", results=both(measured, averaged))
def var_mean(b: AtenBuilder, x: Value, dims: Dims = None, correction: Number | None = None, keepdim: bool = False) -> tuple[Value, Value]:
    """Variance and mean."""
    moments = _variance(b, x, dims, correction)
    return b.reshape(moments[0], b.extents), b.reshape(moments[1], b.extents)


@means("linalg_vector_norm.default(self, ord=2, dim=None, keepdim=False, *, dtype=None)", results=measured)
def vector_norm(b: AtenBuilder, x: Value, order: Number = 2, dims: Dims = None, keepdim: bool = False) -> Value:
    """The norm of this order. The derivative of the Euclidean one at 0 is 0, as in PyTorch."""
    size = b.convert(b.abs(x), b.element_type)
    chosen = axes(dims, _rank(x))
    if order in (float("inf"), float("-inf")):
        return b.reshape(b.reduce(core.Kind.max if order == float("inf") else core.Kind.min, size, chosen), b.extents)
    if order == 0:
        return b.reshape(b.reduce_sum(b.convert(truth(b, x), b.element_type), chosen), b.extents)
    if order == 1:
        return b.reshape(b.reduce_sum(size, chosen), b.extents)
    total = b.reduce_sum(b.multiply(size, size) if order == 2 else b.power(size, b.full_like(size, order)), chosen)
    zero = b.compare("EQ", total, b.full_like(total, 0))
    safe = b.select(zero, b.full_like(total, 1), total)
    root = b.sqrt(safe) if order == 2 else b.power(safe, b.full_like(safe, 1 / order))
    return b.reshape(b.select(zero, b.full_like(total, 0), root), b.extents)


@means("_cdist_forward.default(x1, x2, p, compute_mode)", results=distances)
def cdist(b: AtenBuilder, x: Value, y: Value, order: float, mode: int | None = None) -> Value:
    """The norm of the difference of every row of x and every row of y: [..., m, k], [..., n, k] -> [..., m, n]."""
    *batch, m, n = b.extents
    wide = [*batch, m, n, shape(x)[-1]]
    left = b.expanded(b.reshape(x, [*shape(x)[:-1], 1, shape(x)[-1]]), wide)
    right = b.expanded(b.reshape(y, [*shape(y)[:-2], 1, *shape(y)[-2:]]), wide)
    return vector_norm(b, b.subtract(left, right), order, [len(wide) - 1])


@means("_pdist_forward.default(self, p=2)", results=pairs_of_rows)
def pdist(b: AtenBuilder, x: Value, order: float = 2) -> Value:
    """The norm of the difference of every row and every later one: [n, k] -> [n (n - 1) / 2]."""
    if 0 in b.extents or 0 in shape(x):
        return b.full(0, b.type)
    rows, columns = np.triu_indices(shape(x)[0], 1)
    first, second = (b.by_numpy(searching.take, x, places, axis=0) for places in (rows, columns))
    return vector_norm(b, b.subtract(first, second), order, [1])


# -- positions


def _extreme(b: AtenBuilder, extreme: core.Extreme, x: Value, dim: int) -> tuple[Value, Value]:
    if not shape(x):
        return x, b.zeros(b.type)
    value, index = b.argreduce(extreme, x, axis(dim, _rank(x)), i64)
    return b.reshape(value, b.extents), b.reshape(index, b.extents)


@means("max.dim(self, dim, keepdim=False)", results=extreme)
def max_dim(b: AtenBuilder, x: Value, dim: int, keepdim: bool = False) -> tuple[Value, Value]:
    """The largest element along a dimension and its first position."""
    return _extreme(b, core.Extreme.max, x, dim) if shape(x) else (x, b.full(0, _index_type(b)))


@means("min.dim(self, dim, keepdim=False)", results=extreme)
def min_dim(b: AtenBuilder, x: Value, dim: int, keepdim: bool = False) -> tuple[Value, Value]:
    """The smallest element along a dimension and its first position."""
    return _extreme(b, core.Extreme.min, x, dim) if shape(x) else (x, b.full(0, _index_type(b)))


def _index_type(b: AtenBuilder) -> Any:
    return b.types[1]


def _position(b: AtenBuilder, extreme: core.Extreme, x: Value, dim: int | None) -> Value:
    if dim is None:
        x, dim = b.reshape(x, [size(x)]), 0
    return _extreme(b, extreme, x, dim)[1]


@means("argmax.default(self, dim=None, keepdim=False)", results=position)
def argmax(b: AtenBuilder, x: Value, dim: int | None = None, keepdim: bool = False) -> Value:
    """The first position of the largest element."""
    return _position(b, core.Extreme.max, x, dim)


@means("argmin.default(self, dim=None, keepdim=False)", results=position)
def argmin(b: AtenBuilder, x: Value, dim: int | None = None, keepdim: bool = False) -> Value:
    """The first position of the smallest element."""
    return _position(b, core.Extreme.min, x, dim)


# -- running


def _running(b: AtenBuilder, kind: core.Kind, x: Value, dim: int) -> Value:
    x = b.convert(x, b.element_type)
    return b.cumulative(kind, x, axis(dim, _rank(x))) if shape(x) else x


@means("cumsum.default(self, dim, *, dtype=None)", results=running)
def cumsum(b: AtenBuilder, x: Value, dim: int) -> Value:
    """The running sum."""
    return _running(b, core.Kind.add, x, dim)


@means("cumprod.default(self, dim, *, dtype=None)", results=running)
def cumprod(b: AtenBuilder, x: Value, dim: int) -> Value:
    """The running product."""
    return _running(b, core.Kind.mul, x, dim)
