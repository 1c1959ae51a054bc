"""Reductions: sums, products, extremes and what is made of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from wengert.dialects import ad, core
from wengert.dialects.builder import OpBuilder, Value
from wengert.eager.containers import ValuesAndIndices
from wengert.eager.errors import ShapeError
from wengert.eager.operations import kernels
from wengert.eager.operations.memory.views import dimension
from wengert.eager.operations.promotion import INT64, category, floating
from wengert.eager.recording import dispatch
from wengert.eager.recording.operation import Operation, register
from wengert.eager.recording.program import Array
from wengert.frontends import kinks
from wengert.ir.tensor_types import i64, shape

if TYPE_CHECKING:
    from wengert.eager.tensor import Tensor

OPERATIONS: dict[str, Operation] = {}
Dims = tuple[int, ...]
Along = tuple[Dims, bool]
"""The dimensions to reduce, and whether they stay with extent 1."""


def _kept(b: OpBuilder, y: Value, x: Value, along: Along) -> Value:
    dims, keepdim = along
    return b.reshape(y, [1 if d in dims else n for d, n in enumerate(shape(x))]) if keepdim else y


def spread(b: OpBuilder, y: Value, x: Value, dims: Dims) -> Value:
    """A reduction of x, brought back to the shape of x."""
    return b.broadcast_in_dim(y, [d for d in range(len(shape(x))) if d not in dims], shape(x))


def _count(x: Value, dims: Dims) -> int:
    return int(np.prod([shape(x)[d] for d in dims], dtype=np.int64))


def _sum(b: OpBuilder, x: Sequence[Value], along: Along) -> list[Value]:
    return [_kept(b, b.reduce_sum(x[0], along[0]), x[0], along)]


def mean_of(b: OpBuilder, x: Value, dims: Dims) -> Value:
    """The ops of a mean."""
    total = b.reduce_sum(x, dims)
    return b.divide(total, b.full_like(total, _count(x, dims)))


def _mean(b: OpBuilder, x: Sequence[Value], along: Along) -> list[Value]:
    return [_kept(b, mean_of(b, x[0], along[0]), x[0], along)]


def _shared(kind: core.Kind) -> Callable[[OpBuilder, Sequence[Value], Along], list[Value]]:
    return lambda b, x, along: [_kept(b, kinks.shared_extremum(b, kind, x[0], along[0]), x[0], along)]


def _overall(kind: core.Kind) -> Callable[[OpBuilder, Sequence[Value], Along], list[Value]]:
    return lambda b, x, along: [_kept(b, kinks.overall_extremum(b, kind, x[0]), x[0], along)]


def _prod(b: OpBuilder, x: Sequence[Value], along: Along) -> list[Value]:
    return [_kept(b, kinks.product(b, x[0], along[0]), x[0], along)]


def _var(b: OpBuilder, x: Sequence[Value], given: tuple[Dims, bool, int]) -> list[Value]:
    return [_kept(b, kinks.variance(b, x[0], given[0], given[2]), x[0], given[:2])]


def _std(b: OpBuilder, x: Sequence[Value], given: tuple[Dims, bool, int]) -> list[Value]:
    return [_kept(b, kinks.root(b, kinks.variance(b, x[0], given[0], given[2])), x[0], given[:2])]


def _var_mean(b: OpBuilder, x: Sequence[Value], given: tuple[Dims, bool, int]) -> list[Value]:
    return [*_var(b, x, given), *_mean(b, x, given[:2])]


def _std_mean(b: OpBuilder, x: Sequence[Value], given: tuple[Dims, bool, int]) -> list[Value]:
    return [*_std(b, x, given), *_mean(b, x, given[:2])]


def _norm(b: OpBuilder, x: Sequence[Value], given: tuple[Dims, bool, float]) -> list[Value]:
    return [_kept(b, kinks.norm(b, x[0], given[0], given[2]), x[0], given[:2])]


def _extreme(which: core.Extreme) -> Callable[[OpBuilder, Sequence[Value], Along], list[Value]]:
    def emit(b: OpBuilder, x: Sequence[Value], along: Along) -> list[Value]:
        extremes = b.argreduce(which, x[0], along[0][0], i64)
        return [_kept(b, y, x[0], along) for y in extremes]

    return emit


def _argmax(b: OpBuilder, x: Sequence[Value], along: Along) -> list[Value]:
    return [_extreme(core.Extreme.max)(b, x, along)[1]]


def _shifted(b: OpBuilder, x: Value, dims: Dims) -> Value:
    """x minus its largest element, which the results do not depend on."""
    return b.subtract(x, spread(b, b.like(ad.StopGradientOp, b.reduce(core.Kind.max, x, dims)), x, dims))


def _logsumexp(b: OpBuilder, x: Sequence[Value], along: Along) -> list[Value]:
    return [_kept(b, kinks.logsumexp(b, x[0], along[0]), x[0], along)]


def softmax_of(b: OpBuilder, x: Value, dims: Dims) -> Value:
    """The ops of a softmax."""
    weights = b.exponential(_shifted(b, x, dims))
    return b.divide(weights, spread(b, b.reduce_sum(weights, dims), x, dims))


def log_softmax_of(b: OpBuilder, x: Value, dims: Dims) -> Value:
    """The ops of the logarithm of a softmax."""
    low = _shifted(b, x, dims)
    return b.subtract(low, spread(b, b.log(b.reduce_sum(b.exponential(low), dims)), x, dims))


def _by(ufunc: Any) -> Callable[[Along, Array], Any]:
    """The ufunc's own reduction, without what NumPy's functions look at first."""
    reduce = ufunc.reduce
    return lambda along, x: reduce(x, along[0], x.dtype, None, along[1])


def _two(name: str, emit: Any, kernel: Any = None, *, of_all: str = "0", along: str = "1") -> tuple[Operation, Operation]:
    """The operation on all elements and along dimensions, which are two kinds of node."""
    node = f"{name.capitalize()}Backward"
    return register(OPERATIONS, name, node + of_all, emit, kernel=kernel), register(OPERATIONS, f"{name}_dim", node + along, emit, kernel=kernel)


SUMS = _two("sum", _sum, _by(np.add))
MEANS = _two("mean", _mean, kernels.mean)
PRODS = _two("prod", _prod, _by(np.multiply))
VARS = _two("var", _var, along="0")
STDS = _two("std", _std, along="0")
VAR_MEAN = register(OPERATIONS, "var_mean", "VarMeanBackward0", _var_mean)
STD_MEAN = register(OPERATIONS, "std_mean", "StdMeanBackward0", _std_mean)
AMAX = register(OPERATIONS, "amax", "AmaxBackward0", _shared(core.Kind.max), kernel=kernels.amax)
AMIN = register(OPERATIONS, "amin", "AminBackward0", _shared(core.Kind.min), kernel=kernels.amin)
MAX = register(OPERATIONS, "max", "MaxBackward1", _overall(core.Kind.max), kernel=kernels.amax)
MIN = register(OPERATIONS, "min", "MinBackward1", _overall(core.Kind.min), kernel=kernels.amin)
MAX_DIM = register(OPERATIONS, "max_dim", "MaxBackward0", _extreme(core.Extreme.max))
MIN_DIM = register(OPERATIONS, "min_dim", "MinBackward0", _extreme(core.Extreme.min))
ARGMAX = register(OPERATIONS, "argmax", "", _argmax)
NORM = register(OPERATIONS, "norm", "LinalgVectorNormBackward0", _norm)
LOGSUMEXP = register(OPERATIONS, "logsumexp", "LogsumexpBackward0", _logsumexp)
SOFTMAX = register(OPERATIONS, "softmax", "SoftmaxBackward0", lambda b, x, dims: [softmax_of(b, x[0], dims)])
LOG_SOFTMAX = register(OPERATIONS, "log_softmax", "LogSoftmaxBackward0", lambda b, x, dims: [log_softmax_of(b, x[0], dims)])
CUMSUM = register(OPERATIONS, "cumsum", "CumsumBackward0", lambda b, x, dim: [b.cumulative(core.Kind.add, x[0], dim)], kernel=kernels.cumsum)


# -- as functions of tensors


def _dims(x: Tensor, dim: int | Sequence[int] | None, name: str) -> Dims:
    rank = x.array.ndim
    if dim is None:
        return tuple(range(rank))
    given = (dim,) if isinstance(dim, int) else tuple(dim)
    return tuple(sorted({dimension(d, rank, name) for d in given})) if rank else ()


_ALL = [tuple(range(rank)) for rank in range(8)]


def _reduced(pair: tuple[Operation, Operation], x: Tensor, dim: int | Sequence[int] | None, keepdim: bool) -> Tensor:
    dims = _ALL[x.array.ndim] if dim is None and x.array.ndim < len(_ALL) else _dims(x, dim, pair[0].name)
    return dispatch.single(pair[dim is not None], x, (dims, keepdim))


def _float(x: Tensor) -> Tensor:
    return x.to(floating(x.array.dtype))


def sum(x: Tensor, dim: int | Sequence[int] | None = None, keepdim: bool = False, dtype: Any = None) -> Tensor:
    """The sum; booleans and integers are summed as int64."""
    x = x if dtype is None else x.to(dtype)
    return _reduced(SUMS, x if category(x.array.dtype) == 2 else x.to(INT64), dim, keepdim)


def mean(x: Tensor, dim: int | Sequence[int] | None = None, keepdim: bool = False, dtype: Any = None) -> Tensor:
    """The mean of floats."""
    x = x if dtype is None else x.to(dtype)
    if category(x.array.dtype) < 2:
        raise ShapeError(f"mean: the mean of {x.array.dtype.name} is no {x.array.dtype.name}; say dtype=, or convert by float()")
    return _reduced(MEANS, x, dim, keepdim)


def prod(x: Tensor, dim: int | None = None, keepdim: bool = False, dtype: Any = None) -> Tensor:
    """The product."""
    x = x if dtype is None else x.to(dtype)
    return _reduced(PRODS, x if category(x.array.dtype) == 2 else x.to(INT64), dim, keepdim)


def _spread_over(dim: Any, unbiased: bool, correction: int | None) -> tuple[Any, int]:
    """The dimensions and the correction: ``var(False)`` names no dimension."""
    if isinstance(dim, bool):
        dim, unbiased = None, dim
    return dim, int(unbiased) if correction is None else correction


def var(x: Tensor, dim: Any = None, unbiased: bool = True, keepdim: bool = False, *, correction: int | None = None) -> Tensor:
    """The variance, with the sum of squares divided by n - correction."""
    dim, correction = _spread_over(dim, unbiased, correction)
    return dispatch.apply(VARS[dim is not None], (_float(x),), (_dims(x, dim, "var"), keepdim, correction))


def std(x: Tensor, dim: Any = None, unbiased: bool = True, keepdim: bool = False, *, correction: int | None = None) -> Tensor:
    """The square root of the variance."""
    dim, correction = _spread_over(dim, unbiased, correction)
    return dispatch.apply(STDS[dim is not None], (_float(x),), (_dims(x, dim, "std"), keepdim, correction))


def var_mean(x: Tensor, dim: Any = None, unbiased: bool = True, keepdim: bool = False, *, correction: int | None = None) -> tuple[Tensor, ...]:
    """The variance and the mean."""
    dim, correction = _spread_over(dim, unbiased, correction)
    return dispatch.apply_many(VAR_MEAN, (_float(x),), (_dims(x, dim, "var_mean"), keepdim, correction))


def std_mean(x: Tensor, dim: Any = None, unbiased: bool = True, keepdim: bool = False, *, correction: int | None = None) -> tuple[Tensor, ...]:
    """The root of the variance, and the mean."""
    dim, correction = _spread_over(dim, unbiased, correction)
    return dispatch.apply_many(STD_MEAN, (_float(x),), (_dims(x, dim, "std_mean"), keepdim, correction))


def norm(x: Tensor, p: float | str = 2, dim: int | Sequence[int] | None = None, keepdim: bool = False) -> Tensor:
    """The p-norm of all elements, or along dimensions: for p = 2 the Euclidean one, for infinity the largest absolute value."""
    if p == "nuc":
        from wengert.eager.library.linalg import matrix_norm

        return matrix_norm(x, "nuc", (-2, -1) if dim is None else dim, keepdim)
    if isinstance(p, str) and p != "fro":
        raise ShapeError(f"norm: p must be a number, 'fro' or 'nuc', found {p!r}")
    return dispatch.apply(NORM, (x,), (_dims(x, dim, "norm"), keepdim, 2.0 if isinstance(p, str) else float(p)))


def _extremes(all_of: Operation, along: Operation, x: Tensor, dim: int | None, keepdim: bool) -> Any:
    if dim is None:
        return dispatch.apply(all_of, (x,), (_dims(x, None, all_of.name), False))
    if not x.array.ndim:
        dimension(dim, 0, along.name)
        return ValuesAndIndices(x.clone(), dispatch.new(np.zeros((), np.int64)))
    return ValuesAndIndices(*dispatch.apply_many(along, (x,), ((dimension(dim, x.array.ndim, along.name),), keepdim)))


def maximum(x: Tensor, dim: int | None, keepdim: bool) -> Any:
    """The largest element, or (values, positions) along a dimension."""
    return _extremes(MAX, MAX_DIM, x, dim, keepdim)


def minimum(x: Tensor, dim: int | None, keepdim: bool) -> Any:
    """The smallest element, or (values, positions) along a dimension."""
    return _extremes(MIN, MIN_DIM, x, dim, keepdim)


def amax(x: Tensor, dim: int | Sequence[int] | None = None, keepdim: bool = False) -> Tensor:
    """The largest element along dimensions; ties share the gradient."""
    return dispatch.apply(AMAX, (x,), (_dims(x, dim, "amax"), keepdim))


def amin(x: Tensor, dim: int | Sequence[int] | None = None, keepdim: bool = False) -> Tensor:
    """The smallest element along dimensions; ties share the gradient."""
    return dispatch.apply(AMIN, (x,), (_dims(x, dim, "amin"), keepdim))


def argmax(x: Tensor, dim: int | None = None, keepdim: bool = False) -> Tensor:
    """The position of the largest element, counted through all elements where there is no dimension."""
    x, shape = x.detach(), x.array.shape
    if dim is None:
        position = argmax(x.reshape(-1), 0)
        return position.reshape(*(1,) * len(shape)) if keepdim else position
    if not shape:
        return dispatch.new(np.zeros((), np.int64))
    return dispatch.apply(ARGMAX, (x,), ((dimension(dim, x.array.ndim, "argmax"),), keepdim))


def logsumexp(x: Tensor, dim: int | Sequence[int], keepdim: bool = False) -> Tensor:
    """log(sum(exp(x)))."""
    return dispatch.apply(LOGSUMEXP, (_float(x),), (_dims(x, dim, "logsumexp"), keepdim))


def softmax(x: Tensor, dim: int, *, dtype: Any = None) -> Tensor:
    """exp(x) / sum(exp(x))."""
    return dispatch.apply(SOFTMAX, (_float(x if dtype is None else x.to(dtype)),), _dims(x, dim, "softmax"))


def log_softmax(x: Tensor, dim: int, *, dtype: Any = None) -> Tensor:
    """log(softmax(x)), without the loss of digits."""
    return dispatch.apply(LOG_SOFTMAX, (_float(x if dtype is None else x.to(dtype)),), _dims(x, dim, "log_softmax"))


def cumsum(x: Tensor, dim: int, *, dtype: Any = None) -> Tensor:
    """Running sums."""
    place = dimension(dim, x.array.ndim, "cumsum")
    x = x if dtype is None else x.to(dtype)
    x = x if category(x.array.dtype) == 2 else x.to(INT64)
    return dispatch.apply(CUMSUM, (x,), place) if x.array.ndim else x.clone()
