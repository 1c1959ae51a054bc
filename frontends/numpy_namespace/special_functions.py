"""Functions of :mod:`scipy.special`, by SciPy's names, that follow from the error and gamma functions, logarithms and Bessel's functions.

SciPy itself finds them here: with SCIPY_ARRAY_API=1 its functions of traced arrays are those of ``x.__array_namespace__().special``. On concrete
arguments they are SciPy's. What SciPy defines at a limit (``xlogy(0, 0)``) has the derivative of the constant there.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from importlib import import_module
from math import inf, nan, pi
from typing import Any, ParamSpec, TypeVar

import numpy as np

from wengert.dialects import chlo
from wengert.dialects.builder import OpBuilder, Value
from wengert.frontends.tracing.operands import builder, is_traced, matched, traced, value_of
from wengert.numpy.comparisons import isfinite, isnan, where
from wengert.numpy.dispatch import Array, ArrayLike
from wengert.numpy.dtypes import astype, result_type
from wengert.numpy.elementwise import abs, copysign, exp, expm1, floor, log, log1p, pow, sin, sqrt
from wengert.numpy.elementwise_calls import single_op
from wengert.transforms.ad.rules.special import bessel_i0e

P = ParamSpec("P")
R = TypeVar("R")


def scipy_function(name: str) -> Any:
    """A function of SciPy's, which is imported when the first is needed."""
    return getattr(import_module("scipy.special"), name)


def concrete_by_scipy(function: Callable[P, R]) -> Callable[P, R]:
    """Makes a function of traced arguments one of all: where nothing is traced, SciPy's of the same name is called."""

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        return function(*args, **kwargs) if is_traced(*args) else scipy_function(function.__name__)(*args, **kwargs)

    return call


def _floats(*operands: ArrayLike) -> list[Any]:
    """Operands as traced arrays of their common dtype, of floats at least, broadcast to each other."""
    dtype = result_type(*operands)
    values = [traced(v) for v in matched(*operands)[0]]
    return [astype(v, np.float64) for v in values] if dtype.kind in "biu" else values


def _op(emit: Callable[..., Value], *operands: ArrayLike) -> Array:
    return traced(emit(builder(), *[value_of(x) for x in _floats(*operands)]))


# -- gamma and zeta functions


@concrete_by_scipy
def gammaln(x: ArrayLike, /) -> Array:
    """The logarithm of the absolute value of the gamma function."""
    return _op(single_op(chlo.LgammaOp), x)


@concrete_by_scipy
def gammasgn(x: ArrayLike, /) -> Array:
    """The sign of the gamma function; NaN at its poles among negative integers."""
    (x,) = _floats(x)
    alternating = where(floor(x) % 2 == 0, 1.0, -1.0)
    negative = where((floor(x) == x) | isnan(x), nan, alternating)
    return astype(where(x == 0, copysign(1.0, x), where(x > 0, 1.0, negative)), x.dtype)


@concrete_by_scipy
def gamma(x: ArrayLike, /) -> Array:
    """The gamma function, the exponential of :func:`gammaln` with its sign: its relative error grows with the result's logarithm."""
    return gammasgn(x) * exp(gammaln(x))


@concrete_by_scipy
def betaln(a: ArrayLike, b: ArrayLike, /) -> Array:
    """The logarithm of the absolute value of the beta function, a sum of :func:`gammaln`; NaN where that has infinities of both signs."""
    a, b = _floats(a, b)
    return gammaln(a) + gammaln(b) - gammaln(a + b)


@concrete_by_scipy
def psi(x: ArrayLike, /) -> Array:
    """The derivative of :func:`gammaln`; at the pole 0 an infinity of the other sign than the zero's."""
    (x,) = _floats(x)
    return where(x == 0, copysign(inf, -x), _op(single_op(chlo.DigammaOp), where(x == 0, 1.0, x)))


def _zeta(b: OpBuilder, x: Value, q: Value) -> Value:
    return b.like(chlo.ZetaOp, x, q)


