"""Normalisations in the forms of ATen, slopes of functions that are known at points, and shares of the order without NaN."""

# pyright: reportUnknownLambdaType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
from __future__ import annotations

from typing import Any

import numpy

from wengert.eager.library.calling import Function, aten
from wengert.eager.library.reductions import REDUCTIONS, quantile
from wengert.eager.operations.creation import as_tensor
from wengert.eager.operations.joining import cat, stack
from wengert.eager.recording import dispatch

_NORMALISED, _EVALUATED = (aten(f"_native_batch_norm_legit{name}", tracked=(0,)) for name in (".no_stats", "_no_training.default"))


def index_reduce(x: Any, dim: int, index: Any, source: Any, reduce: str, *, include_self: bool = True) -> Any:
    """Slices of a source combined into those of x at positions along a dimension: by their product, mean, largest or smallest."""
    if x.array.ndim == 0:
        return index_reduce(x.reshape(1), dim, index.reshape(-1), source.reshape(-1), reduce, include_self=include_self).reshape(())
    d = dim % x.array.ndim
    shape = [index.array.size if i == d else 1 for i in range(x.array.ndim)]
    places = index.reshape(*shape).expand(*source.array.shape)
    return REDUCTIONS["scatter_reduce"](x, dim, places, source, reduce, include_self=include_self)


def native_batch_norm(x: Any, weight: Any, bias: Any, running_mean: Any, running_var: Any, training: bool, momentum: float, eps: float) -> Any:
    """x normalised by channels, the mean and the inverse deviation of the batch; the running statistics are moved."""
    if not training:
        return _EVALUATED(x, weight, bias, running_mean, running_var, momentum, eps)
    made = _NORMALISED(x, weight, bias, True, momentum, eps)
    rows = x.array.size // x.array.shape[1]
    for running, now in ((running_mean, made[1].detach()), (running_var, x.detach().movedim(1, 0).reshape(x.array.shape[1], -1).var(1))):
        if running is not None and rows > 1:
            running.copy_(running * (1 - momentum) + now * momentum)
    return made


def _slope(x: Any, d: int, step: Any, order: int) -> Any:
    """Central differences along a dimension, and one-sided ones at its ends; ``step`` is a number or the coordinates."""
    n = x.array.shape[d]

    def at(start: int, stop: int) -> Any:
        return x.narrow(d, start, stop - start)

    if hasattr(step, "array"):
        shape = [-1 if i == d else 1 for i in range(x.array.ndim)]
        h = (step[1:] - step[:-1]).reshape(*shape)
    else:
        h = dispatch.constant(numpy.full([n - 1 if i == d else 1 for i in range(x.array.ndim)], step, x.array.dtype))
    low, high = h.narrow(d, 0, n - 2), h.narrow(d, 1, n - 2)
    inner = (low * low * at(2, n) + (high * high - low * low) * at(1, n - 1) - high * high * at(0, n - 2)) / (low * high * (low + high))
    first, last = h.narrow(d, 0, 1), h.narrow(d, n - 2, 1)
    left, right = (at(1, 2) - at(0, 1)) / first, (at(n - 1, n) - at(n - 2, n - 1)) / last
    if order == 2:
        a, b = first, h.narrow(d, 1, 1)
        left = -(2 * a + b) / (a * (a + b)) * at(0, 1) + (a + b) / (a * b) * at(1, 2) - a / (b * (a + b)) * at(2, 3)
        a, b = h.narrow(d, n - 3, 1), last
        right = b / (a * (a + b)) * at(n - 3, n - 2) - (a + b) / (a * b) * at(n - 2, n - 1) + (2 * b + a) / (b * (a + b)) * at(n - 1, n)
    return cat([left, inner, right], d)


def gradient(x: Any, *, spacing: Any = 1, dim: Any = None, edge_order: int = 1) -> Any:
    """Slopes of a function that is known at points, along each dimension."""
    dims = list(range(x.array.ndim)) if dim is None else [dim] if isinstance(dim, int) else list(dim)
    spacing = 1 if spacing is None else spacing
    steps = list(spacing) if isinstance(spacing, list | tuple) else [spacing] * len(dims)
    return tuple(_slope(x, d % x.array.ndim, step, edge_order) for d, step in zip(dims, steps, strict=True))


def nanquantile(x: Any, q: Any, dim: int | None = None, keepdim: bool = False, *, interpolation: str = "linear") -> Any:
    """:func:`quantile` of what is not NaN; a row of NaN alone is NaN."""
    if x.array.ndim == 0:
        return nanquantile(x.reshape(1), q, 0, interpolation=interpolation)
    rows = (x.reshape(-1) if dim is None else x.movedim(dim, -1)).detach()
    if not bool((rows != rows).any()):
        return quantile(x, q, dim, keepdim, interpolation=interpolation)
    flat = (x.reshape(1, -1) if dim is None else x.movedim(dim, -1).reshape(-1, x.array.shape[dim])).unbind(0)
    parts = [quantile(row[row.detach() == row.detach()], q) if bool((row.detach() == row.detach()).any()) else row[:1].sum() * as_tensor(q) for row in flat]
    made = stack(parts, -1)
    left = as_tensor(q).array.shape
    kept = () if dim is None else tuple(n for i, n in enumerate(x.array.shape) if i != dim % x.array.ndim)
    made = made.reshape(*left, *kept)
    if not keepdim:
        return made
    return made.reshape(*left, *(1,) * x.array.ndim) if dim is None else made.unsqueeze(len(left) + dim % x.array.ndim)


STATISTICS: dict[str, Function] = {
    "index_reduce": index_reduce,
    "native_layer_norm": aten("native_layer_norm.default", tracked=(0,)),
    "native_group_norm": aten("native_group_norm.default"),
    "native_batch_norm": native_batch_norm,
    "native_dropout_backward": lambda gradient, mask, scale: gradient * mask.to(gradient.array.dtype) * scale,
    "gradient": gradient,
    "nanquantile": nanquantile,
}
