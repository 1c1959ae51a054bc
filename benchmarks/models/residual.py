"""Residual convolution networks, and the loss of the class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
from benchmarks.models.initial import Weights
from benchmarks.models.layers import convolve, cross_entropy
from benchmarks.problems.workloads import Workload


@dataclass(frozen=True)
class Size:
    """``blocks`` of two 3x3 convolutions each, on images of three channels."""

    batch: int
    pixels: int
    blocks: int
    channels: int = 32
    classes: int = 10

    @property
    def name(self) -> str:
        return f"residual CNN B{self.batch} {self.pixels} px, {self.blocks} blocks"


SIZES = (Size(8, 32, 3), Size(16, 32, 6), Size(4, 96, 3))
TINY = Size(2, 8, 2, 8)


def workload(size: Size) -> Workload:
    """The training step with random images and classes."""
    weights, c = Weights(), size.channels
    weights.normal(3, 3, 3, c)
    for _ in range(2 * size.blocks):
        weights.normal(3, 3, c, c, scale=0.5 * (9 * c) ** -0.5)
    weights.normal(c, size.classes)
    images = weights.rng.normal(size=(size.batch, size.pixels, size.pixels, 3)).astype(np.float32)
    wanted = weights.rng.integers(0, size.classes, size.batch).astype(np.int32)
    return weights.workload(size.name, _loss, (images, wanted), "residual")


def _loss(*inputs: Any) -> Any:
    first, *kernels, head, images, wanted = inputs
    x = jax.nn.relu(convolve(images, first))
    for v, w in zip(kernels[::2], kernels[1::2], strict=True):
        x = jax.nn.relu(x + convolve(jax.nn.relu(convolve(x, v)), w))
    return cross_entropy(x.mean((1, 2)) @ head, wanted)
