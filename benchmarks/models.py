"""Whole models: training steps of GPTs and of residual convolution networks, the value and the gradients of all weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from benchmarks.problems.workloads import Array, Function, Workload
from jax import lax


@dataclass(frozen=True)
class Gpt:
    """A decoder with learned positions: ``layers`` blocks of ``width``, heads of 32 or 64, and ``vocabulary`` outputs."""

    batch: int
    tokens: int
    width: int
    layers: int
    vocabulary: int = 1000

    @property
    def heads(self) -> int:
        return self.width // (64 if self.width >= 256 else 32)

    @property
    def name(self) -> str:
        return f"GPT B{self.batch} T{self.tokens} D{self.width} L{self.layers}"


@dataclass(frozen=True)
class Residual:
    """A network of ``blocks`` of two 3x3 convolutions each, on images of three channels."""

    batch: int
    pixels: int
    blocks: int
    channels: int = 32
    classes: int = 10

    @property
    def name(self) -> str:
        return f"residual CNN B{self.batch} {self.pixels} px, {self.blocks} blocks"


GPTS = (Gpt(1, 64, 64, 2), Gpt(4, 128, 256, 4), Gpt(2, 256, 512, 4, 5000))
NETWORKS = (Residual(8, 32, 3), Residual(16, 32, 6), Residual(4, 96, 3))


def models(quick: bool) -> list[Workload]:
    """All models, or the smallest of each kind."""
    return [gpt(size) for size in GPTS[: 1 if quick else None]] + [residual(size) for size in NETWORKS[: 1 if quick else None]]


def _weights(rng: np.random.Generator, *shape: int, scale: float | None = None) -> Array:
    return (rng.normal(size=shape) * (np.prod(shape[:-1]) ** -0.5 if scale is None else scale)).astype(np.float32)


def gpt(size: Gpt) -> Workload:
    """The loss of the next token."""
    rng, d = np.random.default_rng(0), size.width
    weights = [_weights(rng, size.vocabulary, d, scale=0.1), _weights(rng, size.tokens, d, scale=0.1)]
    for _ in range(size.layers):
        weights += [np.ones(d, np.float32), np.zeros(d, np.float32), _weights(rng, d, 3 * d), np.zeros(3 * d, np.float32)]
        weights += [_weights(rng, d, d), np.zeros(d, np.float32), np.ones(d, np.float32), np.zeros(d, np.float32)]
        weights += [_weights(rng, d, 4 * d), np.zeros(4 * d, np.float32), _weights(rng, 4 * d, d), np.zeros(d, np.float32)]
    weights += [np.ones(d, np.float32), np.zeros(d, np.float32), _weights(rng, d, size.vocabulary)]
    tokens = [rng.integers(0, size.vocabulary, (size.batch, size.tokens)).astype(np.int32) for _ in range(2)]
    places = size.batch * size.tokens
    products = places * (12 * size.layers * d * d + d * size.vocabulary) + 2 * size.layers * places * size.tokens * d
    options = {"heads": size.heads, "layers": size.layers}
    return Workload(size.name, _gpt_loss(size), (*weights, *tokens), tuple(range(len(weights))), "gpt", floats=6.0 * products, torch_options=options)


def _gpt_loss(size: Gpt) -> Function:
    heads, each = size.heads, size.width // size.heads

    def norm(x: Any, g: Any, b: Any) -> Any:
        centred = x - x.mean(-1, keepdims=True)
        return centred * lax.rsqrt(jnp.square(centred).mean(-1, keepdims=True) + 1e-5) * g + b

    def attend(x: Any, w: Any, b: Any) -> Any:
        n, t, _ = x.shape
        q, k, v = [part.reshape(n, t, heads, each).swapaxes(1, 2) for part in jnp.split(x @ w + b, 3, -1)]
        scores = jnp.where(jnp.tril(jnp.ones((t, t), bool)), q @ k.swapaxes(2, 3) * each**-0.5, -1e9)
        return (jax.nn.softmax(scores) @ v).swapaxes(1, 2).reshape(n, t, heads * each)

    def loss(*inputs: Any) -> Any:
        embedding, places, *rest, tokens, wanted = inputs
        x = embedding[tokens] + places
        for layer in range(size.layers):
            g, b, w, bias, out, out_bias, h, c, up, up_bias, down, down_bias = rest[12 * layer : 12 * layer + 12]
            x = x + attend(norm(x, g, b), w, bias) @ out + out_bias
            x = x + jax.nn.gelu(norm(x, h, c) @ up + up_bias) @ down + down_bias
        g, b, head = rest[12 * size.layers :]
        chosen = jnp.take_along_axis(jax.nn.log_softmax(norm(x, g, b) @ head), wanted[..., None], -1)
        return -jnp.mean(chosen)

    return loss


def residual(size: Residual) -> Workload:
    """The loss of the class."""
    rng, c = np.random.default_rng(0), size.channels
    weights = [_weights(rng, 3, 3, 3, c)]
    weights += [_weights(rng, 3, 3, c, c, scale=0.5 * (9 * c) ** -0.5) for _ in range(2 * size.blocks)]
    weights.append(_weights(rng, c, size.classes))
    images = rng.normal(size=(size.batch, size.pixels, size.pixels, 3)).astype(np.float32)
    wanted = rng.integers(0, size.classes, size.batch).astype(np.int32)
    products = size.batch * size.pixels**2 * 9 * c * (3 + 2 * size.blocks * c)
    return Workload(size.name, _residual_loss, (*weights, images, wanted), tuple(range(len(weights))), "residual", floats=6.0 * products)


def _residual_loss(*inputs: Any) -> Any:
    first, *kernels, head, images, wanted = inputs

    def convolve(x: Any, w: Any) -> Any:
        return lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))

    x = jax.nn.relu(convolve(images, first))
    for v, w in zip(kernels[::2], kernels[1::2], strict=True):
        x = jax.nn.relu(x + convolve(jax.nn.relu(convolve(x, v)), w))
    logits = x.mean((1, 2)) @ head
    return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(logits), wanted[:, None], -1))
