"""Layers that several models have, for PyTorch. Images and kernels are NHWC and HWIO, which PyTorch takes as views."""

from __future__ import annotations

from collections.abc import Iterator

import torch
import torch.nn.functional as nn

Tensor = torch.Tensor


def layer_norm(x: Tensor, w: Iterator[Tensor]) -> Tensor:
    """With the next two weights."""
    return nn.layer_norm(x, x.shape[-1:], next(w), next(w))


def dense(x: Tensor, w: Iterator[Tensor]) -> Tensor:
    """``x w + b`` with the next two weights."""
    return x @ next(w) + next(w)


def split_heads(x: Tensor, heads: int) -> Tensor:
    """``[n, t, d]`` as ``[n, heads, t, d / heads]``."""
    return x.unflatten(-1, (heads, -1)).transpose(1, 2)


def join_heads(x: Tensor) -> Tensor:
    """The inverse of ``split_heads``."""
    return x.transpose(1, 2).flatten(-2)


def cross_entropy(logits: Tensor, wanted: Tensor) -> Tensor:
    """The mean over all positions."""
    return nn.cross_entropy(logits.flatten(0, -2), wanted.long().flatten())


def convolve(x: Tensor, w: Tensor, stride: int = 1, padding: str | int = "same") -> Tensor:
    """Of a tensor in PyTorch's order."""
    return nn.conv2d(x, w.permute(3, 2, 0, 1), stride=stride, padding=padding)
