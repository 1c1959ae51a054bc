"""The workloads by group: functions written for JAX, whose StableHLO text we differentiate, and for PyTorch (``torch_workloads.py``).

``floats`` and ``bytes`` are what the gradient must at least compute and move (two flops for a multiply-add; every input read
and every result written once), for the distance to the limit of the machine; 0 where nobody has counted.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

Array = np.ndarray[Any, np.dtype[Any]]
Function = Callable[..., Any]


@dataclass(frozen=True)
class Workload:
    """A scalar function, its inputs, and with respect to which of them the gradient is asked (of none: the value alone).

    ``torch`` names the function in PyTorch (of ``torch_workloads.py``, or ``module:name``), with its static arguments.
    """

    name: str
    function: Function
    inputs: tuple[Array, ...]
    wrt: tuple[int, ...]
    torch: str
    floats: float = 0.0
    bytes: float = 0.0
    torch_options: dict[str, Any] = field(default_factory=dict[str, Any])
    torch_compiles: bool = True
    compile_only: bool = False


Group = Callable[[bool], list[Workload]]


def _normal(*shape: int, dtype: str = "float32", seed: int = 0) -> Array:
    return np.random.default_rng(seed).normal(size=shape).astype(dtype)


def _moved(inputs: tuple[Array, ...], wrt: tuple[int, ...]) -> float:
    return float(sum(a.nbytes for a in inputs) + sum(inputs[i].nbytes for i in wrt))


def _light(name: str, function: Function, inputs: tuple[Array, ...], wrt: tuple[int, ...]) -> Workload:
    """A workload whose limit is the memory."""
    return Workload(name, function, inputs, wrt, function.__name__, bytes=_moved(inputs, wrt))


def elementwise(quick: bool) -> list[Workload]:
    """A smooth function of two vectors, summed; from tiny to huge."""

    def smooth(x: Any, y: Any) -> Any:
        return jnp.sum(jnp.tanh(x) * jnp.sin(y) + jnp.exp(-x * x))

    sizes = (100, 1000, 100_000) if quick else (100, 1000, 10_000, 100_000, 1_000_000, 10_000_000)
    return [_light(f"n={n:.0e}", smooth, (_normal(n), _normal(n, seed=1)), (0, 1)) for n in sizes]


def rows(quick: bool) -> list[Workload]:
    """Softmax cross entropy, layer normalisation and GELU over rows."""

    def cross_entropy(x: Any, y: Any) -> Any:
        return -jnp.sum(jax.nn.log_softmax(x) * y)

    def layer_norm(x: Any, g: Any) -> Any:
        centred = x - x.mean(-1, keepdims=True)
        return jnp.sum(jnp.square(centred * lax.rsqrt(jnp.square(centred).mean(-1, keepdims=True) + 1e-5) * g))

    def gelu(x: Any) -> Any:
        return jnp.sum(jnp.square(jax.nn.gelu(x)))

    workloads: list[Workload] = []
    for b, n in ((8, 128), (100, 1024), (10_000, 1024))[: 2 if quick else 3]:
        x = _normal(b, n)
        workloads += [
            _light(f"cross entropy {b}x{n}", cross_entropy, (x, np.eye(n, dtype="float32")[np.arange(b) % n]), (0,)),
            _light(f"layer norm {b}x{n}", layer_norm, (x, _normal(n, seed=1)), (0, 1)),
            _light(f"gelu {b}x{n}", gelu, (x,), (0,)),
        ]
    return workloads


def mlp(quick: bool) -> list[Workload]:
    """A tanh network with one hidden layer and cross entropy: gradients of the weights."""

    def loss(w: Any, b: Any, v: Any, x: Any, y: Any) -> Any:
        return -jnp.mean(jnp.sum(jax.nn.log_softmax(jnp.tanh(x @ w + b) @ v) * y, -1))

    workloads: list[Workload] = []
    sizes = ((8, 16, 16, 4), (32, 64, 64, 10), (32, 128, 128, 16), (128, 784, 256, 10), (256, 1024, 1024, 100))
    for batch, n, h, k in sizes[: 4 if quick else 5]:
        inputs = (_normal(n, h) / np.float32(n**0.5), _normal(h), _normal(h, k), _normal(batch, n), np.eye(k, dtype="float32")[np.arange(batch) % k])
        workloads.append(
            Workload(f"B{batch} {n}-{h}-{k}", loss, inputs, (0, 1, 2), "mlp", floats=4.0 * batch * n * h + 6.0 * batch * h * k, bytes=_moved(inputs, (0, 1, 2)))
        )
    return workloads


def _attend(x: Any, wq: Any, wk: Any, wv: Any, wo: Any) -> Any:
    t, d = x.shape
    heads = d // 16
    q, k, v = [(x @ w).reshape(t, heads, 16).swapaxes(0, 1) for w in (wq, wk, wv)]
    scores = jnp.where(jnp.tril(jnp.ones((t, t), bool)), q @ k.swapaxes(1, 2) / 4.0, -1e9)
    return (jax.nn.softmax(scores) @ v).swapaxes(0, 1).reshape(t, d) @ wo


def _normalised(x: Any, g: Any) -> Any:
    centred = x - x.mean(-1, keepdims=True)
    return centred * lax.rsqrt(jnp.square(centred).mean(-1, keepdims=True) + 1e-5) * g


def _weights(*shape: int, seed: int) -> Array:
    return _normal(*shape, seed=seed) / np.float32(shape[0] ** 0.5)


def attention(quick: bool) -> list[Workload]:
    """Causal attention with projections and residual."""

    def loss(x: Any, *weights: Any) -> Any:
        return jnp.mean(jnp.square(x + _attend(x, *weights)))

    sizes = ((16, 32), (128, 128))[: 1 if quick else 2]
    return [Workload(f"T{t} d{d}", loss, (_normal(t, d), *[_weights(d, d, seed=i) for i in range(4)]), tuple(range(5)), "attention") for t, d in sizes]


def transformer(quick: bool) -> list[Workload]:
    """A block: normalisation and attention, normalisation and two dense layers with GELU, residuals around both."""

    def loss(x: Any, g: Any, wq: Any, wk: Any, wv: Any, wo: Any, h: Any, w: Any, v: Any) -> Any:
        x = x + _attend(_normalised(x, g), wq, wk, wv, wo)
        return jnp.mean(jnp.square(x + jax.nn.gelu(_normalised(x, h) @ w) @ v))

    def inputs(t: int, d: int) -> tuple[Array, ...]:
        square = [_weights(d, d, seed=i) for i in range(4)]
        return _normal(t, d), _normal(d, seed=4), *square, _normal(d, seed=5), _weights(d, 4 * d, seed=6), _weights(4 * d, d, seed=7)

    sizes = ((16, 32), (128, 128))[: 1 if quick else 2]
    return [Workload(f"T{t} d{d}", loss, inputs(t, d), tuple(range(9)), "transformer") for t, d in sizes]


def convolution(quick: bool) -> list[Workload]:
    """Two 3x3 convolutions with ReLU and mean pooling."""

    def loss(x: Any, v: Any, w: Any) -> Any:
        for kernel in (v, w):
            x = jax.nn.relu(lax.conv_general_dilated(x, kernel, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")))
        return jnp.sum(jnp.square(x.mean((1, 2))))

    sizes = ((2, 16), (8, 32))[: 1 if quick else 2]
    return [Workload(f"N{b} {n}x{n}", loss, (_normal(b, n, n, 3), _normal(3, 3, 3, 16), _normal(3, 3, 16, 32) / 12), (1, 2), "convolution") for b, n in sizes]


def linear_algebra(quick: bool) -> list[Workload]:
    """Many small matrix products, and many small systems of equations."""

    def products(a: Any, b: Any) -> Any:
        return jnp.sum(jnp.square(a @ b))

    def solves(a: Any, b: Any) -> Any:
        return jnp.sum(jnp.square(jnp.linalg.solve(a, b)))

    workloads: list[Workload] = []
    for n in (4, 8, 16)[: 2 if quick else 3]:
        a, b = _normal(1000, n, n), _normal(1000, n, n, seed=1)
        workloads.append(Workload(f"1000 products {n}x{n}", products, (a, b), (0, 1), "products", floats=6e3 * n**3))
        dominant = (a + 2 * n * np.eye(n)).astype(np.float64)
        workloads.append(Workload(f"1000 solves {n}x{n}", solves, (dominant, b[:, :, :1].astype(np.float64)), (0, 1), "solves"))
    return workloads


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

        return lax.scan(step, (x, v), length=steps)[0][0]

    steps = 100 if quick else 1000
    inputs = tuple(np.array(value) for value in (1.0, 2.0, 0.0))
    return [Workload(f"van der Pol, {steps} of RK4", loss, inputs, (0, 1, 2), "van_der_pol", torch_options={"steps": steps}, torch_compiles=False)]


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
    return [Workload(f"{n} observations", loss, (cameras, _normal(n, 3, dtype="float64"), _normal(n, 2, dtype="float64", seed=1)), (0, 1), "bundle")]


def calls(quick: bool) -> list[Workload]:
    """Five arrays of one element, added: hardly any work."""
    add: Function = lambda a, b, c, d, e: a + b + c + d + e  # noqa: E731
    return [Workload("five arrays", add, tuple(np.full(1, float(i)) for i in range(5)), (), "sum_of_five")]


def compiling(quick: bool) -> list[Workload]:
    """Ten dense layers and a transformer block: how long it takes to compile value and gradients."""

    def loss(x: Any, *weights: Any) -> Any:
        for w in weights:
            x = jnp.tanh(x @ w)
        return jnp.mean(jnp.square(x))

    weights = [_weights(64, 64, seed=i) for i in range(10)]
    layers = Workload("ten dense layers", loss, (_normal(32, 64), *weights), tuple(range(1, 11)), "layers", compile_only=True)
    return [layers, replace(transformer(True)[0], name="transformer block", compile_only=True)]


def matmul(quick: bool) -> list[Workload]:
    """Square matrix products in f32, without a derivative."""
    product: Function = lambda a, b: a @ b  # noqa: E731
    sizes = (8, 16, 32, 64, 128, 256, 512, 1024, 2048)[: 6 if quick else 9]
    return [Workload(f"{n}x{n}", product, (_normal(n, n), _normal(n, n, seed=1)), (), "matmul", floats=2.0 * n**3) for n in sizes]


GROUPS: dict[str, Group] = {
    "elementwise": elementwise,
    "rows": rows,
    "mlp": mlp,
    "attention": attention,
    "transformer": transformer,
    "convolution": convolution,
    "linear_algebra": linear_algebra,
    "loops": loops,
    "bundle": bundle,
    "matmul": matmul,
    "calls": calls,
    "compile": compiling,
}
