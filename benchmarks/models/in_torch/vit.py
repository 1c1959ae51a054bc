"""Vision transformers."""

from __future__ import annotations

import torch
import torch.nn.functional as nn
from benchmarks.models.in_torch.layers import Tensor, convolve, cross_entropy, dense, join_heads, layer_norm, split_heads


def loss(*inputs: Tensor, heads: int, layers: int) -> Tensor:
    *weights, images, wanted = inputs
    w = iter(weights)
    kernel = next(w)
    patches = convolve(images.permute(0, 3, 1, 2), kernel, kernel.shape[0], "valid").flatten(2).transpose(1, 2) + next(w)
    x = torch.cat([next(w).expand(len(images), 1, -1), patches], 1) + next(w)
    for _ in range(layers):
        q, k, v = [split_heads(part, heads) for part in dense(layer_norm(x, w), w).split(x.shape[-1], -1)]
        x = x + dense(join_heads(nn.scaled_dot_product_attention(q, k, v)), w)
        x = x + dense(nn.gelu(dense(layer_norm(x, w), w)), w)
    return cross_entropy(dense(layer_norm(x, w)[:, 0], w), wanted)
