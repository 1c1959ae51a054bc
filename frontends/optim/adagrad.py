"""Adagrad: steps over the root of the sum of squared gradients."""

from __future__ import annotations

from typing import Any

from wengert.eager.operations.creation import full, zeros
from wengert.eager.tensor import Tensor
from wengert.optim.optimizer import Optimizer


class Adagrad(Optimizer):
    """s <- s + g^2; p <- p - lr g / (sqrt(s) + eps), where lr shrinks as 1 / (1 + t lr_decay) in the t-th step, counted from 0.

    J. Duchi, E. Hazan, Y. Singer: "Adaptive Subgradient Methods for Online Learning and Stochastic Optimization" (2011). The number of steps is a tensor, so
    that a compiled step can count it.
    """

    def __init__(
        self,
        params: Any,
        lr: float | Tensor = 1e-2,
        lr_decay: float = 0.0,
        weight_decay: float = 0.0,
        initial_accumulator_value: float = 0.0,
        eps: float = 1e-10,
    ):
        super().__init__(params, lr)
        self.lr_decay, self.weight_decay, self.eps = lr_decay, weight_decay, eps
        self.steps = zeros((), dtype="float64")
        self.squares = [full(p.shape, initial_accumulator_value, dtype=p.dtype) for p in self.params]

    def begin(self) -> None:
        """Counts."""
        self.steps.add_(1.0)

    def update(self, number: int, p: Tensor, g: Tensor) -> None:
        """One step for one parameter."""
        if self.weight_decay:
            g = g + p * self.weight_decay
        root = self.squares[number].add_(g * g).sqrt() + self.eps
        rate = (self.lr / (1 + (self.steps - 1) * self.lr_decay)).to(p.dtype) if self.lr_decay else self.lr
        p.sub_(g / root * rate)
