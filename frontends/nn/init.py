"""Numbers that parameters start from: what fills a tensor in place, by PyTorch's names.

The bounds are those of X. Glorot, Y. Bengio: "Understanding the difficulty of training deep feedforward neural networks" (2010) and
K. He et al.: "Delving Deep into Rectifiers" (2015). ``fan_in`` is the number of products that a result of the layer is the sum of:
all extents of a weight but the first; ``fan_out`` is that of a gradient: all but the second.
"""

from __future__ import annotations

import math
from typing import Literal

import numpy as np

from wengert.eager import no_grad
from wengert.eager.errors import ShapeError
from wengert.eager.operations.creation import generator
from wengert.eager.recording import dispatch
from wengert.eager.tensor import Tensor

Fan = Literal["fan_in", "fan_out"]


def _fill(x: Tensor, values: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> Tensor:
    with no_grad():
        return x.copy_(dispatch.constant(values.astype(x.dtype)))


def uniform_(x: Tensor, a: float = 0.0, b: float = 1.0) -> Tensor:
    """Uniform between a and b."""
    return _fill(x, generator().uniform(a, b, x.shape))


def normal_(x: Tensor, mean: float = 0.0, std: float = 1.0) -> Tensor:
    """Normal."""
    return _fill(x, generator().normal(mean, std, x.shape))


def zeros_(x: Tensor) -> Tensor:
    """Zeros."""
    return _fill(x, np.zeros(x.shape))


def ones_(x: Tensor) -> Tensor:
    """Ones."""
    return _fill(x, np.ones(x.shape))


def fans(x: Tensor) -> tuple[int, int]:
    """fan_in and fan_out of a weight ``[out, in, ...]``."""
    if x.ndim < 2:
        raise ShapeError(f"fan_in and fan_out are of weights with two dimensions at least, found {list(x.shape)}")
    inside = math.prod(x.shape[2:])
    return x.shape[1] * inside, x.shape[0] * inside


def gain_of(nonlinearity: str, slope: float = 0.0) -> float:
    """By how much a nonlinearity shrinks the variance, as a factor for the standard deviation."""
    gains = {
        "linear": 1.0,
        "conv2d": 1.0,
        "sigmoid": 1.0,
        "tanh": 5.0 / 3,
        "relu": math.sqrt(2.0),
        "leaky_relu": math.sqrt(2.0 / (1 + slope**2)),
        "selu": 0.75,
    }
    if nonlinearity not in gains:
        raise ValueError(f"there is no gain for {nonlinearity!r}; there are {', '.join(gains)}")
    return gains[nonlinearity]


def _he(x: Tensor, slope: float, mode: Fan, nonlinearity: str) -> float:
    return gain_of(nonlinearity, slope) / math.sqrt(fans(x)[mode == "fan_out"])


def kaiming_uniform_(x: Tensor, a: float = 0.0, mode: Fan = "fan_in", nonlinearity: str = "leaky_relu") -> Tensor:
    """Uniform, of standard deviation gain / sqrt(fan)."""
    bound = math.sqrt(3.0) * _he(x, a, mode, nonlinearity)
    return uniform_(x, -bound, bound)


def kaiming_normal_(x: Tensor, a: float = 0.0, mode: Fan = "fan_in", nonlinearity: str = "leaky_relu") -> Tensor:
    """Normal, of standard deviation gain / sqrt(fan)."""
    return normal_(x, 0.0, _he(x, a, mode, nonlinearity))


def xavier_uniform_(x: Tensor, gain: float = 1.0) -> Tensor:
    """Uniform, of standard deviation gain sqrt(2 / (fan_in + fan_out))."""
    bound = gain * math.sqrt(6.0 / sum(fans(x)))
    return uniform_(x, -bound, bound)


def xavier_normal_(x: Tensor, gain: float = 1.0) -> Tensor:
    """Normal, of standard deviation gain sqrt(2 / (fan_in + fan_out))."""
    return normal_(x, 0.0, gain * math.sqrt(2.0 / sum(fans(x))))