@concrete_by_scipy
def zeta(x: ArrayLike, q: ArrayLike = 1.0, /) -> Array:
    """The Hurwitz zeta function for positive q, Riemann's for q = 1."""
    return _op(_zeta, x, q)


# -- logarithms, entropies and distributions


def _times_logarithm(x: ArrayLike, y: ArrayLike, logarithm: Callable[[Any], Any]) -> Array:
    x, y = _floats(x, y)
    constant = (x == 0) & ~isnan(y)
    return where(constant, 0.0, x * logarithm(where(constant, 1.0, y)))


@concrete_by_scipy
def xlogy(x: ArrayLike, y: ArrayLike, /) -> Array:
    """``x * log(y)``, and 0 where x is 0 (with derivative 0 there)."""
    return _times_logarithm(x, y, log)


@concrete_by_scipy
def xlog1py(x: ArrayLike, y: ArrayLike, /) -> Array:
    """``x * log(1 + y)``, and 0 where x is 0."""
    return _times_logarithm(x, y, log1p)


@concrete_by_scipy
def entr(x: ArrayLike, /) -> Array:
    """``-x * log(x)``, 0 at 0 and -infinity for negative x."""
    (x,) = _floats(x)
    return where(x < 0, -inf, -xlogy(where(x < 0, 0.0, x), where(x < 0, 1.0, x)))


@concrete_by_scipy
def rel_entr(x: ArrayLike, y: ArrayLike, /) -> Array:
    """``x * log(x / y)`` for positive x and y, 0 where x is 0 and y is not negative, infinity elsewhere."""
    x, y = _floats(x, y)
    inside = ((x > 0) & (y > 0)) | isnan(x) | isnan(y)
    usual = where(inside, x, 1.0) * (log(where(inside, x, 1.0)) - log(where(inside, y, 1.0)))
    return where(inside, usual, where((x == 0) & (y >= 0), 0.0, inf))


@concrete_by_scipy
def kl_div(x: ArrayLike, y: ArrayLike, /) -> Array:
    """``rel_entr(x, y) - x + y``, and infinity where that has no meaning."""
    x, y = _floats(x, y)
    outside = (x < 0) | (y < 0) | ((x > 0) & (y == 0))
    return where(outside & ~isnan(x) & ~isnan(y), inf, rel_entr(x, y) - x + y)


@concrete_by_scipy
def logit(x: ArrayLike, /) -> Array:
    """``log(x / (1 - x))``, the inverse of expit."""
    (x,) = _floats(x)
    return log(x) - log1p(-x)


@concrete_by_scipy
def expit(x: ArrayLike, /) -> Array:
    """``1 / (1 + exp(-x))``."""
    return _op(OpBuilder.logistic, x)


@concrete_by_scipy
def log_expit(x: ArrayLike, /) -> Array:
    """The logarithm of :func:`expit`, without overflow."""
    (x,) = _floats(x)
    return where(x < 0, x, 0.0) - log1p(exp(-abs(x)))


@concrete_by_scipy
def ndtr(x: ArrayLike, /) -> Array:
    """The distribution function of the normal distribution."""
    (x,) = _floats(x)
    return 0.5 * _op(single_op(chlo.ErfcOp), x * -(0.5**0.5))


@concrete_by_scipy
def huber(delta: ArrayLike, r: ArrayLike, /) -> Array:
    """``r^2 / 2`` for ``|r| <= delta``, ``delta (|r| - delta / 2)`` beyond, infinity for a negative delta."""
    delta, r = _floats(delta, r)
    return where(delta < 0, inf, where(abs(r) <= delta, 0.5 * r * r, delta * (abs(r) - 0.5 * delta)))


@concrete_by_scipy
def pseudo_huber(delta: ArrayLike, r: ArrayLike, /) -> Array:
    """``delta^2 (sqrt(1 + (r / delta)^2) - 1)``, 0 for delta = 0, infinity for a negative one."""
    delta, r = _floats(delta, r)
    ratio = r / where(delta <= 0, 1.0, delta)
    # delta^2 (sqrt(1 + u^2) - 1) is r^2 / (sqrt(1 + u^2) + 1), without cancellation
    usual = where(abs(r) == inf, inf, r * r / (sqrt(1 + ratio * ratio) + 1))
    return where(delta < 0, inf, where(delta == 0, 0.0, usual))


