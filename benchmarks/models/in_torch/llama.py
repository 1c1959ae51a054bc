"""Decoders as Llama 2."""

from __future__ import annotations

import torch
import torch.nn.functional as nn
from benchmarks.models.in_torch.layers import Tensor, cross_entropy, join_heads, split_heads


def loss(*inputs: Tensor, heads: int, groups: int, layers: int) -> Tensor:
    *weights, cosine, sine, tokens, wanted = inputs

    def rotated(x: Tensor) -> Tensor:
        a, b = x.chunk(2, -1)
        return torch.cat([a * cosine - b * sine, b * cosine + a * sine], -1)

    w = iter(weights)
    x = nn.embedding(tokens.long(), next(w))
    for _ in range(layers):
        y = nn.rms_norm(x, x.shape[-1:], next(w), 1e-5)
        q, k, v = rotated(split_heads(y @ next(w), heads)), rotated(split_heads(y @ next(w), groups)), split_heads(y @ next(w), groups)
        x = x + join_heads(nn.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)) @ next(w)
        y = nn.rms_norm(x, x.shape[-1:], next(w), 1e-5)
        x = x + (nn.silu(y @ next(w)) * (y @ next(w))) @ next(w)
    return cross_entropy(nn.rms_norm(x, x.shape[-1:], next(w), 1e-5) @ next(w), wanted)
