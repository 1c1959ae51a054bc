"""PyTorch's tensors as NumPy arrays and back, without copies: both libraries exchange memory on the CPU.

NumPy has no bfloat16 of its own: such tensors travel as the 16-bit integers that have the same bits.
"""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from wengert.frontends.torch_programs.library import torch_module
from wengert.runtime.errors import InputError

Array = np.ndarray[Any, np.dtype[Any]]
_BFLOAT16 = np.dtype(ml_dtypes.bfloat16)


def is_tensor(x: Any) -> bool:
    """Whether x is a PyTorch tensor."""
    return isinstance(x, torch_module().Tensor)


def to_array(x: Any) -> Array:
    """A tensor on the CPU as an array of the same memory; its gradient history stays behind."""
    torch = torch_module()
    if x.device.type != "cpu":
        raise InputError(f"a tensor is on {x.device}; programs run on the CPU: pass x.cpu()")
    if torch._C._functorch.is_legacy_batchedtensor(x):
        raise InputError("is_grads_batched=True does not reach into programs; take torch.func.vmap, jacrev or vjp")
    x = x.detach().resolve_conj().resolve_neg()
    if x.dtype == torch.bfloat16:
        return x.view(torch.int16).numpy().view(_BFLOAT16)
    return np.from_dlpack(x) if x.dtype != torch.bool else x.numpy()


def to_tensor(x: Array) -> Any:
    """An array as a tensor of the same memory."""
    torch = torch_module()
    if x.dtype == _BFLOAT16:
        return torch.from_dlpack(x.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(x) if x.dtype == np.bool_ else torch.from_dlpack(x)
