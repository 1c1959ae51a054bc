"""Reductions and normalisations of those elements where a mask holds: ``torch.masked``."""

# pyright: reportUnknownLambdaType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
from __future__ import annotations

from typing import Any

import numpy

from wengert.eager import library
from wengert.eager.containers import listed
from wengert.eager.library.calling import Function, in_dtype
from wengert.eager.operations.promotion import default_dtype
from wengert.eager.recording import dispatch

inf = float("inf")


def _mask(x: Any, mask: Any) -> Any:
    """The mask in the shape of the tensor; all of it without one."""
    if mask is None:
        return dispatch.constant(numpy.ones(x.array.shape, numpy.bool_))
    return mask.to(numpy.bool_).expand(*x.array.shape)


def _fits(x: Any, value: float) -> Any:
    """The value, or the nearest that integers have."""
    if x.array.dtype.kind in "fc" or value not in (inf, -inf):
        return value
    info = numpy.iinfo(x.array.dtype)
    return int(info.max if value > 0 else info.min)


def _set(x: Any, mask: Any, value: float) -> Any:
    """The elements, with this value where the mask does not hold, whatever stands there."""
    return x.masked_fill(~_mask(x, mask), _fits(x, value)) if mask is not None else x


def _dims(x: Any, dim: Any) -> tuple[int, ...]:
    return tuple(range(x.array.ndim)) if dim is None or dim == () else tuple(d % max(x.array.ndim, 1) for d in listed(dim))


def _reals(x: Any, dtype: Any) -> Any:
    x = in_dtype(x, dtype)
    return x if x.array.dtype.kind in "fc" else x.to(default_dtype())


def _sum(x: Any, dim: Any = None, *, keepdim: bool = False, dtype: Any = None, mask: Any = None) -> Any:
    x = _set(in_dtype(x, dtype), mask, 0)
    return x.sum(_dims(x, dim), keepdim) if x.array.ndim else x.sum()


def _prod(x: Any, dim: Any = None, *, keepdim: bool = False, dtype: Any = None, mask: Any = None) -> Any:
    x = _set(in_dtype(x, dtype), mask, 1)
    for d in sorted(_dims(x, dim), reverse=True):
        x = x.prod(d, keepdim)
    return x


def _count(x: Any, dim: Any, keepdim: bool, mask: Any, dtype: Any) -> Any:
    counted = _mask(x, mask).to(dtype)
    return counted.sum(_dims(x, dim), keepdim) if x.array.ndim else counted.sum()


def _mean(x: Any, dim: Any = None, *, keepdim: bool = False, dtype: Any = None, mask: Any = None) -> Any:
    x = in_dtype(x, dtype)
    return _sum(x, dim, keepdim=keepdim, mask=mask) / _count(x, dim, keepdim, mask, x.array.dtype)


def _extreme(largest: bool) -> Function:
    def run(x: Any, dim: Any = None, *, keepdim: bool = False, dtype: Any = None, mask: Any = None) -> Any:
        x = _set(in_dtype(x, dtype), mask, -inf if largest else inf)
        return (x.amax if largest else x.amin)(_dims(x, dim), keepdim)

    return run


def _position(largest: bool) -> Function:
    def run(x: Any, dim: int | None = None, *, keepdim: bool = False, dtype: Any = None, mask: Any = None) -> Any:
        x = _set(in_dtype(x, dtype), mask, -inf if largest else inf)
        return (x.argmax if largest else x.argmin)(dim, keepdim).to(x.array.dtype)  # as in PyTorch

    return run


def _running(name: str, neutral: float) -> Function:
    return lambda x, dim, *, dtype=None, mask=None: getattr(_set(in_dtype(x, dtype), mask, neutral), name)(dim)


def _normal(name: str, neutral: float) -> Function:
    """A softmax over the elements where the mask holds; NaN stays where there is none."""

    def run(x: Any, dim: int, *, dtype: Any = None, mask: Any = None) -> Any:
        x = _set(in_dtype(x, dtype), mask, neutral)
        return (-x).softmax(dim) if name == "softmin" else getattr(x, name)(dim)

    return run


def _variance(root: bool) -> Function:
    def run(
        x: Any, dim: Any = None, unbiased: bool | None = None, *, correction: float | None = None, keepdim: bool = False, dtype: Any = None, mask: Any = None
    ) -> Any:
        x = _reals(x, dtype)
        lost = correction if correction is not None else int(unbiased if unbiased is not None else True)
        centred = x - _mean(x, dim, keepdim=True, mask=mask)
        squares = _sum(centred * (centred.conj() if x.array.dtype.kind == "c" else centred), dim, keepdim=keepdim, mask=mask)
        count = _count(x, dim, keepdim, mask, x.array.dtype) - lost
        made = squares / count.maximum(count.detach() * 0)
        return made.sqrt() if root else made

    return run


def _norm(x: Any, ord: float = 2.0, dim: Any = None, *, keepdim: bool = False, dtype: Any = None, mask: Any = None) -> Any:
    x = _set(in_dtype(x, dtype), mask, inf if ord == -inf else 0)
    return x.norm(ord, _dims(x, dim) or None, keepdim)


def _normalize(x: Any, ord: float, dim: int, *, eps: float = 1e-12, dtype: Any = None, mask: Any = None) -> Any:
    x = _set(in_dtype(x, dtype), mask, 0)
    size = _norm(x, ord, dim, keepdim=True, mask=mask)
    return x / size.maximum(size.detach() * 0 + eps)


def _median(x: Any, dim: int = -1, *, keepdim: bool = False, dtype: Any = None, mask: Any = None) -> Any:
    x = _set(in_dtype(x, dtype), mask, float("nan"))
    function = library.functions()["nanmedian"]
    return function(x) if x.array.ndim == 0 else function(x, dim, keepdim)[0]


def _logsumexp(x: Any, dim: Any = None, *, keepdim: bool = False, dtype: Any = None, mask: Any = None) -> Any:
    x = _set(in_dtype(x, dtype), mask, -inf)
    return x.logsumexp(_dims(x, dim), keepdim)


def _logaddexp(x: Any, other: Any, *, dtype: Any = None, input_mask: Any = None, other_mask: Any = None) -> Any:
    x, other = _set(in_dtype(x, dtype), input_mask, -inf), _set(in_dtype(other, dtype), other_mask, -inf)
    return library.functions()["logaddexp"](x, other)


MASKED: dict[str, Function] = {
    "sum": _sum,
    "prod": _prod,
    "mean": _mean,
    "amax": _extreme(largest=True),
    "amin": _extreme(largest=False),
    "argmax": _position(largest=True),
    "argmin": _position(largest=False),
    "cumsum": _running("cumsum", 0),
    "cumprod": _running("cumprod", 1),
    "softmax": _normal("softmax", -inf),
    "log_softmax": _normal("log_softmax", -inf),
    "softmin": _normal("softmin", inf),
    "var": _variance(root=False),
    "std": _variance(root=True),
    "norm": _norm,
    "normalize": _normalize,
    "median": _median,
    "logsumexp": _logsumexp,
    "logaddexp": _logaddexp,
}
