"""Neural ordinary differential equations (Chen et al., 2018).

A perceptron's flow by Runge-Kutta of order 4 in a loop, differentiated step by step; a mean square..
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np
from benchmarks.models.initial import Weights
from benchmarks.models.layers import dense
from benchmarks.problems.workloads import Function, Workload
from jax import lax


@dataclass(frozen=True)
class Size:
    """``steps`` of states of ``width``, moved by two hidden layers of ``hidden``."""

    batch: int
    width: int
    hidden: int
    steps: int
    results: int = 10

    @property
    def name(self) -> str:
        return f"neural ODE B{self.batch} D{self.width} H{self.hidden}, {self.steps} of RK4"


SIZES = (Size(128, 64, 256, 20),)
TINY = Size(3, 4, 8, 3, 2)


def workload(size: Size) -> Workload:
    """The training step with random states."""
    weights = Weights()
    weights.dense(size.width, size.hidden)
    weights.normal(size.hidden, scale=0.1)
    weights.dense(size.hidden, size.hidden)
    weights.dense(size.hidden, size.width)
    weights.dense(size.width, size.results)
    data = tuple(weights.rng.normal(size=(size.batch, n)).astype(np.float32) for n in (size.width, size.results))
    return weights.workload(size.name, _loss(size.steps), data, "neural_ode", steps=size.steps)


def _loss(steps: int) -> Function:
    def loss(*inputs: Any) -> Any:
        *weights, u, c, state, wanted = inputs
        h = 1.0 / steps

        def slope(x: Any, time: Any) -> Any:
            w, b, by_time, *others = weights
            rest = iter(others)
            hidden = jnp.tanh(x @ w + b + time * by_time)
            return dense(jnp.tanh(dense(hidden, rest)), rest)

        def step(x: Any, number: Any) -> Any:
            time = number * h
            k = slope(x, time)
            l = slope(x + h / 2 * k, time + h / 2)  # noqa: E741
            m = slope(x + h / 2 * l, time + h / 2)
            n = slope(x + h * m, time + h)
            return x + h / 6 * (k + 2 * l + 2 * m + n), None

        last, _ = lax.scan(step, state, jnp.arange(steps, dtype=state.dtype))
        return jnp.mean(jnp.square(last @ u + c - wanted))

    return loss
