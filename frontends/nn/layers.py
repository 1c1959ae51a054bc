"""Layers that multiply by a matrix or look up in one."""

from __future__ import annotations

import numpy as np

from wengert.eager.operations import indexing
from wengert.eager.operations.contraction import addmm
from wengert.eager.operations.elementwise import where
from wengert.eager.operations.reading import seen
from wengert.eager.recording import dispatch
from wengert.eager.recording.modes import no_grad
from wengert.eager.tensor import Tensor


def linear(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """x W^T + b. ``x: [..., n]``, ``weight: [m, n]``, ``bias: [m]``; the result is ``[..., m]``."""
    if bias is None or x.ndim != 2:
        product = x @ weight.t()
        return product if bias is None else product + bias
    return addmm(bias, x, weight.t())


def embedding(
    index: Tensor,
    weight: Tensor,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Tensor:
    """The rows of ``weight: [n, d]`` at the positions of an index of any shape; the row ``padding_idx`` gets no gradient.

    Rows that are read and are longer than ``max_norm`` are shortened in place first. With ``scale_grad_by_freq`` each gradient is divided by how often its row
    is read. Gradients are dense.
    """
    if max_norm is not None:
        with no_grad():
            read = dispatch.constant(np.unique(seen(index)))
            weight.index_copy_(0, read, weight.index_select(0, read).renorm(norm_type, 0, max_norm))
    rows = indexing.embedding(index, weight)
    if scale_grad_by_freq and rows.requires_grad:
        places, counts = np.unique(seen(index), return_inverse=True, return_counts=True)[1:]
        share = dispatch.constant((1 / counts)[places].reshape(*index.array.shape, 1).astype(weight.array.dtype))
        rows.register_hook(lambda gradient: gradient * share)
    if padding_idx is None:
        return rows
    return where((index == padding_idx % weight.shape[0]).unsqueeze(-1), rows.detach(), rows)
