"""The functions that elimination orders are compared on, written from their published equations, of any namespace of arrays.

They are those of J. Lohoff, E. Neftci, "Optimizing Automatic Differentiation with Deep Reinforcement Learning", NeurIPS 2024 (AlphaGrad), table 1,
operation by operation as in the examples that were published with it, so that graphs are the same: a repeated root is computed again. Of four of them the
graphs that were counted cannot be had (:attr:`Problem.elsewhere`): the examples were changed since, and what was counted has other vertices.
"""

# Functions of arrays of several libraries.
# pyright: reportUnknownParameterType=false, reportMissingParameterType=false, reportUnknownVariableType=false
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from msgspec import Struct

HEAT = 0.5
"""The ratio of specific heats less what the equations need of it, as published."""


def roe_1d(xp: Any, dl: Any, ml: Any, el: Any, dr: Any, mr: Any, er: Any) -> Any:
    """The flux between two states (density, momentum, energy) by P. L. Roe's solver, Journal of Computational Physics 43, 1981."""

    def pressure(density, momentum, energy):
        return (HEAT - 1.0) * (energy - 0.5 * momentum**2 / density)

    def flux(density, momentum, energy, p):
        speed = momentum / density
        return momentum, p + momentum * speed, speed * (p + energy)

    jump, mean = dr - dl, xp.sqrt(dl * dr)
    weight = xp.sqrt(dl) + xp.sqrt(dr)
    vl, pl = ml / dl, pressure(dl, ml, el)
    hl = (el + pl) / dl
    vr, pr = mr / dr, pressure(dr, mr, er)
    hr = (er + pr) / dr
    dp, dv = pr - pl, vr - vl
    u = (xp.sqrt(dl) * vl + xp.sqrt(dr) * vr) / weight
    h = (xp.sqrt(dl) * hl + xp.sqrt(dr) * hr) / weight
    square = u**2
    sound2 = (HEAT - 1.0) * (h - 0.5 * square)
    sound = xp.sqrt(sound2)
    plus, middle, minus = xp.abs(u + sound), xp.abs(u), xp.abs(u)
    n = sound * mean
    c0 = (jump - dp / sound2) * middle
    c1 = (dv + dp / n) * plus
    c2 = (dv - dp / n) * minus
    left, right = flux(dl, ml, el, pl), flux(dr, mr, er, pr)
    sums = [a + b for a, b in zip(left, right, strict=True)]
    c = 0.5 * mean / sound
    waves = (
        c0 + c * c1 - c * c2,
        c0 * u + c * c1 * (u + sound) - c * c2 * (u - sound),
        c0 * 0.5 * square + c * c1 * (h + u * sound) - c * c2 * (h - u * sound),
    )
    return tuple(0.5 * (a - b) for a, b in zip(sums, waves, strict=True))


def roe_3d(xp: Any, dl: Any, ml: Any, el: Any, dr: Any, mr: Any, er: Any) -> Any:
    """The same in three dimensions; momenta are vectors."""

    def pressure(density, momentum, energy):
        return (HEAT - 1.0) * (energy - 0.5 * xp.sum(momentum**2) / density)

    def flux(density, momentum, energy, p):
        m1, m2, m3 = momentum[0], momentum[1], momentum[2]
        v1, v2, v3 = m1 / density, m2 / density, m3 / density
        return m1, p + m1 * v1, m1 * v2, m1 * v3, v1 * (p + energy)

    d0, d, d4 = dr - dl, mr - ml, er - el
    d1, d2, d3 = d[0], d[1], d[2]
    weight = xp.sqrt(dl) + xp.sqrt(dr)
    vl, pl = ml / dl, pressure(dl, ml, el)
    hl = (el + pl) / dl
    vr, pr = mr / dr, pressure(dr, mr, er)
    hr = (er + pr) / dr
    mean = (xp.sqrt(dl) * vl + xp.sqrt(dr) * vr) / weight
    u, v, w = mean[0], mean[1], mean[2]
    h = (xp.sqrt(dl) * hl + xp.sqrt(dr) * hr) / weight
    square = xp.sum(mean**2)
    sound2 = (HEAT - 1.0) * (h - 0.5 * square)
    sound = xp.sqrt(sound2)
    plus, middle, minus = u + sound, u, u - sound
    c3 = ((HEAT - 1.0) / sound2 * ((h - square) * d0 + xp.dot(mean, d) - d4)) * middle
    c2 = (d3 / w - d1) * middle
    c1 = (d2 / v - d0) * middle
    k1 = d0 - c3
    k2 = (d1 - u * d0) / sound
    c0, c4 = 0.5 * (k1 - k2) * minus, 0.5 * (k1 + k2) * plus
    sums = [a + b for a, b in zip(flux(dl, ml, el, pl), flux(dr, mr, er, pr), strict=True)]
    waves = (
        c0 + c3 + c4 * plus,
        c0 * minus + c3 * u + c4 * plus,
        c0 * v + c1 * v + c3 * v + c4 * v,
        c0 * w + c2 * w + c3 * w + c4 * w,
        c0 * (h - u * sound) + c1 * v**2 + c2 * w**2 + c3 * 0.5 * square + c4 * (h + u * sound),
    )
    return tuple(0.5 * (a - b) for a, b in zip(sums, waves, strict=True))


