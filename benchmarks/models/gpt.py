"""GPTs: decoders with learned positions, and the loss of the next token."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from benchmarks.models.initial import Weights
from benchmarks.models.layers import attend, causal, cross_entropy, dense, join_heads, layer_norm, split_heads
from benchmarks.problems.workloads import Function, Workload


@dataclass(frozen=True)
class Size:
    """``layers`` blocks of ``width``, heads of 32 or 64, and ``vocabulary`` outputs."""

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


SIZES = (Size(1, 64, 64, 2), Size(4, 128, 256, 4), Size(2, 256, 512, 4, 5000))
TINY = Size(2, 8, 64, 2, 50)


def workload(size: Size) -> Workload:
    """The training step with random tokens."""
    weights, d = Weights(), size.width
    weights.normal(size.vocabulary, d, scale=0.1)
    weights.normal(size.tokens, d, scale=0.1)
    for _ in range(size.layers):
        weights.norm(d)
        weights.dense(d, 3 * d)
        weights.dense(d, d)
        weights.norm(d)
        weights.dense(d, 4 * d)
        weights.dense(4 * d, d)
    weights.norm(d)
    weights.normal(d, size.vocabulary)
    tokens, wanted = (weights.rng.integers(0, size.vocabulary, (size.batch, size.tokens)).astype(np.int32) for _ in range(2))
    return weights.workload(size.name, _loss(size), (tokens, wanted), "gpt", heads=size.heads, layers=size.layers)


def _loss(size: Size) -> Function:
    def loss(*inputs: Any) -> Any:
        *weights, tokens, wanted = inputs
        w = iter(weights)
        x = next(w)[tokens] + next(w)
        for _ in range(size.layers):
            q, k, v = [split_heads(part, size.heads) for part in jnp.split(dense(layer_norm(x, next(w), next(w)), w), 3, -1)]
            x = x + dense(join_heads(attend(q, k, v, causal(size.tokens))), w)
            x = x + dense(jax.nn.gelu(dense(layer_norm(x, next(w), next(w)), w)), w)
        return cross_entropy(layer_norm(x, next(w), next(w)) @ next(w), wanted)

    return loss
