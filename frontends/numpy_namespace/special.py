"""Functions that the standard does not have and models need: error and gamma functions, logistic, softmax, logsumexp, convolution."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
from xdsl.ir import Operation

from wengert.dialects import chlo
from wengert.frontends.tracing.operands import builder, is_traced, matched, traced, value_of
from wengert.frontends.tracing.tracer import TracedArray
from wengert.numpy.comparisons import isfinite, where
from wengert.numpy.convolution import convolution
from wengert.numpy.dispatch import Array, ArrayLike
from wengert.numpy.elementwise import exp, log
from wengert.numpy.reductions import max, sum


def _scipy(name: str) -> Any:
    """A function of SciPy's, which is imported when the first is needed."""
    return getattr(import_module("scipy.special"), name)


def _special(cls: type[Operation], scipy_name: str, x: ArrayLike) -> Array:
    if not isinstance(x, TracedArray):
        return _scipy(scipy_name)(x)
    return traced(builder().like(cls, value_of(x, np.dtype(np.float64) if x.dtype.kind in "biu" else x.dtype)))


def erf(x: ArrayLike, /) -> Array:
    """The error function."""
    return _special(chlo.ErfOp, "erf", x)


def erfc(x: ArrayLike, /) -> Array:
    """1 - erf(x), exact for large x."""
    return _special(chlo.ErfcOp, "erfc", x)


def erfinv(x: ArrayLike, /) -> Array:
    """The inverse of the error function."""
    return _special(chlo.ErfInvOp, "erfinv", x)


def lgamma(x: ArrayLike, /) -> Array:
    """The logarithm of the absolute value of the gamma function."""
    return _special(chlo.LgammaOp, "gammaln", x)


def digamma(x: ArrayLike, /) -> Array:
    """The derivative of :func:`lgamma`."""
    return _special(chlo.DigammaOp, "digamma", x)


def polygamma(n: ArrayLike, x: ArrayLike, /) -> Array:
    """The derivative of order n of :func:`digamma`."""
    if not is_traced(n, x):
        return _scipy("polygamma")(n, x)
    return traced(builder().like(chlo.PolygammaOp, *matched(n * 1.0, x)[0]))


def logistic(x: ArrayLike, /) -> Array:
    """``1 / (1 + exp(-x))``."""
    if not isinstance(x, TracedArray):
        return _scipy("expit")(x)
    return traced(builder().logistic(value_of(x)))


def relu(x: ArrayLike, /) -> Array:
    """``maximum(x, 0)`` with derivative 0 at 0."""
    return where(x > 0, x, 0) if is_traced(x) else np.maximum(x, 0)


def logsumexp(x: ArrayLike, /, axis: Any = None, *, keepdims: bool = False) -> Array:
    """``log(sum(exp(x)))`` without overflow."""
    from wengert.frontends.transforms.differentiation_control import stop_gradient

    shift = max(x, axis, keepdims=True)
    shift = stop_gradient(where(isfinite(shift), shift, 0))
    total = log(sum(exp(x - shift), axis, keepdims=True)) + shift
    return total if keepdims else sum(total, axis)


def log_softmax(x: ArrayLike, /, axis: Any = -1) -> Array:
    """``x - logsumexp(x)``."""
    return x - logsumexp(x, axis, keepdims=True)


def softmax(x: ArrayLike, /, axis: Any = -1) -> Array:
    """``exp(x) / sum(exp(x))`` without overflow."""
    from wengert.frontends.transforms.differentiation_control import stop_gradient

    weights = exp(x - stop_gradient(max(x, axis, keepdims=True)))
    return weights / sum(weights, axis, keepdims=True)


def softplus(x: ArrayLike, /) -> Array:
    """``log(1 + exp(x))`` without overflow."""
    from wengert.numpy.elementwise import logaddexp

    return logaddexp(x, 0.0)


__all__ = ["convolution", "digamma", "erf", "erfc", "erfinv", "lgamma", "log_softmax", "logistic", "logsumexp", "polygamma", "relu", "softmax", "softplus"]
