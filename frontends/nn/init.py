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


def constant_(x: Tensor, val: float) -> Tensor:
    """One number everywhere."""
    return _fill(x, np.full(x.shape, float(val)))


def trunc_normal_(x: Tensor, mean: float = 0.0, std: float = 1.0, a: float = -2.0, b: float = 2.0) -> Tensor:
    """Normal, where it lies between a and b: uniform numbers through the inverse of the distribution function."""
    if not a < b:
        raise ValueError(f"trunc_normal_: a must be less than b, found {a} and {b}")
    from scipy.special import ndtr, ndtri  # here, as few starts need them  # pyright: ignore[reportMissingTypeStubs, reportUnknownVariableType]

    low, high = (float(ndtr((bound - mean) / std)) for bound in (a, b))
    drawn: np.ndarray[tuple[int, ...], np.dtype[np.float64]] = np.asarray(ndtri(generator().uniform(low, high, x.shape)))
    return _fill(x, np.clip(mean + std * drawn, a, b))


def eye_(x: Tensor) -> Tensor:
    """The identity, of a matrix."""
    if x.ndim != 2:
        raise ValueError(f"eye_: a matrix is wanted, found {list(x.shape)}")
    return _fill(x, np.eye(x.shape[0], x.shape[1]))


def dirac_(x: Tensor, groups: int = 1) -> Tensor:
    """A convolution's weight ``[out, in, ...]`` that leaves as many channels of each group as they are as it can."""
    if not 3 <= x.ndim <= 5 or x.shape[0] % groups:
        raise ValueError(f"dirac_: a weight of a convolution in {groups} groups is wanted, found {list(x.shape)}")
    values = np.zeros(x.shape)
    each = x.shape[0] // groups
    for group in range(groups):
        for channel in range(min(each, x.shape[1])):
            values[(group * each + channel, channel, *(n // 2 for n in x.shape[2:]))] = 1
    return _fill(x, values)


def orthogonal_(x: Tensor, gain: float = 1.0) -> Tensor:
    """A matrix with orthonormal rows or columns, times a gain; more dimensions are rows with all but the first as columns.

    A. M. Saxe, J. L. McClelland, S. Ganguli: "Exact solutions to the nonlinear dynamics of learning in deep linear neural networks" (2014). The distribution
    over orthogonal matrices is uniform: signs of R's diagonal are moved to Q (F. Mezzadri, "How to generate random matrices from the classical compact
    groups", 2007).
    """
    if x.ndim < 2:
        raise ValueError(f"orthogonal_: two dimensions at least are wanted, found {list(x.shape)}")
    if not math.prod(x.shape):
        return x
    rows, columns = x.shape[0], math.prod(x.shape[1:])
    drawn = generator().normal(size=(max(rows, columns), min(rows, columns)))
    q, r = np.linalg.qr(drawn)
    q = q * np.sign(np.diagonal(r))
    return _fill(x, gain * (q if rows >= columns else q.T).reshape(x.shape))


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


calculate_gain = gain_of
"""PyTorch's name for it."""


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
