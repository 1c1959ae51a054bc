"""The workloads as PyTorch's users write them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benchmarks.gpu import workloads as ours

Tensor = Any


def torch_function(function: Callable[..., Any]) -> Callable[..., Any]:
    """The workload's function on tensors."""
    return _FUNCTIONS[function]


def _elementwise(x: Tensor, y: Tensor) -> Tensor:
    import torch

    return x * y + torch.tanh(x)


def _softmax(x: Tensor) -> Tensor:
    import torch

    return torch.softmax(x, -1)


def _layer_norm(x: Tensor, scale: Tensor, bias: Tensor) -> Tensor:
    import torch

    return torch.nn.functional.layer_norm(x, x.shape[-1:], scale, bias, 1e-5)


def _mlp(x: Tensor, first: Tensor, bias: Tensor, second: Tensor) -> Tensor:
    import torch

    return torch.nn.functional.gelu(x @ first + bias, approximate="tanh") @ second


def _block(x: Tensor, scale: Tensor, bias: Tensor, inwards: Tensor, outwards: Tensor, first: Tensor, middle: Tensor, second: Tensor) -> Tensor:
    import torch

    tokens, width = x.shape
    q, k, v = (_layer_norm(x, scale, bias) @ inwards).view(tokens, 3, width // ours.HEAD, ours.HEAD).permute(1, 2, 0, 3)
    taken = torch.nn.functional.scaled_dot_product_attention(q[None], k[None], v[None])[0]
    x = x + taken.transpose(0, 1).reshape(tokens, width) @ outwards
    return x + _mlp(_layer_norm(x, scale, bias), first, middle, second)


_FUNCTIONS: dict[Callable[..., Any], Callable[..., Any]] = {
    ours.elementwise: _elementwise,
    ours.total: lambda x: x.sum(),
    ours.row_sums: lambda x: x.sum(1),
    ours.column_sums: lambda x: x.sum(0),
    ours.softmax: _softmax,
    ours.layer_norm: _layer_norm,
    ours.product: lambda x, y: x @ y,
    ours.mlp: _mlp,
    ours.transformer_block: _block,
}
