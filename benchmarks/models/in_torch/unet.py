"""U-Nets of diffusion models."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch
import torch.nn.functional as nn
from benchmarks.models.in_torch.layers import Tensor, convolve, dense


def loss(*inputs: Tensor, levels: Sequence[tuple[int, int]], attended: int, groups: int) -> Tensor:
    def normalised(x: Tensor, w: Iterator[Tensor]) -> Tensor:
        return nn.group_norm(x, groups, next(w), next(w))

    def convolved(x: Tensor, w: Iterator[Tensor], stride: int = 1) -> Tensor:
        return nn.conv2d(x, next(w).permute(3, 2, 0, 1), next(w), stride, 1)

    def block(x: Tensor, embedding: Tensor, channels: int, w: Iterator[Tensor]) -> Tensor:
        y = convolved(nn.silu(normalised(x, w)), w)
        y = y + dense(embedding, w)[:, :, None, None]
        y = convolved(nn.silu(normalised(y, w)), w)
        return y + (x if x.shape[1] == channels else convolve(x, next(w)[None, None]))

    def attention(x: Tensor, w: Iterator[Tensor]) -> Tensor:
        q, k, v = dense(normalised(x, w).flatten(2).transpose(1, 2), w).chunk(3, -1)
        return x + dense(nn.scaled_dot_product_attention(q[:, None], k[:, None], v[:, None])[:, 0], w).transpose(1, 2).unflatten(2, x.shape[2:])

    *weights, noisy, embedded, noise = inputs
    w = iter(weights)
    embedding = nn.silu(dense(nn.silu(dense(embedded, w)), w))
    x = convolved(noisy.permute(0, 3, 1, 2), w)
    skips = [x]
    for level, (channels, pixels) in enumerate(levels):
        x = block(x, embedding, channels, w)
        if pixels == attended:
            x = attention(x, w)
        skips.append(x)
        if level + 1 < len(levels):
            x = convolved(x, w, 2)
            skips.append(x)
    x = block(x, embedding, x.shape[1], w)
    x = block(attention(x, w), embedding, x.shape[1], w)
    for level, (channels, pixels) in reversed([*enumerate(levels)]):
        for _ in range(2):
            x = block(torch.cat([x, skips.pop()], 1), embedding, channels, w)
            if pixels == attended:
                x = attention(x, w)
        if level:
            x = convolved(nn.interpolate(x, scale_factor=2.0), w)
    predicted = convolved(nn.silu(normalised(x, w)), w)
    return nn.mse_loss(predicted, noise.permute(0, 3, 1, 2))
