"""The workloads as one writes them in PyTorch: functions of tensors by the names that ``workloads.py`` refers to."""

# pyright: reportUnknownMemberType=false
from __future__ import annotations

import importlib
from typing import Any

import torch
import torch.nn.functional as nn

Tensor = torch.Tensor


def smooth(x: Tensor, y: Tensor) -> Tensor:
    return torch.sum(torch.tanh(x) * torch.sin(y) + torch.exp(-x * x))


def cross_entropy(x: Tensor, y: Tensor) -> Tensor:
    return -torch.sum(torch.log_softmax(x, -1) * y)


def layer_norm(x: Tensor, g: Tensor) -> Tensor:
    return torch.sum(torch.square(nn.layer_norm(x, x.shape[-1:], g)))


def gelu(x: Tensor) -> Tensor:
    return torch.sum(torch.square(nn.gelu(x, approximate="tanh")))


def mlp(w: Tensor, b: Tensor, v: Tensor, x: Tensor, y: Tensor) -> Tensor:
    return -torch.mean(torch.sum(torch.log_softmax(torch.tanh(x @ w + b) @ v, -1) * y, -1))


def attend(x: Tensor, wq: Tensor, wk: Tensor, wv: Tensor, wo: Tensor) -> Tensor:
    t, d = x.shape
    q, k, v = [(x @ w).reshape(t, d // 16, 16).transpose(0, 1) for w in (wq, wk, wv)]
    mixed = nn.scaled_dot_product_attention(q, k, v, is_causal=True)
    return mixed.transpose(0, 1).reshape(t, d) @ wo


def attention(x: Tensor, *weights: Tensor) -> Tensor:
    return torch.mean(torch.square(x + attend(x, *weights)))


def transformer(x: Tensor, g: Tensor, wq: Tensor, wk: Tensor, wv: Tensor, wo: Tensor, h: Tensor, w: Tensor, v: Tensor) -> Tensor:
    x = x + attend(nn.layer_norm(x, x.shape[-1:], g), wq, wk, wv, wo)
    x = x + nn.gelu(nn.layer_norm(x, x.shape[-1:], h) @ w, approximate="tanh") @ v
    return torch.mean(torch.square(x))


def convolution(x: Tensor, v: Tensor, w: Tensor) -> Tensor:
    # the workload's arrays are NHWC and HWIO, which PyTorch takes as views
    x = x.permute(0, 3, 1, 2)
    for kernel in (v, w):
        x = torch.relu(nn.conv2d(x, kernel.permute(3, 2, 0, 1), padding="same"))
    return torch.sum(torch.square(x.mean((2, 3))))


def products(a: Tensor, b: Tensor) -> Tensor:
    return torch.sum(torch.square(a @ b))


def solves(a: Tensor, b: Tensor) -> Tensor:
    return torch.sum(torch.square(torch.linalg.solve(a, b)))


def van_der_pol(mu: Tensor, x: Tensor, v: Tensor, steps: int) -> Tensor:
    h = 0.01

    def slope(x: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        return v, mu * (1 - x * x) * v - x

    for _ in range(steps):
        a = slope(x, v)
        b = slope(x + h / 2 * a[0], v + h / 2 * a[1])
        c = slope(x + h / 2 * b[0], v + h / 2 * b[1])
        d = slope(x + h * c[0], v + h * c[1])
        x, v = x + h / 6 * (a[0] + 2 * b[0] + 2 * c[0] + d[0]), v + h / 6 * (a[1] + 2 * b[1] + 2 * c[1] + d[1])
    return x


def bundle(cameras: Tensor, points: Tensor, seen: Tensor) -> Tensor:
    r, t = cameras[:, :3], cameras[:, 3:6]
    angle = torch.sqrt(torch.sum(r * r, -1, keepdim=True) + 1e-12)
    axis = r / angle
    cosine, sine = torch.cos(angle), torch.sin(angle)
    along = torch.sum(axis * points, -1, keepdim=True)
    p = points * cosine + torch.linalg.cross(axis, points) * sine + axis * along * (1 - cosine) + t
    s = p[:, :2] / p[:, 2:]
    projected = cameras[:, 6:7] * (1 + cameras[:, 7:8] * torch.sum(s * s, -1, keepdim=True)) * s
    return torch.sum(torch.square(projected - seen))


def layers(x: Tensor, *weights: Tensor) -> Tensor:
    for w in weights:
        x = torch.tanh(x @ w)
    return torch.mean(torch.square(x))


def sum_of_five(a: Tensor, b: Tensor, c: Tensor, d: Tensor, e: Tensor) -> Tensor:
    return a + b + c + d + e


def matmul(a: Tensor, b: Tensor) -> Tensor:
    return a @ b


def function(name: str, options: dict[str, Any]) -> Any:
    """The function of this name, here or as ``module:name``, with its static arguments."""
    module, _, name = name.rpartition(":")
    f = getattr(importlib.import_module(module), name) if module else globals()[name]
    return (lambda *inputs: f(*inputs, **options)) if options else f
