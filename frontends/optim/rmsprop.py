"""RMSprop: steps over the root of the mean of squared gradients."""

from __future__ import annotations

from typing import Any

from wengert.eager.operations.creation import zeros
from wengert.eager.tensor import Tensor
from wengert.optim.optimizer import Optimizer


class RMSprop(Optimizer):
    """s <- alpha s + (1 - alpha) g^2; p <- p - lr g / (sqrt(s) + eps), with the variance in the place of s if ``centered``, and with momentum.

    T. Tieleman, G. Hinton: "Lecture 6.5: RMSprop" (Coursera: Neural Networks for Machine Learning, 2012), in the form that PyTorch gives it.
    """

    def __init__(
        self,
        params: Any,
        lr: float | Tensor = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        momentum: float = 0.0,
        centered: bool = False,
    ):
        super().__init__(params, lr)
        self.alpha, self.eps, self.weight_decay, self.momentum, self.centered = alpha, eps, weight_decay, momentum, centered
        self.squares = [zeros(p.shape, dtype=p.dtype) for p in self.params]
        self.means = [zeros(p.shape, dtype=p.dtype) for p in self.params] if centered else []
        self.velocities = [zeros(p.shape, dtype=p.dtype) for p in self.params] if momentum else []

    def update(self, number: int, p: Tensor, g: Tensor) -> None:
        """One step for one parameter."""
        if self.weight_decay:
            g = g + p * self.weight_decay
        spread = self.squares[number].mul_(self.alpha).add_(g * g * (1 - self.alpha))
        if self.centered:
            mean = self.means[number].mul_(self.alpha).add_(g * (1 - self.alpha))
            spread = spread - mean * mean
        change = g / (spread.sqrt() + self.eps)
        if self.momentum:
            change = self.velocities[number].mul_(self.momentum).add_(change)
        p.sub_(change * self.lr)
