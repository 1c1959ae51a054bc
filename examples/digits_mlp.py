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
    """Weights ``[outputs, inputs]`` of variance 2 / inputs (He, Zhang, Ren, Sun: "Delving Deep into Rectifiers", 2015), biases zero.

    Their names are those in a row of layers with activations in between.
    """
    params: Parameters = {}
    for i, (n, m) in enumerate(pairwise(SIZES)):
        params[f"{2 * i}.weight"] = (rng.standard_normal((m, n)) * (2 / n) ** 0.5).astype(np.float32)
        params[f"{2 * i}.bias"] = np.zeros(m, np.float32)
    return params


def traced(params: Any, x: Any) -> Any:
    """The logits in wengert.numpy."""
    last = len(SIZES) - 2
    for i in range(last + 1):
        x = x @ params[f"{2 * i}.weight"].T + params[f"{2 * i}.bias"]
        if i < last:
            x = wnp.special.relu(x)
    return x


def module(nn: Any) -> Any:
    """The network in wengert.nn or torch.nn."""
    layers = [layer for n, m in pairwise(SIZES) for layer in (nn.Linear(n, m), nn.ReLU())]
    return nn.Sequential(*layers[:-1])


NETWORK = Network("a perceptron 64-64-32-10", initial, traced, module)
SETTINGS = Settings()

if __name__ == "__main__":
    main(NETWORK, SETTINGS)