def robot_arm(xp: Any, t1: Any, t2: Any, t3: Any, t4: Any, t5: Any, t6: Any) -> Any:
    """Place and Tait-Bryan angles of the hand of an arm with six joints."""
    a1, a2, a3, b1, b4, b6 = 175.0, 890.0, 50.0, 575.0, 1035.0, 185.0
    c1, c2, c4, c5, c6 = (xp.cos(t) for t in (t1, t2, t4, t5, t6))
    c23 = xp.cos(t2) * xp.cos(t3) - xp.sin(t2) * xp.sin(t3)
    s1, s2, s4, s5, s6 = (xp.sin(t) for t in (t1, t2, t4, t5, t6))
    s23 = xp.cos(t2) * xp.sin(t3) + xp.sin(t2) * xp.cos(t3)
    ax = s5 * (c1 * c23 * c4 + s1 * s4) + c1 * s23 * c5
    ay = s5 * (s1 * c23 * c4 - c1 * s4) + s1 * s23 * c5
    az = s23 * c4 * s5 - c23 * c5
    nz = c6 * (c23 * s5 + s23 * c4 * c5) - s23 * s4 * s6
    oz = -s6 * (c23 * s5 + s23 * c4 * c5) - s23 * s4 * c6
    first = xp.atan2(ay, ax)
    second = xp.atan2(xp.sqrt(1.0 - az**2), az)
    third = xp.atan2(oz, -nz)
    px = b6 * (s5 * (c1 * c23 * c4 + s1 * s4) + c1 * s23 * c5) + c1 * (a1 + a2 * c2 + a3 * c23 + b4 * s23)
    py = b6 * (s5 * (s1 * c23 * c4 + c1 * s4) + s1 * s23 * c5) + s1 * (a1 + a2 * c2 + a3 * c23 + b4 * s23)
    pz = a2 * s2 + b1 + a3 * s23 - b4 * c23 + b6 * (s23 * c4 * s5 - c23 * c5)
    return px, py, pz, first, second, third


def heart_dipole(xp: Any, x1: Any, x2: Any, x3: Any, x4: Any, x5: Any, x6: Any, x7: Any, x8: Any) -> Any:
    """The human heart dipole of MINPACK-2 (B. Averick, R. Carter, J. Moré, G. Xue 1992), all moments 1."""
    f1, f2 = x1 + x2 - 1.0, x3 + x4 - 1.0
    f3 = x5 * x1 + x6 * x2 - x7 * x3 - x8 * x4 - 1.0
    f4 = x7 * x1 + x8 * x2 + x5 * x3 + x6 * x4 - 1.0
    a, b = x5**2 - x7**2, x6**2 - x8**2
    f5 = x1 * a - 2.0 * x3 * x5 * x7 + x2 * b - 2.0 * x4 * x6 * x8 - 1.0
    f6 = x3 * a - 2.0 * x1 * x5 * x7 + x4 * b - 2.0 * x2 * x6 * x8 - 1.0
    p, q = x5 * (x5**2 - 3.0 * x7**2), x7 * (x7**2 - 3.0 * x5**2)
    r, s = x6 * (x6**2 - 3.0 * x8**2), x8 * (x8**2 - 3.0 * x6**2)
    f7 = x1 * p + x3 * q + x2 * r + x4 * s - 1.0
    f8 = x3 * p - x1 * q + x4 * r - x2 * s - 1.0
    return f1, f2, f3, f4, f5, f6, f7, f8


def propane(xp: Any, x1: Any, x2: Any, x3: Any, x4: Any, x5: Any, x6: Any, x7: Any, x8: Any, x9: Any, x10: Any, x11: Any) -> Any:
    """The combustion of propane in air, full formulation, of MINPACK-2; pressure 40, ratio 10."""
    p, ratio = 40.0, 10.0
    root = xp.sqrt(p / x11)
    return (
        x1 + x4 - 3.0,
        2.0 * x1 + x2 + x4 + x7 + x8 + x9 + 2.0 * x10 - ratio,
        2.0 * x2 + 2.0 * x5 + x6 + x7 - 8.0,
        2.0 * x3 + x9 - 4.0 * ratio,
        x2 * x4 - x1 * x5,
        xp.sqrt(x2 * x4) - xp.sqrt(x1) * root * x6,
        xp.sqrt(x1 * x2) - xp.sqrt(x4) * x7 * root,
        x1 - x4 * x8 * p / x11,
        x1 * xp.sqrt(x3) - x4 * x9 * root,
        x1**2 - x4**2 * x10 * p / x11,
        x11 - x1 - x2 - x3 - x4 - x5 - x6 - x7 - x8 - x9 - x10,
    )


