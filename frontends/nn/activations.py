"""Functions of one tensor between layers."""

from __future__ import annotations

from wengert.eager import rand
from wengert.eager.errors import ShapeError
from wengert.eager.operations import elementwise
from wengert.eager.recording import dispatch
from wengert.eager.tensor import Tensor


def relu(x: Tensor, inplace: bool = False) -> Tensor:
    """max(x, 0)."""
    return x.relu_() if inplace else x.relu()


def sigmoid(x: Tensor) -> Tensor:
    """1 / (1 + exp(-x))."""
    return x.sigmoid()


def tanh(x: Tensor) -> Tensor:
    """The hyperbolic tangent."""
    return x.tanh()


def silu(x: Tensor) -> Tensor:
    """x sigmoid(x)."""
    return dispatch.unary(elementwise.SILU, x)


def softplus(x: Tensor, beta: float = 1.0, threshold: float = 20.0) -> Tensor:
    """log(1 + exp(beta x)) / beta; x itself where ``beta x`` is above the threshold."""
    if beta == 1 and threshold == 20:
        return dispatch.unary(elementwise.SOFTPLUS, x)
    scaled = x * beta
    return elementwise.where(scaled > threshold, x, dispatch.unary(elementwise.SOFTPLUS, scaled) / beta)


def gelu(x: Tensor, approximate: str = "none") -> Tensor:
    """x times the normal distribution function of x, or its approximation by tanh (Hendrycks, Gimpel: "Gaussian Error Linear
    Units", 2016)."""
    if approximate not in ("none", "tanh"):
        raise ShapeError(f"gelu: approximate must be 'none' or 'tanh', found {approximate!r}")
    return dispatch.unary(elementwise.GELU if approximate == "none" else elementwise.GELU_TANH, x)


def softmax(x: Tensor, dim: int) -> Tensor:
    """exp(x) / sum(exp(x)) along a dimension."""
    return x.softmax(dim)


def dropout(x: Tensor, p: float = 0.5, training: bool = True) -> Tensor:
    """Elements set to zero with probability p, the others divided by 1 - p; x itself when not training."""
    if not 0 <= p <= 1:
        raise ShapeError(f"dropout: p must be a probability, found {p}")
    if not training or p == 0:
        return x
    if p == 1:
        return x * 0.0
    return x * (rand(*x.shape, dtype=x.dtype) >= p).to(x.dtype) * (1 / (1 - p))


def logsigmoid(x: Tensor) -> Tensor:
    """log(sigmoid(x)), without a kink at 0."""
    is_negative = x < 0
    return elementwise.where(is_negative, x, 0.0) - elementwise.where(is_negative, x, -x).exp().log1p()
