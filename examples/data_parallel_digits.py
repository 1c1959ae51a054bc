"""A perceptron learns to read digits, data-parallel: every device has all parameters and its part of each batch, and gradients are summed over devices.

python examples/data_parallel_digits.py [--devices 2] [--epochs N] [--steps N]
mpiexec -n 2 python examples/data_parallel_digits.py --mpi

The text of what a device runs has no collective: it gives the loss of its part. ``wg.spmd`` says that parameters are whole on every device and that batches
and losses are split; from that follows that the gradient of a parameter is the sum over devices. The same steps are made on one device, and the losses of both
are compared: they differ by the rounding of sums that are added up in another order.
"""

from __future__ import annotations

import argparse
from itertools import pairwise
from typing import Any

import numpy as np
from digits import Settings, load_digits

import wengert as wg
import wengert.numpy as wnp

SIZES = (64, 64, 32, 10)
RATE, MOMENTUM = 0.1, 0.9
Array = np.ndarray[Any, np.dtype[Any]]


def initial(rng: np.random.Generator) -> list[Array]:
    """Weights ``f64[inputs, outputs]`` and biases by turns."""
    return [part for n, m in pairwise(SIZES) for part in (rng.standard_normal((n, m)) * (2 / n) ** 0.5, np.zeros(m))]


def loss(*arguments: Any) -> Any:
    """The mean cross-entropy of a part of a batch, as one element: ``f64[1]``."""
    *params, x, y = arguments
    for i in range(0, len(params), 2):
        x = x @ params[i] + params[i + 1]
        if i + 2 < len(params):
            x = wnp.special.relu(x)
    logs = wnp.special.log_softmax(x)
    return -wnp.reshape(wnp.mean(wnp.take_along_axis(logs, wnp.expand_dims(y, axis=1), axis=1)), (1,))


class Learner:
    """Parameters that learn on some devices by stochastic gradient descent with momentum."""

    def __init__(self, devices: int, batch: int, comm: Any = None):
        self.params = initial(np.random.default_rng(0))
        self.speed = [np.zeros_like(p) for p in self.params]
        share = batch // devices
        part = (*self.params, np.zeros((share, 64)), np.zeros(share, np.int64))
        whole = [None] * len(self.params)
        f = wg.spmd(wg.jit(loss).program(*part), {"data": devices}, in_specs=[*whole, ("data",), ("data",)], out_specs=[("data",)])
        self.gradient = f.vjp(wrt=range(len(self.params))).distribute(comm=comm)
        self.y_bar = np.full(devices, 1 / devices)

    def step(self, x: Array, y: Array) -> float:
        """Learns from a batch; its loss before that."""
        losses, *gradient = self.gradient(*self.params, x, y, self.y_bar)
        self.speed = [MOMENTUM * v - RATE * g for v, g in zip(self.speed, gradient, strict=True)]
        self.params = [p + v for p, v in zip(self.params, self.speed, strict=True)]
        return float(losses.mean())


def main() -> None:
    """Trains on several devices and on one, and prints both losses of every epoch."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--devices", type=int, default=2)
    parser.add_argument("--mpi", action="store_true", help="a device for each process that mpiexec started")
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--steps", type=int, help="steps of an epoch (default: all batches)")
    options = parser.parse_args()
    comm = None
    if options.mpi:
        from mpi4py import MPI

        comm = MPI.COMM_WORLD
    devices = comm.size if comm is not None else options.devices
    speaks, settings = comm is None or comm.rank == 0, Settings(epochs=options.epochs, steps=options.steps)
    data, many, one = load_digits(), Learner(devices, settings.batch, comm), Learner(1, settings.batch)
    worst = 0.0
    if speaks:
        print(f"epoch  loss on {devices} devices    loss on one device")
    for epoch in range(settings.epochs):
        losses = [(many.step(x.astype(np.float64), y), one.step(x.astype(np.float64), y)) for x, y in data.batches(settings, epoch)]
        together, alone = np.mean(losses, 0)
        worst = max([worst, *(abs(a - b) / b for a, b in losses)])
        if speaks:
            print(f"{epoch:5}  {together:.15f}  {alone:.15f}")
    if speaks:
        print(f"largest relative difference of the losses of a step: {worst:.1e}")


if __name__ == "__main__":
    main()