def black_scholes(xp: Any, s: Any, k: Any, r: Any, sigma: Any, t: Any) -> Any:
    """The price of a call (F. Black 1976), whose Hessian are the Greeks of second order."""

    def normal(z):
        return (1.0 + xp.erf(z / np.sqrt(2.0))) / 2.0

    forward = xp.exp(r * t) * s
    d1 = (xp.log(forward / k) + sigma**2 / 2.0 * t) / (sigma * xp.sqrt(t))
    d2 = d1 - sigma * xp.sqrt(t)
    return xp.exp(-r * t) * (forward * normal(d1) - k * normal(d2))


def _normalised(xp: Any, x: Any, scale: Any, shift: Any) -> Any:
    mean = xp.mean(x, axis=0)
    spread = xp.sum((x - mean) ** 2, axis=0) / x.shape[0]
    return (x - mean) / xp.sqrt(spread + 1e-6) * scale + shift


def perceptron(xp: Any, x: Any, y: Any, w1: Any, b1: Any, w2: Any, b2: Any, scale: Any, shift: Any) -> Any:
    """Two layers with a normalisation between them, and the squared error."""
    hidden = _normalised(xp, xp.tanh(w1 @ x + b1), scale, shift)
    return 0.5 * xp.sum((xp.tanh(w2 @ hidden + b2) - y) ** 2)


def encoder(xp: Any, x: Any, y: Any, *weights: Any) -> Any:
    """Two blocks of a transformer: attention that is added, a normalisation, and a layer."""
    for wq, wk, wv, w, b, scale, shift in (weights[:7], weights[7:]):
        q, k, v = wq @ x, wk @ x, wv @ x
        scores = q.T @ k
        e = xp.exp(scores - xp.max(scores, axis=1, keepdims=True))
        a = x + (e / xp.sum(e, axis=1, keepdims=True)) @ v
        mean = xp.mean(a, axis=1)
        spread = xp.sum((a - mean) ** 2, axis=1) / a.shape[1]
        c = (a - mean) / xp.sqrt(spread + 1e-6) * scale + shift
        z = w @ c + b
        x = z * (1.0 / (1.0 + xp.exp(-z)))
    return 0.5 * xp.sum((x - y) ** 2)


class Problem(Struct, frozen=True):
    """A function, a point, and the multiplications that are published for it.

    Attributes:
        function: ``(namespace, *arguments) -> results``.
        inputs: arguments.
        published: by forward, reverse and Markowitz's order, and the best of AlphaGrad, on this graph; None where the published graph is another one.
        elsewhere: by the best of these orders, and the best of AlphaGrad, on another graph of the same function.
        second: whether what is eliminated in is its gradient.
        blocks: whether a vertex is a value, as where functions of vectors were counted, and not an element.
    """

    function: Callable[..., Any]
    inputs: tuple[Any, ...]
    published: tuple[int, int, int, int] | None = None
    elsewhere: tuple[int, int] | None = None
    second: bool = False
    blocks: bool = False


def _numbers(*values: float) -> tuple[Any, ...]:
    return tuple(np.float64(v) for v in values)


def _arrays(*shapes: tuple[int, ...]) -> tuple[Any, ...]:
    chance = np.random.default_rng(0)
    return tuple(chance.standard_normal(shape) for shape in shapes)


PROBLEMS: dict[str, Problem] = {
    "RoeFlux 1d": Problem(roe_1d, _numbers(0.01, 0.02, 0.02, 0.01, 0.03, 0.03), (620, 364, 407, 320)),
    "RoeFlux 3d": Problem(
        roe_3d,
        (np.array([0.1]), np.array([0.1, 0.2, 0.3]), np.array([0.5]), np.array([0.2]), np.array([0.2, 0.2, 0.4]), np.array([0.6])),
        elsewhere=(938, 811),
        blocks=True,
    ),
    "RobotArm 6DOF": Problem(robot_arm, _numbers(0.3, 0.4, 0.5, 0.6, 0.7, 0.8), (397, 301, 288, 231)),
    "HumanHeartDipole": Problem(heart_dipole, _numbers(*np.linspace(0.3, 1.0, 8)), (240, 172, 194, 148)),
    "PropaneCombustion": Problem(propane, _numbers(*np.linspace(0.5, 1.5, 11)), (151, 90, 111, 88)),
    "BlackScholes": Problem(black_scholes, _numbers(1.0, 1.1, 0.1, 0.3, 0.9), elsewhere=(350, 312), second=True),
    "MLP": Problem(perceptron, _arrays((4,), (4,), (8, 4), (8,), (4, 8), (4,), (), ()), elsewhere=(392, 389), blocks=True),
    "transformer": Problem(encoder, _arrays(*[(4, 4)] * 2, *([(4, 4)] * 4 + [(4,)] + [()] * 2) * 2), elsewhere=(4688, 4656), blocks=True),
}
