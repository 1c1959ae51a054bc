"""Reductions and running combinations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from wengert.dialects import core
from wengert.dialects.builder import Value
from wengert.frontends.kinks import root
from wengert.frontends.torch_programs.aten.elementwise import truth
from wengert.frontends.torch_programs.translation import Number, TorchBuilder, axes, axis, translates
from wengert.ir.tensor_types import element, i64, is_complex, shape, size

Dims = Sequence[int] | int | None


def _rank(x: Value) -> int:
    return len(shape(x))


@translates("sum.default", "sum.dim_IntList")
def sum_(b: TorchBuilder, x: Value, dims: Dims = None, keepdim: bool = False) -> Value:
    """The sum, in the result's dtype."""
    return b.reshape(b.reduce_sum(b.convert(x, b.element_type), axes(dims, _rank(x))), b.extents)


@translates("mean.default", "mean.dim")
def mean(b: TorchBuilder, x: Value, dims: Dims = None, keepdim: bool = False) -> Value:
    """The mean."""
    return b.reshape(b.mean(b.convert(x, b.element_type), axes(dims, _rank(x))), b.extents)


@translates("prod.default", "prod.dim_int")
def prod(b: TorchBuilder, x: Value, dims: Dims = None, keepdim: bool = False) -> Value:
    """The product."""
    return b.reshape(b.reduce(core.Kind.mul, b.convert(x, b.element_type), axes([dims] if isinstance(dims, int) else dims, _rank(x))), b.extents)


@translates("amax.default", "max.default")
def amax(b: TorchBuilder, x: Value, dims: Dims = None, keepdim: bool = False) -> Value:
    """The largest element."""
    return b.reshape(b.reduce(core.Kind.max, x, axes(dims, _rank(x))), b.extents)


@translates("amin.default", "min.default")
def amin(b: TorchBuilder, x: Value, dims: Dims = None, keepdim: bool = False) -> Value:
    """The smallest element."""
    return b.reshape(b.reduce(core.Kind.min, x, axes(dims, _rank(x))), b.extents)


@translates("any.default", "any.dim", "any.dims")
def any_(b: TorchBuilder, x: Value, dims: Dims = None, keepdim: bool = False) -> Value:
    """Whether one is not zero."""
    return b.reshape(b.reduce(core.Kind.or_, truth(b, x), axes([dims] if isinstance(dims, int) else dims, _rank(x))), b.extents)


@translates("all.default", "all.dim", "all.dims")
def all_(b: TorchBuilder, x: Value, dims: Dims = None, keepdim: bool = False) -> Value:
    """Whether none is zero."""
    return b.reshape(b.reduce(core.Kind.and_, truth(b, x), axes([dims] if isinstance(dims, int) else dims, _rank(x))), b.extents)


def _variance(b: TorchBuilder, x: Value, dims: Dims, correction: Number | None) -> tuple[Value, Value]:
    chosen = axes(dims, _rank(x))
    mean, _, centred = b.moments(x, chosen)
    if is_complex(element(x)):
        centred = b.abs(centred)
    total = b.reduce_sum(b.multiply(centred, centred), chosen)
    count = size(x) // max(size(total), 1)
    divisor = max(count - float(1 if correction is None else correction.real), 0.0)
    return b.divide(total, b.full_like(total, divisor)), mean


@translates("var.correction")
def var(b: TorchBuilder, x: Value, dims: Dims = None, correction: Number | None = None, keepdim: bool = False) -> Value:
    """The variance; the divisor is the number of elements less the correction (1 by default)."""
    return b.reshape(_variance(b, x, dims, correction)[0], b.extents)


@translates("std.correction")
def std(b: TorchBuilder, x: Value, dims: Dims = None, correction: Number | None = None, keepdim: bool = False) -> Value:
    """The square root of the variance."""
    return b.reshape(root(b, _variance(b, x, dims, correction)[0]), b.extents)


@translates("var_mean.correction")
def var_mean(b: TorchBuilder, x: Value, dims: Dims = None, correction: Number | None = None, keepdim: bool = False) -> tuple[Value, Value]:
    """Variance and mean."""
    moments = _variance(b, x, dims, correction)
    return b.reshape(moments[0], b.extents), b.reshape(moments[1], b.extents)


@translates("linalg_vector_norm.default")
def vector_norm(b: TorchBuilder, x: Value, order: Number = 2, dims: Dims = None, keepdim: bool = False) -> Value:
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


@translates("_cdist_forward.default")
def cdist(b: TorchBuilder, x: Value, y: Value, order: float, mode: int | None = None) -> Value:
    """The norm of the difference of every row of x and every row of y: [..., m, k], [..., n, k] -> [..., m, n]."""
    *batch, m, n = b.extents
    wide = [*batch, m, n, shape(x)[-1]]
    left = b.expanded(b.reshape(x, [*shape(x)[:-1], 1, shape(x)[-1]]), wide)
    right = b.expanded(b.reshape(y, [*shape(y)[:-2], 1, *shape(y)[-2:]]), wide)
    return vector_norm(b, b.subtract(left, right), order, [len(wide) - 1])


# -- positions


def _extreme(b: TorchBuilder, extreme: core.Extreme, x: Value, dim: int) -> tuple[Value, Value]:
    if not shape(x):
        return x, b.zeros(b.type)
    value, index = b.argreduce(extreme, x, axis(dim, _rank(x)), i64)
    return b.reshape(value, b.extents), b.reshape(index, b.extents)


@translates("max.dim")
def max_dim(b: TorchBuilder, x: Value, dim: int, keepdim: bool = False) -> tuple[Value, Value]:
    """The largest element along a dimension and its first position."""
    return _extreme(b, core.Extreme.max, x, dim) if shape(x) else (x, b.full(0, _index_type(b)))


@translates("min.dim")
def min_dim(b: TorchBuilder, x: Value, dim: int, keepdim: bool = False) -> tuple[Value, Value]:
    """The smallest element along a dimension and its first position."""
    return _extreme(b, core.Extreme.min, x, dim) if shape(x) else (x, b.full(0, _index_type(b)))


def _index_type(b: TorchBuilder) -> Any:
    return b.types[1]


def _position(b: TorchBuilder, extreme: core.Extreme, x: Value, dim: int | None) -> Value:
    if dim is None:
        x, dim = b.reshape(x, [size(x)]), 0
    return _extreme(b, extreme, x, dim)[1]


@translates("argmax.default")
def argmax(b: TorchBuilder, x: Value, dim: int | None = None, keepdim: bool = False) -> Value:
    """The first position of the largest element."""
    return _position(b, core.Extreme.max, x, dim)


@translates("argmin.default")
def argmin(b: TorchBuilder, x: Value, dim: int | None = None, keepdim: bool = False) -> Value:
    """The first position of the smallest element."""
    return _position(b, core.Extreme.min, x, dim)


# -- running


def _running(b: TorchBuilder, kind: core.Kind, x: Value, dim: int) -> Value:
    x = b.convert(x, b.element_type)
    return b.cumulative(kind, x, axis(dim, _rank(x))) if shape(x) else x


@translates("cumsum.default")
def cumsum(b: TorchBuilder, x: Value, dim: int) -> Value:
    """The running sum."""
    return _running(b, core.Kind.add, x, dim)


@translates("cumprod.default")
def cumprod(b: TorchBuilder, x: Value, dim: int) -> Value:
    """The running product."""
    return _running(b, core.Kind.mul, x, dim)
