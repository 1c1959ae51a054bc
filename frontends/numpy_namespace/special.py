"""Functions that the standard does not have and models need: error and gamma functions, logistic, softmax, logsumexp, convolution."""

from __future__ import annotations

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
from wengert.numpy.special_functions import (
    betaln,
    boxcox,
    boxcox1p,
    cbrt,
    cosm1,
    entr,
    exp2,
    exp10,
    expit,
    exprel,
    gamma,
    gammaln,
    gammasgn,
    huber,
    i0,
    i0e,
    i1,
    i1e,
    inv_boxcox,
    kl_div,
    log_expit,
    logit,
    ndtr,
    pseudo_huber,
    psi,
    rel_entr,
    scipy_function,
    sinc,
    xlog1py,
    xlogy,
    zeta,
)


def _special(cls: type[Operation], scipy_name: str, x: ArrayLike) -> Array:
    if not isinstance(x, TracedArray):
        return scipy_function(scipy_name)(x)
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
        return scipy_function("polygamma")(n, x)
    return traced(builder().like(chlo.PolygammaOp, *matched(n * 1.0, x)[0]))


def logistic(x: ArrayLike, /) -> Array:
    """``1 / (1 + exp(-x))``."""
    if not isinstance(x, TracedArray):
        return scipy_function("expit")(x)
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


__all__ = [
    "betaln",
    "boxcox",
    "boxcox1p",
    "cbrt",
    "convolution",
    "cosm1",
    "digamma",
    "entr",
    "erf",
    "erfc",
    "erfinv",
    "exp2",
    "exp10",
    "expit",
    "exprel",
    "gamma",
    "gammaln",
    "gammasgn",
    "huber",
    "i0",
    "i0e",
    "i1",
    "i1e",
    "inv_boxcox",
    "kl_div",
    "lgamma",
    "log_expit",
    "log_softmax",
    "logistic",
    "logit",
    "logsumexp",
    "ndtr",
    "polygamma",
    "pseudo_huber",
    "psi",
    "rel_entr",
    "relu",
    "sinc",
    "softmax",
    "softplus",
    "xlog1py",
    "xlogy",
    "zeta",
]  # fmt: skip
