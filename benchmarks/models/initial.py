"""Initial weights of models, in the order in which their losses take them; and what a training step computes at least."""

from __future__ import annotations

from typing import Any

import numpy as np
from benchmarks.problems.workloads import Array, Function, Workload


class Weights:
    """Draws weights in f32 from a generator of seed 0 and lists them in ``arrays``."""

    def __init__(self) -> None:
        self.rng = np.random.default_rng(0)
        self.arrays: list[Array] = []

    def normal(self, *shape: int, scale: float | None = None) -> None:
        """Normal numbers; of a deviation that keeps the size of what a product or convolution (inputs before outputs) is applied to, if none is given."""
        deviation = np.prod(shape[:-1]) ** -0.5 if scale is None else scale
        self.arrays.append((self.rng.normal(size=shape) * deviation).astype(np.float32))

    def dense(self, inputs: int, outputs: int) -> None:
        """A matrix and its bias, which is zero."""
        self.normal(inputs, outputs)
        self.zeros(outputs)

    def zeros(self, size: int) -> None:
        self.arrays.append(np.zeros(size, np.float32))

    def ones(self, size: int) -> None:
        self.arrays.append(np.ones(size, np.float32))

    def norm(self, size: int) -> None:
        """The scale and the bias of a normalisation."""
        self.ones(size)
        self.zeros(size)

    def workload(self, name: str, loss: Function, data: tuple[Array, ...], family: str, **options: Any) -> Workload:
        """The training step of ``loss(*weights, *data)``; its peer in PyTorch is ``loss`` of ``in_torch/{family}.py`` with these options."""
        from benchmarks.models.products import product_flops

        inputs = (*self.arrays, *data)
        wrt = tuple(range(len(self.arrays)))
        moved = float(sum(a.nbytes for a in inputs) + sum(a.nbytes for a in self.arrays))
        peer = f"benchmarks.models.in_torch.{family}:loss"
        return Workload(name, loss, inputs, wrt, peer, floats=product_flops(loss, inputs, wrt), bytes=moved, torch_options=options)
