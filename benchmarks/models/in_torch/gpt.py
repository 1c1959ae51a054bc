"""GPTs."""

from __future__ import annotations

import torch.nn.functional as nn
from benchmarks.models.in_torch.layers import Tensor, cross_entropy, dense, join_heads, layer_norm, split_heads


def loss(*inputs: Tensor, heads: int, layers: int) -> Tensor:
    *weights, tokens, wanted = inputs
    w = iter(weights)
    x = next(w)[tokens.long()] + next(w)
    for _ in range(layers):
        q, k, v = [split_heads(part, heads) for part in dense(layer_norm(x, w), w).split(x.shape[-1], -1)]
        x = x + dense(join_heads(nn.scaled_dot_product_attention(q, k, v, is_causal=True)), w)
        x = x + dense(nn.gelu(dense(layer_norm(x, w), w), approximate="tanh"), w)
    return cross_entropy(layer_norm(x, w) @ next(w), wanted)
