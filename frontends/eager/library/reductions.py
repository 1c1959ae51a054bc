"""Reductions, running ones, and products that are not among those with code of their own."""

# pyright: reportUnknownLambdaType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
# (tables of one-line functions, whose arguments have no types)

from __future__ import annotations

from math import prod
from typing import Any

import numpy

from wengert.eager.containers import ValuesAndIndices
from wengert.eager.errors import ShapeError
from wengert.eager.library.calling import Function, aten, in_dtype
from wengert.eager.operations.creation import as_tensor
from wengert.eager.operations.elementwise import where
from wengert.eager.operations.joining import stack
from wengert.eager.operations.memory.views import check_rank
from wengert.eager.operations.reading import seen
from wengert.eager.operations.reduction import std_mean, var_mean
from wengert.eager.recording import dispatch

inf = float("inf")


def _running_extreme(name: str) -> Function:
    op = aten(name)
    return lambda x, dim: ValuesAndIndices(*op(x, dim))


def median(x: Any, dim: int | None = None, keepdim: bool = False, *, name: str = "median") -> Any:
    """The middle element, the lower of two; along a dimension also its position."""
    return aten(f"{name}.default")(x) if dim is None else ValuesAndIndices(*aten(f"{name}.dim")(x, dim, keepdim))


def cumprod(x: Any, dim: int, *, dtype: Any = None) -> Any:
    """Running products."""
    x = in_dtype(x, dtype)
    return aten("cumprod.default")(x if x.array.dtype.kind in "fc" else x.long(), dim)


def argmin(x: Any, dim: int | None = None, keepdim: bool = False) -> Any:
    """The position of the smallest element."""
    return (-x.detach()).argmax(dim, keepdim)


