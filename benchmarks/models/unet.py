"""U-Nets of diffusion models (Ho et al., 2020).

Residual blocks with group norm, SiLU and the step's embedding, attention at one resolution, skips; the loss of the noise..
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from benchmarks.models.initial import Weights
from benchmarks.models.layers import attend, convolve, dense
from benchmarks.problems.workloads import Function, Workload
from jax import lax


@dataclass(frozen=True)
class Size:
    """Levels of ``channels`` times ``multiples``, each of half the resolution of the one before.

    There is attention where that is ``attended`` pixels, and in the middle.
    """

    batch: int
    pixels: int
    channels: int
    multiples: tuple[int, ...]
    attended: int
    groups: int

    @property
    def name(self) -> str:
        return f"U-Net B{self.batch} {self.pixels} px C{self.channels}"

    @property
    def levels(self) -> list[tuple[int, int]]:
        """Channels and pixels of each level."""
        return [(self.channels * m, self.pixels >> n) for n, m in enumerate(self.multiples)]


SIZES = (Size(2, 32, 64, (1, 2, 2), 16, 32),)
TINY = Size(2, 8, 8, (1, 2), 4, 4)


def workload(size: Size) -> Workload:
    """The training step with random images, noise and steps."""
    weights, c = Weights(), size.channels
    weights.dense(c, 4 * c)
    weights.dense(4 * c, 4 * c)
    _convolution(weights, 3, 3, c)
    now, skips = c, [c]
    for level, (channels, pixels) in enumerate(size.levels):
        _block(weights, now, channels, 4 * c)
        now = channels
        if pixels == size.attended:
            _attention(weights, now)
        skips.append(now)
        if level + 1 < len(size.levels):
            _convolution(weights, 3, now, now)
            skips.append(now)
    _block(weights, now, now, 4 * c)
    _attention(weights, now)
    _block(weights, now, now, 4 * c)
    for level, (channels, pixels) in reversed([*enumerate(size.levels)]):
        for _ in range(2):
            _block(weights, now + skips.pop(), channels, 4 * c)
            now = channels
            if pixels == size.attended:
                _attention(weights, now)
        if level:
            _convolution(weights, 3, now, now)
    weights.norm(now)
    _convolution(weights, 3, now, 3)
    shape = (size.batch, size.pixels, size.pixels, 3)
    noisy, noise = (weights.rng.normal(size=shape).astype(np.float32) for _ in range(2))
    steps = weights.rng.integers(0, 1000, size.batch)
    phases = steps[:, None] * 10000.0 ** (-np.arange(c // 2) / (c // 2))
    embedded = np.concatenate([np.sin(phases), np.cos(phases)], -1).astype(np.float32)
    options = {"levels": size.levels, "attended": size.attended, "groups": size.groups}
    return weights.workload(size.name, _loss(size), (noisy, embedded, noise), "unet", **options)


def _convolution(weights: Weights, extent: int, inputs: int, outputs: int) -> None:
    weights.normal(extent, extent, inputs, outputs)
    weights.zeros(outputs)


def _block(weights: Weights, inputs: int, outputs: int, embedding: int) -> None:
    weights.norm(inputs)
    _convolution(weights, 3, inputs, outputs)
    weights.dense(embedding, outputs)
    weights.norm(outputs)
    _convolution(weights, 3, outputs, outputs)
    if inputs != outputs:
        weights.normal(inputs, outputs)


def _attention(weights: Weights, channels: int) -> None:
    weights.norm(channels)
    weights.dense(channels, 3 * channels)
    weights.dense(channels, channels)


def _loss(size: Size) -> Function:
    def normalised(x: Any, w: Iterator[Any]) -> Any:
        n, h, v, c = x.shape
        grouped = x.reshape(n, h, v, size.groups, c // size.groups)
        centred = grouped - grouped.mean((1, 2, 4), keepdims=True)
        scaled = centred * lax.rsqrt(jnp.square(centred).mean((1, 2, 4), keepdims=True) + 1e-5)
        return scaled.reshape(x.shape) * next(w) + next(w)

    def block(x: Any, embedding: Any, channels: int, w: Iterator[Any]) -> Any:
        y = convolve(jax.nn.silu(normalised(x, w)), next(w)) + next(w)
        y = y + dense(embedding, w)[:, None, None]
        y = convolve(jax.nn.silu(normalised(y, w)), next(w)) + next(w)
        return y + (x if x.shape[-1] == channels else x @ next(w))

    def attention(x: Any, w: Iterator[Any]) -> Any:
        n, h, v, c = x.shape
        q, k, values = jnp.split(dense(normalised(x, w).reshape(n, h * v, c), w), 3, -1)
        return x + dense(attend(q, k, values), w).reshape(x.shape)

    def loss(*inputs: Any) -> Any:
        *weights, noisy, embedded, noise = inputs
        w = iter(weights)
        embedding = jax.nn.silu(dense(jax.nn.silu(dense(embedded, w)), w))
        x = convolve(noisy, next(w)) + next(w)
        skips = [x]
        for level, (channels, pixels) in enumerate(size.levels):
            x = block(x, embedding, channels, w)
            if pixels == size.attended:
                x = attention(x, w)
            skips.append(x)
            if level + 1 < len(size.levels):
                x = convolve(x, next(w), 2, ((1, 1), (1, 1))) + next(w)
                skips.append(x)
        x = block(x, embedding, x.shape[-1], w)
        x = block(attention(x, w), embedding, x.shape[-1], w)
        for level, (channels, pixels) in reversed([*enumerate(size.levels)]):
            for _ in range(2):
                x = block(jnp.concatenate([x, skips.pop()], -1), embedding, channels, w)
                if pixels == size.attended:
                    x = attention(x, w)
            if level:
                x = convolve(jnp.repeat(jnp.repeat(x, 2, 1), 2, 2), next(w)) + next(w)
        predicted = convolve(jax.nn.silu(normalised(x, w)), next(w)) + next(w)
        return jnp.mean(jnp.square(predicted - noise))

    return loss
