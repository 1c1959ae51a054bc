"""What PyTorch's tests take from its C++ part, written with the public interface: nodes that raise, that give no gradient, weak references."""

from __future__ import annotations

import weakref
from typing import Any

import wengert.eager as eager
from wengert.eager.function import FunctionRecord


class WeakTensorRef:
    """A reference that does not keep a tensor alive."""

    def __init__(self, tensor: Any):
        self._reference = weakref.ref(tensor)

    def expired(self) -> bool:
        """Whether the tensor is gone."""
        return self._reference() is None


class allow_mutation_on_saved_tensors(eager.autograd.graph.allow_mutation_on_saved_tensors):  # noqa: N801  (the name under which it is known)
    """The context under the names that PyTorch's has inside."""

    @property
    def tid_to_weakhandle(self) -> Any:
        """What is kept, by what it lies in."""
        return self.kept


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


class DelayedError(FunctionRecord):
    """A node that raises when it is run: ``DelayedError(message, number of results)`` is the function that has it."""

    def __new__(cls, message: str, count: int) -> Any:
        class Delayed(eager.autograd.Function):
            @staticmethod
            def forward(ctx: Any, *tensors: Any) -> Any:
                return tuple(x.clone() for x in tensors) if len(tensors) > 1 else tensors[0].clone()

            @staticmethod
            def backward(ctx: Any, *cotangents: Any) -> Any:
                raise RuntimeError(message)

        return Delayed.apply


class Resize(eager.autograd.Function):
    """A tensor in another shape, as a custom function."""

    @staticmethod
    def forward(ctx: Any, x: Any, sizes: Any) -> Any:
        ctx.sizes = x.shape
        return x.contiguous().view(*sizes)

    @staticmethod
    def backward(ctx: Any, cotangent: Any) -> Any:
        return cotangent.contiguous().view(*ctx.sizes), None
