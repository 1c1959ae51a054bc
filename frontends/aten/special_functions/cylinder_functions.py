"""Bessel functions J and Y of orders 0 and 1, and modified ones K, by Chebyshev series.

Up to 8, J is a series of x^2, and Y is a series of x^2 and a multiple of J log(x); beyond, both are waves whose amplitude and phase are series of (8 / x)^2
(M. Abramowitz and I. A. Stegun, "Handbook of mathematical functions", 1964, 9.2 and 9.4). K is a series of x^2 and I log(x) up to 2, then, without its decay,
one of 1 / x. Derivatives are declared: d J0 = -J1 dx, d J1 = (J0 - J1 / x) dx, the same for Y, d K0 = -K1 dx, d K1 = (-K0 - K1 / x) dx.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from math import pi
from typing import Any

import numpy as np

from wengert.dialects import chlo
from wengert.dialects.builder import Value
from wengert.frontends.aten.builder import AtenBuilder
from wengert.frontends.aten.meanings import means
from wengert.frontends.aten.result_types.rules import floating
from wengert.frontends.aten.special_functions.bessel import clenshaw, i0e_value
from wengert.frontends.kinks import declared

Array = np.ndarray[Any, np.dtype[Any]]
_NEAR, _K_NEAR = 8.0, 2.0


@cache
def _series(name: str, degree: int) -> tuple[float, ...]:
    """The Chebyshev series of this degree through SciPy's values at Chebyshev's points."""
    import scipy.special as sp

    t = np.cos(pi * (np.arange(degree + 1) + 0.5) / (degree + 1))
    # x^2 = 32 (t + 1) in [0, 64]; (8 / x)^2 = (t + 1) / 2 in [0, 1]; x^2 = 2 (t + 1) in [0, 4]; 2 / x = (t + 1) / 2 in [0, 1]
    small, large, k_small, k_large = np.sqrt(32 * (t + 1)), 8 / np.sqrt((t + 1) / 2), np.sqrt(2 * (t + 1)), 4 / (t + 1)

    def wave(order: int, part: int) -> Array:
        # H(x) sqrt(pi x / 2) exp(-i phase) = p + i q, of which q is odd in 1 / x
        turned = sp.hankel1e(order, large) * np.sqrt(pi * large / 2) * np.exp(1j * (order * pi / 2 + pi / 4))
        return turned.real if part == 0 else turned.imag * large / 8

    functions: dict[str, Callable[[], Array]] = {
        "j0": lambda: sp.j0(small),
        "j1": lambda: sp.j1(small) / small,
        "y0": lambda: sp.y0(small) - 2 / pi * np.log(small) * sp.j0(small),
        "y1": lambda: (sp.y1(small) - 2 / pi * (np.log(small) * sp.j1(small) - 1 / small)) / small,
        **{f"{part}{order}": (lambda order=order, number=number: wave(order, number)) for order in (0, 1) for number, part in enumerate("pq")},
        "k0": lambda: sp.k0(k_small) + np.log(k_small) * sp.i0(k_small),
        "k1": lambda: (sp.k1(k_small) - np.log(k_small) * sp.i1(k_small) - 1 / k_small) / k_small,
        "k0 far": lambda: sp.k0e(k_large) * np.sqrt(k_large),
        "k1 far": lambda: sp.k1e(k_large) * np.sqrt(k_large),
    }
    return tuple(np.polynomial.chebyshev.chebfit(t, functions[name](), degree).tolist())


def _n(b: AtenBuilder, x: Value, value: float) -> Value:
    return b.full_like(x, value)


def _sum(b: AtenBuilder, name: str, degree: int, t: Value) -> Value:
    return clenshaw(b, t, _series(name, degree))


def _waves(b: AtenBuilder, x: Value, order: int) -> tuple[Value, Value]:
    """J and Y of x from 8 on."""
    small = b.divide(_n(b, x, 8), x)
    t = b.subtract(b.multiply(_n(b, x, 2), b.multiply(small, small)), _n(b, x, 1))
    p, q = _sum(b, f"p{order}", 16, t), b.multiply(small, _sum(b, f"q{order}", 16, t))
    # cos and sin of x - (2 order + 1) pi / 4, without the loss of a difference
    sine, cosine = b.sine(x), b.cosine(x)
    root = _n(b, x, 0.5**0.5)
    plus, minus = b.multiply(root, b.add(sine, cosine)), b.multiply(root, b.subtract(sine, cosine))
    c, s = (plus, minus) if order == 0 else (minus, b.negate(plus))
    size = b.sqrt(b.divide(_n(b, x, 2 / pi), x))
    return (
        b.multiply(size, b.subtract(b.multiply(p, c), b.multiply(q, s))),
        b.multiply(size, b.add(b.multiply(p, s), b.multiply(q, c))),
    )


def _both(b: AtenBuilder, x: Value, order: int) -> tuple[Value, Value]:
    """J and Y of |x|."""
    size = b.abs(x)
    near = b.compare("LE", size, _n(b, x, _NEAR))
    inner, outer = b.select(near, size, _n(b, x, 1)), b.select(near, _n(b, x, _NEAR), size)
    t = b.subtract(b.multiply(b.multiply(inner, inner), _n(b, x, 1 / 32)), _n(b, x, 1))
    j, y = _sum(b, f"j{order}", 24, t), _sum(b, f"y{order}", 26, t)
    if order:
        j, y = b.multiply(j, inner), b.multiply(y, inner)
    wave = b.multiply(b.log(inner), j)
    wave = b.subtract(wave, b.divide(_n(b, x, 1), inner)) if order else wave
    y = b.add(y, b.multiply(_n(b, x, 2 / pi), wave))
    far_j, far_y = _waves(b, outer, order)
    endless = b.compare("EQ", size, _n(b, x, float("inf")))
    far_j, far_y = (b.select(endless, _n(b, x, 0), v) for v in (far_j, far_y))
    return b.select(near, j, far_j), b.select(near, y, far_y)


def _bessel(b: AtenBuilder, x: Value, order: int, second: bool) -> Value:
    made = _both(b, x, order)[1 if second else 0]
    if second:
        zero = _n(b, x, 0)
        at_zero = b.select(b.compare("EQ", x, zero), _n(b, x, float("-inf")), made)
        return b.select(b.compare("LT", x, zero), _n(b, x, float("nan")), at_zero)
    return b.multiply(made, b.sign(x)) if order else made


def _known(b: AtenBuilder, x: Value, second: bool) -> tuple[Value, Value]:
    zero, one = (b.stopped(_bessel(b, x, order, second)) for order in (0, 1))
    return zero, one


def _over(b: AtenBuilder, value: Value, x: Value, at_zero: float) -> Value:
    """value / x, and a number where x is 0."""
    zero = b.compare("EQ", x, _n(b, x, 0))
    return b.select(zero, _n(b, x, at_zero), b.divide(value, b.select(zero, _n(b, x, 1), x)))


def _means_bessel(name: str, second: bool) -> None:
    @means(f"special_bessel_{name}0.default(self)", results=floating)
    def order_zero(b: AtenBuilder, x: Value) -> Value:
        x = b.fitted(x)
        zero, one = _known(b, x, second)
        return declared(b, zero, (x, b.negate(declared(b, one, (x, b.subtract(zero, _over(b, one, x, 0.5)))))))

    @means(f"special_bessel_{name}1.default(self)", results=floating)
    def order_one(b: AtenBuilder, x: Value) -> Value:
        x = b.fitted(x)
        zero, one = _known(b, x, second)
        own = declared(b, one, (x, b.subtract(zero, _over(b, one, x, 0.5))))
        return declared(b, one, (x, b.subtract(declared(b, zero, (x, b.negate(one))), _over(b, own, x, 0.5))))


_means_bessel("j", second=False)
_means_bessel("y", second=True)


# -- modified


def _scaled_k(b: AtenBuilder, x: Value, order: int) -> Value:
    """K(x) exp(x)."""
    near = b.compare("LE", x, _n(b, x, _K_NEAR))
    positive = b.compare("GT", x, _n(b, x, 0))
    inner = b.select(b.and_(near, positive), x, _n(b, x, 1))
    outer = b.select(near, _n(b, x, _K_NEAR), x)
    t = b.subtract(b.multiply(b.multiply(inner, inner), _n(b, x, 0.5)), _n(b, x, 1))
    growth = b.exponential(inner)
    if order:
        modified = b.multiply(b.like(chlo.BesselI1eOp, inner), growth)
        low = b.add(b.multiply(_sum(b, "k1", 18, t), inner), b.add(b.multiply(b.log(inner), modified), b.divide(_n(b, x, 1), inner)))
    else:
        modified = b.multiply(i0e_value(b, inner), growth)
        low = b.subtract(_sum(b, "k0", 18, t), b.multiply(b.log(inner), modified))
    far = b.subtract(b.divide(_n(b, x, 4), outer), _n(b, x, 1))
    high = b.divide(_sum(b, f"k{order} far", 28, far), b.sqrt(outer))
    made = b.select(near, b.multiply(low, growth), high)
    edge = b.select(b.compare("EQ", x, _n(b, x, 0)), _n(b, x, float("inf")), _n(b, x, float("nan")))
    return b.select(positive, made, edge)


def _means_modified(prefix: str, is_scaled: bool) -> None:
    def pair(b: AtenBuilder, x: Value) -> tuple[Value, Value]:
        zero, one = (_scaled_k(b, x, order) for order in (0, 1))
        if not is_scaled:
            zero, one = (b.multiply(v, b.exponential(b.negate(x))) for v in (zero, one))
        return b.stopped(zero), b.stopped(one)

    def slope(b: AtenBuilder, own: Value, change: Value) -> Value:
        return b.add(change, own) if is_scaled else change  # d (exp(x) K) = exp(x) (dK + K dx)

    @means(f"special_{prefix}modified_bessel_k0.default({'x' if is_scaled else 'self'})", results=floating)
    def order_zero(b: AtenBuilder, x: Value) -> Value:
        x = b.fitted(x)
        zero, one = pair(b, x)
        first = slope(b, one, b.negate(b.add(zero, b.divide(one, x))))
        return declared(b, zero, (x, slope(b, zero, b.negate(declared(b, one, (x, first))))))

    @means(f"special_{prefix}modified_bessel_k1.default({'x' if is_scaled else 'self'})", results=floating)
    def order_one(b: AtenBuilder, x: Value) -> Value:
        x = b.fitted(x)
        zero, one = pair(b, x)
        lower = declared(b, zero, (x, slope(b, zero, b.negate(one))))
        own = declared(b, one, (x, slope(b, one, b.negate(b.add(zero, b.divide(one, x))))))
        return declared(b, one, (x, slope(b, own, b.negate(b.add(lower, b.divide(own, x))))))


_means_modified("", is_scaled=False)
_means_modified("scaled_", is_scaled=True)


# -- spherical


@means("special_spherical_bessel_j0.default(x)", results=floating)
def spherical_j0(b: AtenBuilder, x: Value) -> Value:
    """sin(x) / x; near 0 by its series, 0 at infinity."""
    x = b.fitted(x)
    near = b.compare("LT", b.abs(x), _n(b, x, 0.5))
    square = b.select(near, b.multiply(x, x), _n(b, x, 0))
    series = _n(b, x, 1)
    for k in range(16, 0, -2):  # 1 - x^2 / (2 3) (1 - x^2 / (4 5) (...))
        series = b.subtract(_n(b, x, 1), b.multiply(b.multiply(square, _n(b, x, 1 / (k * (k + 1)))), series))
    endless = b.compare("EQ", b.abs(x), _n(b, x, float("inf")))
    outer = b.select(near, _n(b, x, 1), b.select(endless, _n(b, x, pi), x))
    return b.select(near, series, b.select(endless, _n(b, x, 0), b.divide(b.sine(outer), outer)))
