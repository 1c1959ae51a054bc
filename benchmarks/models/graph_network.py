"""Graph networks that simulate (Sanchez-Gonzalez et al., 2020).

Edges and nodes by perceptrons with layer norm, messages summed at their receivers; a mean square..
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from benchmarks.models.initial import Weights
from benchmarks.models.layers import dense, layer_norm
from benchmarks.problems.workloads import Function, Workload


@dataclass(frozen=True)
class Size:
    """``rounds`` of messages of ``width`` along ``edges`` between random ``nodes``."""

    nodes: int
    edges: int
    width: int
    rounds: int

    @property
    def name(self) -> str:
        return f"graph network N{self.nodes} E{self.edges} D{self.width}"


SIZES = (Size(1000, 8000, 128, 3),)
TINY = Size(10, 30, 8, 2)
NODE_FEATURES, EDGE_FEATURES, RESULTS = 16, 4, 3


def workload(size: Size) -> Workload:
    """The training step on a random graph."""
    weights, d = Weights(), size.width

    def perceptron(inputs: int) -> None:
        weights.dense(inputs, d)
        weights.dense(d, d)
        weights.norm(d)

    perceptron(NODE_FEATURES)
    perceptron(EDGE_FEATURES)
    for _ in range(size.rounds):
        perceptron(3 * d)
        perceptron(2 * d)
    weights.dense(d, d)
    weights.dense(d, RESULTS)
    rng = weights.rng
    nodes, edges = (rng.normal(size=shape).astype(np.float32) for shape in ((size.nodes, NODE_FEATURES), (size.edges, EDGE_FEATURES)))
    senders, receivers = (rng.integers(0, size.nodes, size.edges).astype(np.int32) for _ in range(2))
    wanted = rng.normal(size=(size.nodes, RESULTS)).astype(np.float32)
    return weights.workload(size.name, _loss(size.rounds), (nodes, edges, senders, receivers, wanted), "graph_network", rounds=size.rounds)


def _loss(rounds: int) -> Function:
    def perceptron(x: Any, w: Iterator[Any]) -> Any:
        return layer_norm(dense(jax.nn.relu(dense(x, w)), w), next(w), next(w))

    def loss(*inputs: Any) -> Any:
        *weights, nodes, edges, senders, receivers, wanted = inputs
        w = iter(weights)
        x, e = perceptron(nodes, w), perceptron(edges, w)
        for _ in range(rounds):
            messages = perceptron(jnp.concatenate([e, x[senders], x[receivers]], -1), w)
            received = jax.ops.segment_sum(messages, receivers, x.shape[0])
            x, e = x + perceptron(jnp.concatenate([x, received], -1), w), e + messages
        return jnp.mean(jnp.square(dense(jax.nn.relu(dense(x, w)), w) - wanted))

    return loss
