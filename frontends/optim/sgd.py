"""Stochastic gradient descent."""

from __future__ import annotations

from typing import Any

from wengert.eager.tensor import Tensor
from wengert.optim.optimizer import Optimizer


class SGD(Optimizer):
    """p <- p - lr g, with momentum: v <- momentum v + g; p <- p - lr v (Nesterov: p <- p - lr (g + momentum v)).

    Sutskever, Martens, Dahl, Hinton: "On the importance of initialization and momentum in deep learning" (2013), in the form that
    PyTorch gives it.
    """

    def __init__(self, params: Any, lr: float | Tensor = 1e-3, momentum: float = 0.0, weight_decay: float = 0.0, nesterov: bool = False):
        super().__init__(params, lr)
        self.momentum = momentum
        self.weight_decay = weight_decay
        self.nesterov = nesterov
        self.velocities: dict[int, Tensor] = {}

    def update(self, number: int, p: Tensor, g: Tensor) -> None:
        """One step for one parameter."""
        if self.weight_decay:
            g = g + p * self.weight_decay
        if self.momentum:
            velocity = self.velocities.get(number)
            if velocity is None:
                velocity = self.velocities[number] = g.clone()
            else:
                velocity.mul_(self.momentum).add_(g)
            g = g + velocity * self.momentum if self.nesterov else velocity
        p.sub_(g * self.lr)
