"""Decoders as Llama 2 (Touvron et al., 2023): RMS norm, rotary positions, grouped-query attention, SwiGLU, no biases, and the loss of the next token."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from benchmarks.models.initial import Weights
from benchmarks.models.layers import attend, causal, cross_entropy, join_heads, split_heads
from benchmarks.problems.workloads import Array, Function, Workload
from jax import lax


@dataclass(frozen=True)
class Size:
    """``layers`` blocks of ``width`` with ``hidden`` gated units; ``groups`` heads of keys and values are shared by ``heads`` of queries."""

    batch: int
    tokens: int
    width: int
    layers: int
    heads: int
    groups: int
    hidden: int
    vocabulary: int = 8000

    @property
    def each(self) -> int:
        return self.width // self.heads

    @property
    def name(self) -> str:
        return f"Llama B{self.batch} T{self.tokens} D{self.width} L{self.layers}"


SIZES = (Size(1, 256, 768, 2, 12, 4, 2048),)
TINY = Size(2, 8, 32, 2, 4, 2, 24, 40)


def workload(size: Size) -> Workload:
    """The training step with random tokens."""
    weights, d = Weights(), size.width
    weights.normal(size.vocabulary, d, scale=0.1)
    for _ in range(size.layers):
        weights.ones(d)
        weights.normal(d, d)
        weights.normal(d, size.groups * size.each)
        weights.normal(d, size.groups * size.each)
        weights.normal(d, d)
        weights.ones(d)
        weights.normal(d, size.hidden)
        weights.normal(d, size.hidden)
        weights.normal(size.hidden, d)
    weights.ones(d)
    weights.normal(d, size.vocabulary)
    tokens, wanted = (weights.rng.integers(0, size.vocabulary, (size.batch, size.tokens)).astype(np.int32) for _ in range(2))
    data = (*_angles(size), tokens, wanted)
    return weights.workload(size.name, _loss(size), data, "llama", heads=size.heads, groups=size.groups, layers=size.layers)


def _angles(size: Size) -> tuple[Array, Array]:
    """Cosines and sines of each position's rotations, ``[tokens, each / 2]``."""
    frequencies = 10000.0 ** (-np.arange(0, size.each, 2) / size.each)
    angles = np.arange(size.tokens)[:, None] * frequencies
    return np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32)


def _loss(size: Size) -> Function:
    def rms_norm(x: Any, g: Any) -> Any:
        return x * lax.rsqrt(jnp.square(x).mean(-1, keepdims=True) + 1e-5) * g

    def rotated(x: Any, cosine: Any, sine: Any) -> Any:
        a, b = jnp.split(x, 2, -1)
        return jnp.concatenate([a * cosine - b * sine, b * cosine + a * sine], -1)

    def loss(*inputs: Any) -> Any:
        *weights, cosine, sine, tokens, wanted = inputs
        w = iter(weights)
        x = next(w)[tokens]
        for _ in range(size.layers):
            y = rms_norm(x, next(w))
            q = rotated(split_heads(y @ next(w), size.heads), cosine, sine)
            k = rotated(split_heads(y @ next(w), size.groups), cosine, sine)
            v = split_heads(y @ next(w), size.groups)
            grouped = q.reshape(size.batch, size.groups, size.heads // size.groups, size.tokens, size.each)
            mixed = attend(grouped, k[:, :, None], v[:, :, None], causal(size.tokens))
            x = x + join_heads(mixed.reshape(q.shape)) @ next(w)
            y = rms_norm(x, next(w))
            x = x + (jax.nn.silu(y @ next(w)) * (y @ next(w))) @ next(w)
        return cross_entropy(rms_norm(x, next(w)) @ next(w), wanted)

    return loss
