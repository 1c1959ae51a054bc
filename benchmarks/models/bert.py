"""BERT (Devlin et al., 2019): an encoder normalised after each part, with segments and padding, and the loss of masked tokens by the embedding's own matrix."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from benchmarks.models.initial import Weights
from benchmarks.models.layers import attend, cross_entropy, dense, join_heads, layer_norm, split_heads
from benchmarks.problems.workloads import Function, Workload


@dataclass(frozen=True)
class Size:
    """``layers`` blocks of ``width``; ``masked`` tokens of each sequence are guessed."""

    batch: int
    tokens: int
    width: int
    layers: int
    heads: int
    masked: int
    vocabulary: int = 30522

    @property
    def name(self) -> str:
        return f"BERT B{self.batch} T{self.tokens} D{self.width} L{self.layers}"


SIZES = (Size(1, 128, 768, 2, 12, 20),)
"""The width and the vocabulary of BERT-base, a sixth of its layers."""
TINY = Size(2, 8, 16, 2, 2, 3, 40)


def workload(size: Size) -> Workload:
    """The training step with random tokens, the last eighth of them padding, and the second half in the second segment."""
    weights, d = Weights(), size.width
    for rows in (size.vocabulary, size.tokens, 2):
        weights.normal(rows, d, scale=0.1)
    weights.norm(d)
    for _ in range(size.layers):
        weights.dense(d, 3 * d)
        weights.dense(d, d)
        weights.norm(d)
        weights.dense(d, 4 * d)
        weights.dense(4 * d, d)
        weights.norm(d)
    weights.dense(d, d)
    weights.norm(d)
    weights.zeros(size.vocabulary)
    rng, shape = weights.rng, (size.batch, size.tokens)
    length = size.tokens - size.tokens // 8
    tokens = rng.integers(0, size.vocabulary, shape).astype(np.int32)
    segments = np.broadcast_to((np.arange(size.tokens) >= size.tokens // 2).astype(np.int32), shape).copy()
    present = np.broadcast_to(np.arange(size.tokens) < length, shape).copy()
    places = np.stack([np.sort(rng.choice(length, size.masked, replace=False)) for _ in range(size.batch)]).astype(np.int32)
    wanted = rng.integers(0, size.vocabulary, places.shape).astype(np.int32)
    data = (tokens, segments, present, places, wanted)
    return weights.workload(size.name, _loss(size), data, "bert", heads=size.heads, layers=size.layers)


def _loss(size: Size) -> Function:
    def loss(*inputs: Any) -> Any:
        *weights, tokens, segments, present, places, wanted = inputs
        w = iter(weights)
        embedding, mask = next(w), present[:, None, None, :]
        x = layer_norm(embedding[tokens] + next(w) + next(w)[segments], next(w), next(w))
        for _ in range(size.layers):
            q, k, v = [split_heads(part, size.heads) for part in jnp.split(dense(x, w), 3, -1)]
            x = layer_norm(x + dense(join_heads(attend(q, k, v, mask)), w), next(w), next(w))
            x = layer_norm(x + dense(jax.nn.gelu(dense(x, w), approximate=False), w), next(w), next(w))
        guessed = jnp.take_along_axis(x, places[..., None], 1)
        guessed = layer_norm(jax.nn.gelu(dense(guessed, w), approximate=False), next(w), next(w))
        return cross_entropy(guessed @ embedding.T + next(w), wanted)

    return loss
