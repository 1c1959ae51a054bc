"""What is done to all parameters together: clipping of gradients, and one vector of them (``torch.nn.utils``)."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from wengert.eager import no_grad
from wengert.eager.operations.creation import tensor
from wengert.eager.operations.joining import cat, stack
from wengert.eager.tensor import Tensor


def _gradients(parameters: Tensor | Iterable[Tensor]) -> list[Tensor]:
    given = [parameters] if isinstance(parameters, Tensor) else parameters
    return [p.grad for p in given if p.grad is not None]


def clip_grad_norm_(parameters: Tensor | Iterable[Tensor], max_norm: float, norm_type: float = 2.0, error_if_nonfinite: bool = False) -> Tensor:
    """Scales all gradients by one factor, so that the norm of all their elements together is at most ``max_norm``; returns the norm that it was.

    R. Pascanu, T. Mikolov, Y. Bengio: "On the difficulty of training recurrent neural networks" (2013).

    Raises:
        RuntimeError: the norm is not finite, and that is to be an error.
    """
    gradients = _gradients(parameters)
    if not gradients:
        return tensor(0.0)
    with no_grad():
        total = stack([g.norm(norm_type) for g in gradients]).norm(norm_type)
        if error_if_nonfinite and not np.isfinite(total.array).all():
            raise RuntimeError(f"the norm of order {norm_type} of the gradients is {total.item()}; error_if_nonfinite=False scales them all the same")
        factor = (max_norm / (total + 1e-6)).clamp(max=1.0)
        for g in gradients:
            g.mul_(factor.to(g.dtype))
    return total


def clip_grad_value_(parameters: Tensor | Iterable[Tensor], clip_value: float) -> None:
    """Cuts every element of the gradients off at ``-clip_value`` and ``clip_value``."""
    with no_grad():
        for g in _gradients(parameters):
            g.copy_(g.clamp(-clip_value, clip_value))


def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    """All elements as one vector, through which gradients flow."""
    return cat([p.reshape(-1) for p in parameters], 0)


def vector_to_parameters(vector: Tensor, parameters: Iterable[Tensor]) -> None:
    """Writes a vector, as :func:`parameters_to_vector` makes it, into the parameters."""
    start = 0
    with no_grad():
        for p in parameters:
            size = p.numel()
            p.copy_(vector[start : start + size].reshape(*p.shape))
            start += size
