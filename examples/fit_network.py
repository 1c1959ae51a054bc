"""Traced Python: a small network is fitted to a curve, the whole descent one compiled program.

    python examples/fit_network.py

The loop is a ``scan`` whose body takes a gradient; the Hessian's product with a direction tells how curved the loss is at the end.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

import wengert as wg
import wengert.numpy as wnp


def network(params: Any, x: Any) -> Any:
    """f64[n, 1] -> f64[n, 1], two hidden layers."""
    for layer in params[:-1]:
        x = wnp.tanh(x @ layer["w"] + layer["b"])
    return x @ params[-1]["w"] + params[-1]["b"]


def loss(params: Any, x: Any, y: Any) -> Any:
    """The mean squared error."""
    return wnp.mean((network(params, x) - y) ** 2)


def initial(sizes: tuple[int, ...], seed: int = 0) -> list[dict[str, np.ndarray[Any, Any]]]:
    """Weights by the number of units of each layer."""
    rng = np.random.default_rng(seed)
    return [{"w": rng.normal(size=(m, n)) / m**0.5, "b": np.zeros(n)} for m, n in pairwise(sizes)]


@wg.jit
def descend(params: Any, x: Any, y: Any, rates: Any) -> Any:
    """Descends once for each rate; the parameters, and the loss before each step."""

    def step(params: Any, rate: Any) -> Any:
        value, gradient = wg.value_and_grad(loss)(params, x, y)
        return [{k: p[k] - rate * g[k] for k in p} for p, g in zip(params, gradient, strict=True)], value

    return wg.scan(step, params, rates)


def main(steps: int = 2000) -> tuple[float, float]:
    """Fits sin(3x) on [-1, 1]; the first and the last loss."""
    x = np.linspace(-1, 1, 64)[:, None]
    y = np.sin(3 * x)
    params, losses = descend(initial((1, 16, 16, 1)), x, y, np.full(steps, 0.1))
    ones = [{k: np.ones_like(v) for k, v in layer.items()} for layer in params]
    curved = wg.hvp(lambda p: loss(p, x, y), (params,), (ones,))
    norm = sum(float(np.sum(v**2)) for layer in curved for v in layer.values()) ** 0.5
    print(f"loss {losses[0]:.4f} -> {losses[-1]:.6f} in {steps} steps; |H 1| = {norm:.3f}")
    return float(losses[0]), float(losses[-1])


if __name__ == "__main__":
    main()