def nansum(x: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    """The sum of what is not NaN."""
    x = in_dtype(x, dtype)
    return (x.masked_fill(x.detach() != x.detach(), 0) if x.is_floating_point() else x).sum(dim, keepdim)


def nanmean(x: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    """The mean of what is not NaN."""
    x = in_dtype(x, dtype)
    return nansum(x, dim, keepdim) / (x.detach() == x.detach()).to(x.array.dtype).sum(dim, keepdim)


def quantile(x: Any, q: Any, dim: int | None = None, keepdim: bool = False, *, interpolation: str = "linear") -> Any:
    """Elements at shares of the order, between two neighbours by ``interpolation``."""
    shares = seen(as_tensor(q))
    if interpolation not in ("linear", "lower", "higher", "midpoint", "nearest"):
        raise ShapeError(f"quantile: interpolation must be linear, lower, higher, midpoint or nearest, found {interpolation!r}")
    rank, along = x.array.ndim, dim if x.array.ndim else None
    x, d = (x.reshape(-1), 0) if along is None else (x, along % rank)
    places = numpy.atleast_1d(shares).astype(x.array.dtype) * (x.array.shape[d] - 1)
    low, high = numpy.floor(places).astype(numpy.int64), numpy.ceil(places).astype(numpy.int64)
    up = (high > low) * 1.0
    weights = {"linear": places - low, "lower": 0 * places, "higher": up, "midpoint": up / 2, "nearest": numpy.rint(places) - low}[interpolation]
    ordered = x.sort(d)[0]
    below, above = (ordered.index_select(d, dispatch.new(p)) for p in (low, high))
    shape = [-1 if i == d else 1 for i in range(x.array.ndim)]
    made = below + (above - below) * dispatch.new(weights.astype(x.array.dtype)).reshape(*shape)
    undefined = (x.detach() != x.detach()).to(x.array.dtype).amax(d, True) > 0
    made = made.masked_fill(undefined, float("nan")).movedim(d, 0)
    if keepdim:
        made = made.unsqueeze(1 + d) if along is not None else made.reshape(-1, *(1,) * rank)
    return made if shares.ndim else made.select(0, 0)


def count_nonzero(x: Any, dim: Any = None) -> Any:
    """How many elements are not zero."""
    return (x != 0).sum(dim)


def aminmax(x: Any, *, dim: int | None = None, keepdim: bool = False) -> Any:
    """The smallest and the largest element."""
    return x.amin(dim, keepdim), x.amax(dim, keepdim)


def trapezoid(y: Any, x: Any = None, *, dx: float = 1, dim: int = -1, running: bool = False) -> Any:
    """The integral of samples by trapezoids."""
    n = y.array.shape[dim]
    width: Any = dx
    if x is not None:
        size = x.array.shape[-1 if x.array.ndim == 1 else dim]
        along = -1 if x.array.ndim == 1 else dim
        width = x.narrow(along, 1, size - 1) - x.narrow(along, 0, size - 1)
        if x.array.ndim == 1:
            shape = [1] * y.array.ndim
            shape[dim] = size - 1
            width = width.reshape(*shape)
    areas = (y.narrow(dim, 1, n - 1) + y.narrow(dim, 0, n - 1)) * 0.5 * width
    return areas.cumsum(dim) if running else areas.sum(dim)


def cov(x: Any, *, correction: int = 1, fweights: Any = None, aweights: Any = None) -> Any:
    """The covariance of variables in rows."""
    check_rank(x, "cov", 0, 2)
    x = x.reshape(1, -1) if x.array.ndim < 2 else x
    weights = None
    for given in (fweights, aweights):
        if given is not None:
            weights = given.to(x.array.dtype) if weights is None else weights * given.to(x.array.dtype)
    if weights is None:
        centred, total, lost = x - x.mean(1, True), x.array.shape[1], correction
        return (centred.matmul(centred.t()) / max(total - lost, 0)).squeeze()
    total = weights.sum()
    centred = x - (x * weights).sum(1, True) / total
    lost = correction * ((weights * aweights).sum() / total if aweights is not None else 1)
    return ((centred * weights).matmul(centred.t()) / (total - lost)).squeeze()


def corrcoef(x: Any) -> Any:
    """The correlation of variables in rows."""
    made = cov(x)
    if made.array.ndim == 0:
        return made / made
    spread = made.diagonal().sqrt()
    return made / spread.reshape(-1, 1) / spread


def tensordot(x: Any, other: Any, dims: Any = 2) -> Any:
    """Products summed along pairs of dimensions."""
    dims = dims.tolist() if hasattr(dims, "array") else dims
    first, second = (list(range(-dims, 0)), list(range(dims))) if isinstance(dims, int) else ([v] if isinstance(v, int) else list(v) for v in dims)
    first, second = ([d % v.array.ndim for d in given] for given, v in ((first, x), (second, other)))
    rows, columns = ([d for d in range(v.array.ndim) if d not in given] for given, v in ((first, x), (second, other)))
    for i, j in zip(first, second, strict=True):  # an extent of 1 goes with any other
        if x.array.shape[i] == 1 != other.array.shape[j]:
            other = other.sum(j, True)
        elif other.array.shape[j] == 1 != x.array.shape[i]:
            x = x.sum(i, True)
    shape = [*(x.array.shape[d] for d in rows), *(other.array.shape[d] for d in columns)]
    inner = prod(x.array.shape[d] for d in first)
    height, width = prod(shape[: len(rows)]), prod(shape[len(rows) :])
    return x.permute(*rows, *first).reshape(height, inner).matmul(other.permute(*second, *columns).reshape(inner, width)).reshape(*shape)


def cross(x: Any, other: Any, dim: int | None = None) -> Any:
    """The product of vectors of three."""
    if x.array.ndim != other.array.ndim:
        raise ShapeError(f"cross: expected tensors of one rank, found {x.array.ndim} and {other.array.ndim}")
    d = dim if dim is not None else next(i for i, n in enumerate(x.array.shape) if n == 3)
    x, other = (v.expand(*numpy.broadcast_shapes(x.array.shape, other.array.shape)) for v in (x, other))
    a, b = x.unbind(d), other.unbind(d)
    return stack([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]], d)


def cdist(x1: Any, x2: Any, p: float = 2.0, compute_mode: Any = None) -> Any:
    """Distances of all pairs of rows."""
    if min(x1.array.ndim, x2.array.ndim) < 2 or x1.array.shape[-1] != x2.array.shape[-1]:
        raise ShapeError(f"cdist: rows of {list(x1.array.shape)} and {list(x2.array.shape)} are not of one length")
    distances = (x1.unsqueeze(-2) - x2.unsqueeze(-3)).norm(p, -1)
    return where(distances.detach() == 0, 0 * distances.detach(), distances)  # whose derivative is 0, also where a cotangent is infinite


def baddbmm(x: Any, batch1: Any, batch2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """beta x + alpha batch1 batch2, for matrices of a batch each."""
    check_rank(batch1, "baddbmm", 3, 3)
    check_rank(batch2, "baddbmm", 3, 3)
    product = batch1.matmul(batch2)
    if numpy.broadcast_shapes(x.array.shape, product.array.shape) != product.array.shape:
        raise ShapeError(f"baddbmm: a {list(x.array.shape)} tensor does not expand to the products' {list(product.array.shape)}")
    return _added(x, product, beta, alpha)


def renorm(x: Any, p: float, dim: int, maxnorm: float) -> Any:
    """x with slices of at most this norm."""
    if x.array.ndim < 2:
        raise ShapeError(f"renorm: expected a tensor of at least 2 dimensions, found one of {x.array.ndim}")
    others = tuple(d for d in range(x.array.ndim) if d != dim % x.array.ndim)
    is_longer = x.detach().norm(p, others, True) > maxnorm
    longer = where(is_longer, x, 0 * x.detach())  # the others' derivatives, which may be NaN, are not asked for
    return where(is_longer, longer * (maxnorm / (longer.norm(p, others, True) + 1e-7)), x)


def kron(x: Any, other: Any) -> Any:
    """The Kronecker product."""
    rank = max(x.array.ndim, other.array.ndim)
    a, b = ((1,) * (rank - v.array.ndim) + v.array.shape for v in (x, other))
    left = [n for pair in zip(a, (1,) * rank, strict=True) for n in pair]
    right = [n for pair in zip((1,) * rank, b, strict=True) for n in pair]
    return (x.reshape(*left) * other.reshape(*right)).reshape(*(n * m for n, m in zip(a, b, strict=True)))


def _added(x: Any, product: Any, beta: float, alpha: float) -> Any:
    return product * alpha if beta == 0 else x * beta + product * alpha


def _unique(x: Any, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None) -> Any:
    """The elements that differ, in order; NaN differs from NaN. The gradient goes to the first of equal elements (PyTorch has none)."""
    _, first, inverse, counts = numpy.unique(seen(x), return_index=True, return_inverse=True, return_counts=True, axis=dim, equal_nan=False)
    positions = dispatch.new(first)
    values = x.reshape(-1)[positions] if dim is None else x.index_select(dim, positions)
    others = [*([inverse] if return_inverse else []), *([counts] if return_counts else [])]
    return (values, *map(dispatch.new, others)) if others else values


REDUCTIONS: dict[str, Function] = {
    "argmin": argmin,
    "cumprod": cumprod,
    "cummax": _running_extreme("cummax.default"),
    "cummin": _running_extreme("cummin.default"),
    "logcumsumexp": aten("logcumsumexp.default"),
    "median": median,
    "nanmedian": lambda x, dim=None, keepdim=False: median(x, dim, keepdim, name="nanmedian"),
    "kthvalue": lambda x, k, dim=-1, keepdim=False: ValuesAndIndices(*aten("kthvalue.default")(x, k, dim, keepdim)),
    "quantile": quantile,
    "nansum": nansum,
    "nanmean": nanmean,
    "count_nonzero": count_nonzero,
    "aminmax": aminmax,
    "var_mean": var_mean,
    "std_mean": std_mean,
    "dist": lambda x, other, p=2: (x - other).norm(p),
    "renorm": renorm,
    "msort": lambda x: x.sort(0)[0],
    "trapezoid": trapezoid,
    "trapz": trapezoid,
    "cumulative_trapezoid": lambda y, x=None, *, dx=1, dim=-1: trapezoid(y, x, dx=dx, dim=dim, running=True),
    "cov": cov,
    "corrcoef": corrcoef,
    "tensordot": tensordot,
    "cross": cross,
    "cdist": cdist,
    "kron": kron,
    "inner": lambda x, other: x * other if not (x.array.ndim and other.array.ndim) else tensordot(x, other, ([-1], [-1])),
    "vdot": lambda x, other: x.dot(other),
    "ger": lambda x, vec2: x.reshape(-1, 1) * vec2,
    "addmv": lambda x, mat, vec, *, beta=1, alpha=1: _added(x, mat.matmul(vec), beta, alpha),
    "addr": lambda x, vec1, vec2, *, beta=1, alpha=1: _added(x, vec1.reshape(-1, 1) * vec2, beta, alpha),
    "addbmm": lambda x, batch1, batch2, *, beta=1, alpha=1: _added(x, batch1.matmul(batch2).sum(0), beta, alpha),
    "baddbmm": baddbmm,
    "unique": _unique,
    "scatter_reduce": lambda x, dim, index, src, reduce, *, include_self=True: aten("scatter_reduce.two")(
        x, dim, index, src, reduce, include_self=include_self
    ),
    "put": lambda x, index, source, accumulate=False: aten("put.default")(x, index, source, accumulate),
    "logdet": lambda x: dispatch_linalg("slogdet", x)[1],
    "matrix_exp": aten("matrix_exp.default"),
}


def dispatch_linalg(name: str, *args: Any) -> Any:
    """A function of :mod:`wengert.eager.library.linalg`."""
    from wengert.eager.library.linalg import LINALG

    return LINALG[name](*args)
