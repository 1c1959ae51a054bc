"""A perceptron with two hidden layers learns to read digits: traced, define by run, and in PyTorch, from the same numbers.

python examples/digits_mlp.py [--style traced|eager|both] [--epochs N] [--steps N] [--no-torch]
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from digits import Network, Parameters, Settings, main

import wengert.numpy as wnp

SIZES = (64, 64, 32, 10)


def initial(rng: np.random.Generator) -> Parameters:
    """Weights ``[outputs, inputs]`` of variance 2 / inputs (He, Zhang, Ren, Sun: "Delving Deep into Rectifiers", 2015), biases zero."""
    params: Parameters = {}
    for i, (n, m) in enumerate(pairwise(SIZES)):
        params[f"weight{i}"] = (rng.standard_normal((m, n)) * (2 / n) ** 0.5).astype(np.float32)
        params[f"bias{i}"] = np.zeros(m, np.float32)
    return params


def traced(params: Any, x: Any) -> Any:
    """The logits in wengert.numpy."""
    last = len(SIZES) - 2
    for i in range(last + 1):
        x = x @ params[f"weight{i}"].T + params[f"bias{i}"]
        if i < last:
            x = wnp.special.relu(x)
    return x


def run(functional: Any, params: Any, x: Any) -> Any:
    """The logits in wengert.nn or torch.nn.functional."""
    last = len(SIZES) - 2
    for i in range(last + 1):
        x = functional.linear(x, params[f"weight{i}"], params[f"bias{i}"])
        if i < last:
            x = functional.relu(x)
    return x


NETWORK = Network("a perceptron 64-64-32-10", initial, traced, run)
SETTINGS = Settings()

if __name__ == "__main__":
    main(NETWORK, SETTINGS)
