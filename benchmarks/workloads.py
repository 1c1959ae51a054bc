"""The workloads by group: scalar functions written for JAX, whose StableHLO text both sides differentiate by their own means.

``floats`` and ``bytes`` are what the gradient must at least compute and move (two flops for a multiply-add; every input read
and every result written once), for the distance to the limit of the machine; 0 where nobody has counted.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

Array = np.ndarray[Any, np.dtype[Any]]
Function = Callable[..., Any]


@dataclass(frozen=True)
class Workload:
    """A scalar function, its inputs, and with respect to which of them the gradient is asked."""

    name: str
    function: Function
    inputs: tuple[Array, ...]
    wrt: tuple[int, ...]
    floats: float = 0.0
    bytes: float = 0.0


Group = Callable[[bool], list[Workload]]


def _normal(*shape: int, dtype: str = "float32", seed: int = 0) -> Array:
    return np.random.default_rng(seed).normal(size=shape).astype(dtype)


def _moved(inputs: tuple[Array, ...], wrt: tuple[int, ...]) -> float:
    return float(sum(a.nbytes for a in inputs) + sum(inputs[i].nbytes for i in wrt))


def _light(name: str, function: Function, inputs: tuple[Array, ...], wrt: tuple[int, ...]) -> Workload:
    """A workload whose limit is the memory."""
    return Workload(name, function, inputs, wrt, bytes=_moved(inputs, wrt))


def elementwise(quick: bool) -> list[Workload]:
    """A smooth function of two vectors, summed; from tiny to huge."""

    def f(x: Any, y: Any) -> Any:
        return jnp.sum(jnp.tanh(x) * jnp.sin(y) + jnp.exp(-x * x))

    return [_light(f"n={n:.0e}", f, (_normal(n), _normal(n, seed=1)), (0, 1)) for n in (100, 1000, 100_000, 10_000_000)[: 3 if quick else 4]]


def rows(quick: bool) -> list[Workload]:
    """Softmax cross entropy, layer normalisation and GELU over rows."""

    def cross_entropy(x: Any, y: Any) -> Any:
        return -jnp.sum(jax.nn.log_softmax(x) * y)

    def layer_norm(x: Any, g: Any) -> Any:
        centred = x - x.mean(-1, keepdims=True)
        return jnp.sum(jnp.square(centred * lax.rsqrt(jnp.square(centred).mean(-1, keepdims=True) + 1e-5) * g))

    def gelu(x: Any) -> Any:
        return jnp.sum(jnp.square(jax.nn.gelu(x)))

    found: list[Workload] = []
    for b, n in ((8, 128), (100, 1024), (10_000, 1024))[: 2 if quick else 3]:
        x = _normal(b, n)
        found += [
            _light(f"cross entropy {b}x{n}", cross_entropy, (x, np.eye(n, dtype="float32")[np.arange(b) % n]), (0,)),
            _light(f"layer norm {b}x{n}", layer_norm, (x, _normal(n, seed=1)), (0, 1)),
            _light(f"gelu {b}x{n}", gelu, (x,), (0,)),
        ]
    return found


def mlp(quick: bool) -> list[Workload]:
    """A tanh network with one hidden layer and cross entropy: gradients of the weights."""

    def loss(w: Any, b: Any, v: Any, x: Any, y: Any) -> Any:
        return -jnp.mean(jnp.sum(jax.nn.log_softmax(jnp.tanh(x @ w + b) @ v) * y, -1))

    found: list[Workload] = []
    for batch, n, h, k in ((8, 16, 16, 4), (32, 64, 64, 10), (128, 784, 256, 10), (256, 1024, 1024, 100))[: 3 if quick else 4]:
        inputs = (_normal(n, h) / np.float32(n**0.5), _normal(h), _normal(h, k), _normal(batch, n), np.eye(k, dtype="float32")[np.arange(batch) % k])
        found.append(
            Workload(f"B{batch} {n}-{h}-{k}", loss, inputs, (0, 1, 2), floats=4.0 * batch * n * h + 6.0 * batch * h * k, bytes=_moved(inputs, (0, 1, 2)))
        )
    return found


def attention(quick: bool) -> list[Workload]:
    """Causal attention with projections and residual."""

    def loss(x: Any, wq: Any, wk: Any, wv: Any, wo: Any) -> Any:
        t, d = x.shape
        heads = d // 16
        q, k, v = [(x @ w).reshape(t, heads, 16).swapaxes(0, 1) for w in (wq, wk, wv)]
        scores = jnp.where(jnp.tril(jnp.ones((t, t), bool)), q @ k.swapaxes(1, 2) / 4.0, -1e9)
        y = x + (jax.nn.softmax(scores) @ v).swapaxes(0, 1).reshape(t, d) @ wo
        return jnp.mean(jnp.square(y))

    sizes = ((16, 32), (128, 128))[: 1 if quick else 2]
    return [Workload(f"T{t} d{d}", loss, (_normal(t, d), *[_normal(d, d, seed=i) / np.float32(d**0.5) for i in range(4)]), (0, 1, 2, 3, 4)) for t, d in sizes]


def convolution(quick: bool) -> list[Workload]:
    """Two 3x3 convolutions with ReLU and mean pooling."""

    def loss(x: Any, v: Any, w: Any) -> Any:
        for kernel in (v, w):
            x = jax.nn.relu(lax.conv_general_dilated(x, kernel, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")))
        return jnp.sum(jnp.square(x.mean((1, 2))))

    sizes = ((2, 16), (8, 32))[: 1 if quick else 2]
    return [Workload(f"N{b} {n}x{n}", loss, (_normal(b, n, n, 3), _normal(3, 3, 3, 16), _normal(3, 3, 16, 32) / 12), (1, 2)) for b, n in sizes]


def linear_algebra(quick: bool) -> list[Workload]:
    """Many small matrix products."""

    def loss(a: Any, b: Any) -> Any:
        return jnp.sum(jnp.square(a @ b))

    return [
        Workload(f"1000 products {n}x{n}", loss, (_normal(1000, n, n), _normal(1000, n, n, seed=1)), (0, 1), floats=6e3 * n**3)
        for n in (4, 8, 16)[: 2 if quick else 3]
    ]


def loops(quick: bool) -> list[Workload]:
    """Runge-Kutta of order 4 for the oscillator of van der Pol, 1000 scalar steps."""

    def loss(mu: Any, x: Any, v: Any) -> Any:
        h = 0.01

        def slope(s: Any) -> Any:
            return s[1], mu * (1 - s[0] * s[0]) * s[1] - s[0]

        def shifted(s: Any, d: Any, by: float) -> Any:
            return s[0] + by * d[0], s[1] + by * d[1]

        def step(s: Any, _: Any) -> Any:
            a = slope(s)
            b = slope(shifted(s, a, h / 2))
            c = slope(shifted(s, b, h / 2))
            d = slope(shifted(s, c, h))
            return tuple(p + h / 6 * (i + 2 * j + 2 * k + m) for p, i, j, k, m in zip(s, a, b, c, d, strict=True)), None

        return lax.scan(step, (x, v), length=100 if quick else 1000)[0][0]

    return [Workload("van der Pol, RK4", loss, tuple(np.array(value) for value in (1.0, 2.0, 0.0)), (0, 1, 2))]


def bundle(quick: bool) -> list[Workload]:
    """Squared reprojection errors of points seen by cameras: gradient in both."""

    def residual(camera: Any, point: Any, seen: Any) -> Any:
        r, t = camera[:3], camera[3:6]
        angle = jnp.sqrt(jnp.sum(r * r) + 1e-12)
        axis = r / angle
        p = point * jnp.cos(angle) + jnp.cross(axis, point) * jnp.sin(angle) + axis * jnp.dot(axis, point) * (1 - jnp.cos(angle)) + t
        s = p[:2] / p[2]
        return camera[6] * (1 + camera[7] * jnp.sum(s * s)) * s - seen

    def loss(cameras: Any, points: Any, seen: Any) -> Any:
        return jnp.sum(jnp.square(jax.vmap(residual)(cameras, points, seen)))

    n = 100 if quick else 10_000
    cameras = 0.1 * _normal(n, 8, dtype="float64") + np.array([0, 0, 0, 0, 0, 6, 1, 0.0])
    return [Workload(f"{n} observations", loss, (cameras, _normal(n, 3, dtype="float64"), _normal(n, 2, dtype="float64", seed=1)), (0, 1))]


GROUPS: dict[str, Group] = {
    "elementwise": elementwise,
    "rows": rows,
    "mlp": mlp,
    "attention": attention,
    "convolution": convolution,
    "linear_algebra": linear_algebra,
    "loops": loops,
    "bundle": bundle,
}
