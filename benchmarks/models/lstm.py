"""Language models of LSTM layers (Zaremba et al., 2014), a loop over time in each, and the loss of the next token."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from benchmarks.models.initial import Weights
from benchmarks.models.layers import cross_entropy, dense
from benchmarks.problems.workloads import Function, Workload
from jax import lax


@dataclass(frozen=True)
class Size:
    """``layers`` of ``width`` units over ``tokens`` steps."""

    batch: int
    tokens: int
    width: int
    layers: int
    vocabulary: int = 10000

    @property
    def name(self) -> str:
        return f"LSTM B{self.batch} T{self.tokens} D{self.width} L{self.layers}"


SIZES = (Size(16, 32, 512, 2, 5000),)
TINY = Size(3, 5, 8, 2, 20)


def workload(size: Size) -> Workload:
    """The training step with random tokens."""
    weights, d = Weights(), size.width
    weights.normal(size.vocabulary, d, scale=1.0)
    for _ in range(size.layers):
        weights.normal(d, 4 * d)
        weights.normal(d, 4 * d)
        weights.zeros(4 * d)
    weights.dense(d, size.vocabulary)
    tokens, wanted = (weights.rng.integers(0, size.vocabulary, (size.batch, size.tokens)).astype(np.int32) for _ in range(2))
    return weights.workload(size.name, _loss(size.layers), (tokens, wanted), "lstm", layers=size.layers)


def _loss(layers: int) -> Function:
    def layer(x: Any, by_input: Any, by_state: Any, bias: Any) -> Any:
        def step(state: Any, inputs: Any) -> Any:
            h, c = state
            i, f, g, o = jnp.split(inputs @ by_input + h @ by_state + bias, 4, -1)
            c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
            h = jax.nn.sigmoid(o) * jnp.tanh(c)
            return (h, c), h

        zero = jnp.zeros((x.shape[1], by_state.shape[0]), x.dtype)
        return lax.scan(step, (zero, zero), x)[1]

    def loss(*inputs: Any) -> Any:
        *weights, tokens, wanted = inputs
        w = iter(weights)
        x = next(w)[tokens.T]
        for _ in range(layers):
            x = layer(x, next(w), next(w), next(w))
        return cross_entropy(dense(x, w), wanted.T)

    return loss
