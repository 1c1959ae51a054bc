"""Dynamic loss scaling for training with 16-bit floats."""

from __future__ import annotations

import numpy as np

from wengert.eager.tensor import Tensor
from wengert.optim.optimizer import Optimizer


class LossScaler:
    """Keeps small gradients from vanishing in f16: the loss is multiplied by a scale, the gradients are divided by it.

    A step whose gradients are not all finite is left out, and the scale shrinks; after so many good steps in a row it grows.
    Micikevicius et al.: "Mixed precision training" (2018), with the rule and defaults of PyTorch's ``GradScaler``::

        scaler.scale(loss).backward()
        scaler.step(optimizer)

    Attributes:
        value: the scale now.
    """

    def __init__(self, value: float = 2.0**16, growth: float = 2.0, backoff: float = 0.5, interval: int = 2000):
        self.value = value
        self._growth = growth
        self._backoff = backoff
        self._interval = interval
        self._good = 0

    def scale(self, loss: Tensor) -> Tensor:
        """The loss times the scale."""
        return loss * self.value

    def step(self, optimizer: Optimizer) -> bool:
        """Divides the gradients by the scale, steps if all are finite, and adapts the scale; returns whether it stepped."""
        gradients = [p.grad for p in optimizer.params if p.grad is not None]
        for gradient in gradients:
            gradient.mul_(1.0 / self.value)
        finite = all(bool(np.isfinite(g.array).all()) for g in gradients)
        if not finite:
            self._good = 0
            self.value *= self._backoff
            return False
        optimizer.step()
        self._good += 1
        if self._good == self._interval:
            self._good = 0
            self.value *= self._growth
        return True
