"""Vision transformers (Dosovitskiy et al., 2021): patches by a strided convolution, a class token, blocks normalised first, and the loss of the class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from benchmarks.models.initial import Weights
from benchmarks.models.layers import attend, convolve, cross_entropy, dense, join_heads, layer_norm, split_heads
from benchmarks.problems.workloads import Function, Workload


@dataclass(frozen=True)
class Size:
    """``layers`` blocks of ``width``, heads of 64, on images of ``pixels`` in patches of ``patch``."""

    batch: int
    pixels: int
    patch: int
    width: int
    layers: int
    heads: int
    classes: int = 1000

    @property
    def name(self) -> str:
        return f"ViT B{self.batch} {self.pixels} px D{self.width} L{self.layers}"


SIZES = (Size(2, 224, 16, 384, 4, 6),)
"""The width of ViT-S/16, a third of its layers."""
TINY = Size(2, 8, 4, 16, 2, 2, 5)


def workload(size: Size) -> Workload:
    """The training step with random images and classes."""
    weights, d = Weights(), size.width
    weights.normal(size.patch, size.patch, 3, d)
    weights.zeros(d)
    weights.normal(d, scale=0.1)
    weights.normal((size.pixels // size.patch) ** 2 + 1, d, scale=0.1)
    for _ in range(size.layers):
        weights.norm(d)
        weights.dense(d, 3 * d)
        weights.dense(d, d)
        weights.norm(d)
        weights.dense(d, 4 * d)
        weights.dense(4 * d, d)
    weights.norm(d)
    weights.dense(d, size.classes)
    images = weights.rng.normal(size=(size.batch, size.pixels, size.pixels, 3)).astype(np.float32)
    wanted = weights.rng.integers(0, size.classes, size.batch).astype(np.int32)
    return weights.workload(size.name, _loss(size), (images, wanted), "vit", heads=size.heads, layers=size.layers)


def _loss(size: Size) -> Function:
    def loss(*inputs: Any) -> Any:
        *weights, images, wanted = inputs
        w = iter(weights)
        patches = convolve(images, next(w), size.patch, "VALID").reshape(size.batch, -1, size.width) + next(w)
        first = jnp.broadcast_to(next(w), (size.batch, 1, size.width))
        x = jnp.concatenate([first, patches], 1) + next(w)
        for _ in range(size.layers):
            q, k, v = [split_heads(part, size.heads) for part in jnp.split(dense(layer_norm(x, next(w), next(w)), w), 3, -1)]
            x = x + dense(join_heads(attend(q, k, v)), w)
            x = x + dense(jax.nn.gelu(dense(layer_norm(x, next(w), next(w)), w), approximate=False), w)
        return cross_entropy(dense(layer_norm(x, next(w), next(w))[:, 0], w), wanted)

    return loss
