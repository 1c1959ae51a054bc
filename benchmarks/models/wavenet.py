"""WaveNet (van den Oord et al., 2016): causal convolutions of two taps whose dilation doubles, gates, skips, and the loss of the next sample of 256 values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from benchmarks.models.initial import Weights
from benchmarks.models.layers import cross_entropy, dense
from benchmarks.problems.workloads import Workload
from jax import lax


@dataclass(frozen=True)
class Size:
    """``layers`` of ``channels``, with dilations 1, 2, 4 and so on, and ``skips`` channels that lead to the result."""

    batch: int
    samples: int
    channels: int
    skips: int
    layers: int
    values: int = 256

    @property
    def name(self) -> str:
        return f"WaveNet B{self.batch} T{self.samples} C{self.channels} L{self.layers}"


SIZES = (Size(1, 4096, 64, 128, 10),)
TINY = Size(2, 32, 8, 12, 4, 16)


def workload(size: Size) -> Workload:
    """The training step with random samples."""
    weights, c = Weights(), size.channels
    weights.normal(size.values, c, scale=1.0)
    for layer in range(size.layers):
        weights.normal(2, c, 2 * c)
        weights.zeros(2 * c)
        weights.dense(c, size.skips)
        if layer + 1 < size.layers:
            weights.dense(c, c)
    weights.dense(size.skips, size.values)
    weights.dense(size.values, size.values)
    samples, wanted = (weights.rng.integers(0, size.values, (size.batch, size.samples)).astype(np.int32) for _ in range(2))
    return weights.workload(size.name, _loss, (samples, wanted), "wavenet")


def _loss(*inputs: Any) -> Any:
    *weights, samples, wanted = inputs
    layers = (len(weights) - 3) // 6
    w = iter(weights)
    x, total = next(w)[samples], 0.0
    for layer in range(layers):
        filtered = _dilated(x, next(w), 2**layer) + next(w)
        a, b = jnp.split(filtered, 2, -1)
        gated = jnp.tanh(a) * jax.nn.sigmoid(b)
        total = total + dense(gated, w)
        if layer + 1 < layers:
            x = x + dense(gated, w)
    return cross_entropy(dense(jax.nn.relu(dense(jax.nn.relu(total), w)), w), wanted)


def _dilated(x: Any, kernel: Any, dilation: int) -> Any:
    """A causal convolution: ``x[t - dilation]`` by the first tap and ``x[t]`` by the second."""
    return lax.conv_general_dilated(x, kernel, (1,), ((dilation, 0),), rhs_dilation=(dilation,), dimension_numbers=("NWC", "WIO", "NWC"))
