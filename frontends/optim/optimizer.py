"""The base class of optimizers."""

from __future__ import annotations

from typing import Any

from wengert.eager.recording.modes import no_grad
from wengert.eager.tensor import Tensor
from wengert.optim.parameters import parameters


class Optimizer:
    """Changes parameters by their gradients.

    Attributes:
        params: the parameters.
        lr: the learning rate; a tensor may be filled anew between compiled steps, which a number is recorded anew for.
    """

    def __init__(self, params: Any, lr: float | Tensor):
        self.params = parameters(params)
        self.lr = lr

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forgets all gradients, or makes them zero."""
        for p in self.params:
            if set_to_none:
                p.grad = None
            elif p.grad is not None:
                p.grad.zero_()

    def step(self) -> None:
        """Changes all parameters that have a gradient."""
        with no_grad():
            self.begin()
            for number, p in enumerate(self.params):
                if p.grad is not None:
                    self.update(number, p, p.grad)

    def begin(self) -> None:
        """Prepares a step; runs once in each."""

    def update(self, number: int, p: Tensor, g: Tensor) -> None:
        """Changes one parameter."""
        raise NotImplementedError
