"""Graph networks."""

from __future__ import annotations

from collections.abc import Iterator

import torch
import torch.nn.functional as nn
from benchmarks.models.in_torch.layers import Tensor, dense, layer_norm


def loss(*inputs: Tensor, rounds: int) -> Tensor:
    def perceptron(x: Tensor, w: Iterator[Tensor]) -> Tensor:
        return layer_norm(dense(torch.relu(dense(x, w)), w), w)

    *weights, nodes, edges, senders, receivers, wanted = inputs
    w, senders, receivers = iter(weights), senders.long(), receivers.long()
    x, e = perceptron(nodes, w), perceptron(edges, w)
    for _ in range(rounds):
        messages = perceptron(torch.cat([e, x[senders], x[receivers]], -1), w)
        received = torch.zeros_like(x).index_add(0, receivers, messages)
        x, e = x + perceptron(torch.cat([x, received], -1), w), e + messages
    return nn.mse_loss(dense(torch.relu(dense(x, w)), w), wanted)
