"""WaveNet."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as nn
from benchmarks.models.in_torch.layers import Tensor, cross_entropy, dense


def loss(*inputs: Tensor) -> Tensor:
    *weights, samples, wanted = inputs
    layers = (len(weights) - 3) // 6
    w = iter(weights)
    x, total = nn.embedding(samples.long(), next(w)), torch.zeros(())
    for layer in range(layers):
        # channels come first for PyTorch's convolution
        padded = nn.pad(x.transpose(1, 2), (2**layer, 0))
        filtered: Any = nn.conv1d(padded, next(w).permute(2, 1, 0), next(w), dilation=2**layer).transpose(1, 2)
        a, b = filtered.chunk(2, -1)
        gated = torch.tanh(a) * torch.sigmoid(b)
        total = total + dense(gated, w)
        if layer + 1 < layers:
            x = x + dense(gated, w)
    return cross_entropy(dense(torch.relu(dense(torch.relu(total), w)), w), wanted)
