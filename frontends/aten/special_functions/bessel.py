"""Modified Bessel functions, and the error function scaled by its own size, by Chebyshev series.

Each function is smooth in a variable of [-1, 1] on a few ranges, once its growth is divided out (C. W. Clenshaw, "Chebyshev series for mathematical
functions", 1962). Derivatives are declared: the series need not be differentiated.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from math import pi, sqrt
from typing import Any

import numpy as np

from wengert.dialects import chlo
from wengert.dialects.builder import Value
from wengert.frontends.aten.builder import AtenBuilder
from wengert.frontends.aten.meanings import means
from wengert.frontends.aten.result_types.rules import floating
from wengert.frontends.kinks import declared

Array = np.ndarray[Any, np.dtype[Any]]


@cache
def _series(name: str, degree: int) -> tuple[float, ...]:
    """The coefficients of the Chebyshev series of this degree through SciPy's values at Chebyshev's points."""
    import scipy.special

    points = np.cos(pi * (np.arange(degree + 1) + 0.5) / (degree + 1))
    functions: dict[str, Callable[[Array], Array]] = {
        # x = 4 (t + 1) in [0, 8]
        "i0e near": lambda t: scipy.special.i0e(4 * (t + 1)),
        # x = 16 / (t + 1) from 8 on, times sqrt(x), for which there is a limit
        "i0e far": lambda t: np.sqrt(16 / (t + 1)) * scipy.special.i0e(16 / (t + 1)),
        # x = 3.75 (1 + t) / (1 - t), times 1 + 2 x (M. M. Shepherd and J. G. Laframboise, 1981)
        "erfcx": lambda t: (1 + 7.5 * (1 + t) / (1 - t)) * scipy.special.erfcx(3.75 * (1 + t) / (1 - t)),
    }
    return tuple(np.polynomial.chebyshev.chebfit(points, functions[name](points), degree).tolist())


def clenshaw(b: AtenBuilder, t: Value, coefficients: tuple[float, ...]) -> Value:
    """The sum of a Chebyshev series."""
    now, before = b.full_like(t, coefficients[-1]), b.full_like(t, 0)
    twice = b.add(t, t)
    for c in coefficients[-2:0:-1]:
        now, before = b.add(b.subtract(b.multiply(twice, now), before), b.full_like(t, c)), now
    return b.add(b.subtract(b.multiply(t, now), before), b.full_like(t, coefficients[0]))


def i0e_value(b: AtenBuilder, x: Value) -> Value:
    """I0(x) exp(-|x|), without a derivative."""
    size = b.abs(x)
    near = b.compare("LE", size, b.full_like(x, 8))
    inner = b.select(near, size, b.full_like(x, 8))
    outer = b.select(near, b.full_like(x, 8), size)
    low = clenshaw(b, b.subtract(b.multiply(inner, b.full_like(x, 0.25)), b.full_like(x, 1)), _series("i0e near", 29))
    high = clenshaw(b, b.subtract(b.divide(b.full_like(x, 16), outer), b.full_like(x, 1)), _series("i0e far", 25))
    return b.stopped(b.select(near, low, b.divide(high, b.sqrt(outer))))


@means("special_i0e.default(self)", results=floating)
def i0e(b: AtenBuilder, x: Value) -> Value:
    """The modified Bessel function of order 0, times exp(-|x|)."""
    x = b.fitted(x)
    value = i0e_value(b, x)
    # d i0e(x) = (i1e(x) - sign(x) i0e(x)) dx
    return declared(b, value, (x, b.subtract(b.like(chlo.BesselI1eOp, x), b.multiply(b.sign(x), value))))


@means("i0.default(self)", "special_modified_bessel_i0.default(self)", results=floating)
def i0(b: AtenBuilder, x: Value) -> Value:
    """The modified Bessel function of order 0."""
    x = b.fitted(x)
    # d i0(x) = i1(x) dx
    return declared(b, b.stopped(b.multiply(i0e_value(b, x), b.exponential(b.abs(x)))), (x, i1(b, x)))


@means("special_i1.default(self)", "special_modified_bessel_i1.default(self)", results=floating)
def i1(b: AtenBuilder, x: Value) -> Value:
    """The modified Bessel function of order 1."""
    x = b.fitted(x)
    growth = b.stopped(b.exponential(b.abs(x)))
    value = b.stopped(b.multiply(b.like(chlo.BesselI1eOp, x), growth))
    # d i1(x) = (i0(x) - i1(x) / x) dx, and 1/2 at 0
    zero = b.compare("EQ", x, b.full_like(x, 0))
    slope = b.subtract(b.multiply(i0e_value(b, x), growth), b.divide(value, b.select(zero, b.full_like(x, 1), x)))
    return declared(b, value, (x, b.stopped(b.select(zero, b.full_like(x, 0.5), slope))))


def erfcx_value(b: AtenBuilder, x: Value) -> Value:
    """exp(x^2) erfc(x), without a derivative."""
    size = b.abs(x)
    far = b.compare("GT", size, b.full_like(x, 1e8))  # where exp(x^2) erfc(x) is 1 / (x sqrt(pi))
    inner = b.select(far, b.full_like(x, 1), size)
    t = b.divide(b.subtract(inner, b.full_like(x, 3.75)), b.add(inner, b.full_like(x, 3.75)))
    series = b.divide(clenshaw(b, t, _series("erfcx", 40)), b.add(b.full_like(x, 1), b.multiply(b.full_like(x, 2), inner)))
    right = b.select(far, b.divide(b.full_like(x, 1 / sqrt(pi)), size), series)
    left = b.subtract(b.multiply(b.full_like(x, 2), b.exponential(b.multiply(x, x))), right)
    return b.stopped(b.select(b.compare("LT", x, b.full_like(x, 0)), left, right))


@means("special_erfcx.default(self)", results=floating)
def erfcx(b: AtenBuilder, x: Value) -> Value:
    """exp(x^2) erfc(x)."""
    x = b.fitted(x)
    value = erfcx_value(b, x)
    # d erfcx(x) = (2 x erfcx(x) - 2 / sqrt(pi)) dx
    return declared(b, value, (x, b.subtract(b.multiply(b.multiply(b.full_like(x, 2), x), value), b.full_like(x, 2 / sqrt(pi)))))


@means("special_log_ndtr.default(self)", results=floating)
def log_ndtr(b: AtenBuilder, x: Value) -> Value:
    """The logarithm of the normal distribution function."""
    x = b.fitted(x)
    scaled = b.multiply(x, b.full_like(x, sqrt(0.5)))
    low = b.compare("LT", x, b.full_like(x, -1))
    cut = b.select(low, b.negate(scaled), b.full_like(x, 1))
    tail = erfcx_value(b, cut)
    below = b.subtract(b.log(b.multiply(tail, b.full_like(x, 0.5))), b.multiply(scaled, scaled))
    above = b.log_plus_one(b.negate(b.multiply(b.full_like(x, 0.5), b.like(chlo.ErfcOp, scaled))))
    # d log_ndtr(x) = sqrt(2 / pi) / erfcx(-x / sqrt(2)) dx
    slope = b.divide(b.full_like(x, sqrt(2 / pi)), erfcx_value(b, b.negate(scaled)))
    return declared(b, b.stopped(b.select(low, below, above)), (x, slope))
