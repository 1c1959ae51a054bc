"""A small convolutional network learns to read digits: traced, define by run, and in PyTorch, from the same numbers.

python examples/digits_conv.py [--style traced|eager|both] [--epochs N] [--steps N] [--no-torch]
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import numpy as np
from digits import Network, Parameters, Settings, main

import wengert.numpy as wnp

CHANNELS = (8, 16)


def initial(rng: np.random.Generator) -> Parameters:
    """Weights of variance 2 / inputs (He, Zhang, Ren, Sun: "Delving Deep into Rectifiers", 2015), biases zero."""
    first, second = CHANNELS
    shapes = {"conv0": (first, 1, 3, 3), "conv1": (second, first, 3, 3), "out": (10, second * 4 * 4)}
    params: Parameters = {}
    for name, shape in shapes.items():
        params[f"{name}.weight"] = (rng.standard_normal(shape) * (2 / np.prod(shape[1:])) ** 0.5).astype(np.float32)
        params[f"{name}.bias"] = np.zeros(shape[0], np.float32)
    return params


def traced(params: Any, x: Any) -> Any:
    """The logits in wengert.numpy: 8 by 8 points to 8 channels, then to 4 by 4 places with 16."""
    x = wnp.reshape(x, (-1, 1, 8, 8))
    x = wnp.special.convolution(x, params["conv0.weight"], padding=1) + params["conv0.bias"][:, None, None]
    x = wnp.special.convolution(wnp.special.relu(x), params["conv1.weight"], stride=2, padding=1) + params["conv1.bias"][:, None, None]
    return wnp.reshape(wnp.special.relu(x), (x.shape[0], -1)) @ params["out.weight"].T + params["out.bias"]


def module(nn: Any) -> Any:
    """The network in wengert.nn or torch.nn."""
    first, second = CHANNELS
    layers = OrderedDict(
        images=nn.Unflatten(1, (1, 8, 8)),
        conv0=nn.Conv2d(1, first, 3, padding=1),
        relu0=nn.ReLU(),
        conv1=nn.Conv2d(first, second, 3, stride=2, padding=1),
        relu1=nn.ReLU(),
        rows=nn.Flatten(),
        out=nn.Linear(second * 4 * 4, 10),
    )
    return nn.Sequential(layers)


NETWORK = Network("a convolutional network 1-8-16-10", initial, traced, module)
SETTINGS = Settings(epochs=15)

if __name__ == "__main__":
    main(NETWORK, SETTINGS)