# -- powers and trigonometry


@concrete_by_scipy
def boxcox(x: ArrayLike, lmbda: ArrayLike, /) -> Array:
    """``(x^lmbda - 1) / lmbda``, the logarithm for lmbda = 0."""
    x, lmbda = _floats(x, lmbda)
    return _power_less_one(log(x), lmbda)


@concrete_by_scipy
def boxcox1p(x: ArrayLike, lmbda: ArrayLike, /) -> Array:
    """:func:`boxcox` of ``1 + x``."""
    x, lmbda = _floats(x, lmbda)
    return _power_less_one(log1p(x), lmbda)


def _power_less_one(logarithm: Any, exponent: Any) -> Any:
    small = abs(exponent) < 1e-19
    safe = where(small, 1.0, exponent)
    # the first two terms of the series, so that the derivative by the exponent is right at 0
    return where(small, logarithm * (1 + exponent * where(isfinite(logarithm), logarithm, 0.0) / 2), expm1(safe * logarithm) / safe)


@concrete_by_scipy
def inv_boxcox(y: ArrayLike, lmbda: ArrayLike, /) -> Array:
    """The inverse of :func:`boxcox`."""
    y, lmbda = _floats(y, lmbda)
    safe = where(lmbda == 0, 1.0, lmbda)
    return where(lmbda == 0, exp(y), exp(log1p(safe * y) / safe))


@concrete_by_scipy
def exprel(x: ArrayLike, /) -> Array:
    """``(exp(x) - 1) / x``, and 1 at 0."""
    (x,) = _floats(x)
    small = abs(x) < 1e-16
    safe = where(small, 1.0, x)
    return where(small, 1 + x / 2, where(x == inf, inf, expm1(safe) / safe))


@concrete_by_scipy
def sinc(x: ArrayLike, /) -> Array:
    """``sin(pi x) / (pi x)``, and 1 at 0."""
    (x,) = _floats(x)
    safe = pi * where(x == 0, 1.0, x)
    return where(x == 0, 1.0 - x * x * (pi * pi / 6), sin(safe) / safe)


@concrete_by_scipy
def cosm1(x: ArrayLike, /) -> Array:
    """``cos(x) - 1``, exact for small x."""
    (x,) = _floats(x)
    half = sin(x / 2)
    return -2 * half * half


# -- exponentials and Bessel's functions


@concrete_by_scipy
def exp2(x: ArrayLike, /) -> Array:
    """2 to the power x."""
    return pow(2.0, _floats(x)[0])


@concrete_by_scipy
def exp10(x: ArrayLike, /) -> Array:
    """10 to the power x."""
    return pow(10.0, _floats(x)[0])


@concrete_by_scipy
def cbrt(x: ArrayLike, /) -> Array:
    """The cubic root, negative for negative x."""
    return _op(OpBuilder.cbrt, x)


@concrete_by_scipy
def i0e(x: ArrayLike, /) -> Array:
    """The modified Bessel function of order 0 times ``exp(-|x|)``."""
    return _op(bessel_i0e, x)


@concrete_by_scipy
def i1e(x: ArrayLike, /) -> Array:
    """The modified Bessel function of order 1 times ``exp(-|x|)``."""
    return _op(single_op(chlo.BesselI1eOp), x)


@concrete_by_scipy
def i0(x: ArrayLike, /) -> Array:
    """The modified Bessel function of order 0."""
    return i0e(x) * exp(abs(x))


@concrete_by_scipy
def i1(x: ArrayLike, /) -> Array:
    """The modified Bessel function of order 1."""
    return i1e(x) * exp(abs(x))


__all__ = [
    "betaln",
    "boxcox",
    "boxcox1p",
    "cbrt",
    "cosm1",
    "entr",
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
    "log_expit",
    "logit",
    "ndtr",
    "pseudo_huber",
    "psi",
    "rel_entr",
    "sinc",
    "xlog1py",
    "xlogy",
    "zeta",
]  # fmt: skip
