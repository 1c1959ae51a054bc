"""What PyTorch's tests take from its C++ part, written with the public interface: nodes that raise, that give no gradient, weak references."""

from __future__ import annotations

import weakref
from typing import Any

import wengert.eager as eager


class WeakTensorRef:
    """A reference that does not keep a tensor alive."""

    def __init__(self, tensor: Any):
        self._reference = weakref.ref(tensor)

    def expired(self) -> bool:
        """Whether the tensor is gone."""
        return self._reference() is None


class _Undefined(eager.autograd.Function):
    """Passes tensors on, and gradients not."""

    @staticmethod
    def forward(ctx: Any, *tensors: Any) -> Any:
        return tuple(x.clone() for x in tensors) if len(tensors) > 1 else tensors[0].clone()

    @staticmethod
    def backward(ctx: Any, *cotangents: Any) -> Any:
        return tuple(None for _ in cotangents)


class UndefinedGrad:
    """A node whose gradients are absent."""

    def __call__(self, *tensors: Any) -> Any:
        return _Undefined.apply(*tensors)


def delayed_error(message: str, count: int) -> Any:
    """A node that raises when it is run."""

    class Delayed(eager.autograd.Function):
        @staticmethod
        def forward(ctx: Any, *tensors: Any) -> Any:
            return tuple(x.clone() for x in tensors) if len(tensors) > 1 else tensors[0].clone()

        @staticmethod
        def backward(ctx: Any, *cotangents: Any) -> Any:
            raise RuntimeError(message)

    return Delayed.apply
