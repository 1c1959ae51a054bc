"""BERT."""

from __future__ import annotations

import torch
import torch.nn.functional as nn
from benchmarks.models.in_torch.layers import Tensor, cross_entropy, dense, join_heads, layer_norm, split_heads


def loss(*inputs: Tensor, heads: int, layers: int) -> Tensor:
    *weights, tokens, segments, present, places, wanted = inputs
    w = iter(weights)
    embedding, mask = next(w), present[:, None, None, :]
    x = layer_norm(nn.embedding(tokens.long(), embedding) + next(w) + next(w)[segments.long()], w)
    for _ in range(layers):
        q, k, v = [split_heads(part, heads) for part in dense(x, w).split(x.shape[-1], -1)]
        x = layer_norm(x + dense(join_heads(nn.scaled_dot_product_attention(q, k, v, attn_mask=mask)), w), w)
        x = layer_norm(x + dense(nn.gelu(dense(x, w)), w), w)
    guessed = torch.take_along_dim(x, places.long()[..., None], 1)
    guessed = layer_norm(nn.gelu(dense(guessed, w)), w)
    return cross_entropy(guessed @ embedding.T + next(w), wanted)
