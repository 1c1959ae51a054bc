"""Layers that multiply by a matrix or look up in one."""

from __future__ import annotations

from wengert.eager.operations import indexing
from wengert.eager.operations.contraction import addmm
from wengert.eager.operations.elementwise import where
from wengert.eager.tensor import Tensor


def linear(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """x W^T + b. ``x: [..., n]``, ``weight: [m, n]``, ``bias: [m]``; the result is ``[..., m]``."""
    if bias is None or x.ndim != 2:
        product = x @ weight.t()
        return product if bias is None else product + bias
    return addmm(bias, x, weight.t())


def embedding(index: Tensor, weight: Tensor, padding_idx: int | None = None) -> Tensor:
    """The rows of ``weight: [n, d]`` at the positions of an index of any shape; the row ``padding_idx`` gets no gradient."""
    rows = indexing.embedding(index, weight)
    if padding_idx is None:
        return rows
    return where((index == padding_idx % weight.shape[0]).unsqueeze(-1), rows.detach(), rows)
