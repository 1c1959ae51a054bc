"""Adam, and Adam with decoupled weight decay."""

from __future__ import annotations

from typing import Any

from wengert.eager.operations.creation import zeros
from wengert.eager.tensor import Tensor
from wengert.optim.optimizer import Optimizer


class Adam(Optimizer):
    """Steps by the mean of the gradients over the root of the mean of their squares, both decaying and corrected for their start at 0.

    D. P. Kingma, J. Ba: "Adam: A Method for Stochastic Optimization" (2015). The number of steps is a tensor, so that a compiled step
    can count it.
    """

    decoupled = False

    def __init__(self, params: Any, lr: float | Tensor = 1e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8, weight_decay: float = 0.0):
        super().__init__(params, lr)
        self.betas = betas
        self.eps = eps
        self.weight_decay = weight_decay
        self.steps = zeros((), dtype="float64")
        self.means = [zeros(p.shape, dtype=p.dtype) for p in self.params]
        self.squares = [zeros(p.shape, dtype=p.dtype) for p in self.params]

    def begin(self) -> None:
        """Counts."""
        self.steps.add_(1.0)

    def update(self, number: int, p: Tensor, g: Tensor) -> None:
        """One step for one parameter."""
        first, second = self.betas
        if self.weight_decay and self.decoupled:
            p.mul_(1 - self.lr * self.weight_decay)
        elif self.weight_decay:
            g = g + p * self.weight_decay
        mean = self.means[number].mul_(first).add_(g * (1 - first))
        square = self.squares[number].mul_(second).add_(g * g * (1 - second))
        correction = (1 - first**self.steps).to(p.dtype)
        root = (square / (1 - second**self.steps).to(p.dtype)).sqrt() + self.eps
        p.sub_(mean / correction * self.lr / root)


class AdamW(Adam):
    """Adam whose weight decay does not go through the means.

    I. Loshchilov, F. Hutter: "Decoupled Weight Decay Regularization" (2019).
    """

    decoupled = True

    def __init__(self, params: Any, lr: float | Tensor = 1e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8, weight_decay: float = 1e-2):
        super().__init__(params, lr, betas, eps, weight_decay)
