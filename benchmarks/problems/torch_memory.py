"""What PyTorch's autograd holds on a CPU, where PyTorch does not count: bytes of storages that are alive, and bytes kept for a backward part."""

# pyright: reportUnknownParameterType=false, reportMissingParameterType=false, reportUnknownVariableType=false, reportMissingTypeStubs=false
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUntypedBaseClass=false, reportIncompatibleMethodOverride=false, reportPrivateUsage=false

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from torch.utils.flop_counter import FlopCounterMode


class _Storages(TorchDispatchMode):
    """Counts the bytes of storages that ops make, as long as they are alive."""

    def __init__(self) -> None:
        super().__init__()
        self.live = self.peak = 0
        self.known: set[int] = set()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        results = func(*args, **(kwargs or {}))
        for result in tree_leaves(results):
            if isinstance(result, torch.Tensor):
                self._count(result.untyped_storage())
        return results

    def _count(self, storage: Any) -> None:
        key, size = storage._cdata, storage.nbytes()
        if key not in self.known:
            self.known.add(key)
            self.live += size
            self.peak = max(self.peak, self.live)
            weakref.finalize(storage, self._free, key, size)

    def _free(self, key: int, size: int) -> None:
        self.known.discard(key)
        self.live -= size


def peak_bytes(call: Callable[[], Any]) -> int:
    """The largest number of bytes of storages that are alive at once during a call and were made in it."""
    with _Storages() as mode:
        call()
    return mode.peak


def product_flops(call: Callable[[], Any]) -> int:
    """The flops of matrix products in a call, as PyTorch counts them."""
    counter = FlopCounterMode(display=False)
    with counter:
        call()
    return counter.get_total_flops()


def kept_bytes(function: Callable[[Any, Any], Any], model: Any, budget: float) -> str:
    """What a graph of ``torch.compile`` keeps for its backward part under an activation memory budget; or why it cannot be said."""
    import torch._dynamo
    import torch._functorch.config as config

    torch._dynamo.reset()
    x, w = torch.tensor(model.state, requires_grad=True), torch.tensor(model.weights, requires_grad=True)
    sizes: dict[int, int] = {}

    def pack(tensor: Any) -> Any:
        sizes[tensor.untyped_storage()._cdata] = tensor.untyped_storage().nbytes()
        return tensor

    try:
        with config.patch(activation_memory_budget=budget):
            compiled = torch.compile(function, backend="aot_eager_decomp_partition")
            with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
                compiled(x, w).sum()
    except Exception as error:
        return f"cannot run: {type(error).__name__}"
    given = {t.untyped_storage()._cdata for t in (x, w)}
    return f"{sum(size for key, size in sizes.items() if key not in given) / 1024:.0f} KiB kept"
