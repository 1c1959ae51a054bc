"""The layers and losses as modules. Arguments, names of parameters and the numbers that they start from are PyTorch's."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from wengert.eager import full, no_grad, zeros
from wengert.eager.errors import ShapeError
from wengert.eager.operations.memory.views import dimension
from wengert.eager.tensor import Tensor
from wengert.nn import activations, init, layers, losses, pooling
from wengert.nn.convolution import Pair
from wengert.nn.module import Module, Parameter


def _parameter(*shape: int, dtype: Any) -> Tensor:
    return Parameter(zeros(*shape, dtype=dtype))


def _start(weight: Tensor, bias: Tensor | None) -> None:
    """Both uniform within 1 / sqrt(fan_in), which for the weight is He's bound for leaky ReLUs of slope sqrt(5)."""
    init.kaiming_uniform_(weight, a=math.sqrt(5))
    if bias is not None:
        bound = 1 / math.sqrt(init.fans(weight)[0])
        init.uniform_(bias, -bound, bound)


# -- layers with parameters


class Linear(Module):
    """x W^T + b. ``weight: [out_features, in_features]``, ``bias: [out_features]``."""

    def __init__(self, in_features: int, out_features: int, bias: bool = True, dtype: Any = None):
        self.in_features, self.out_features = in_features, out_features
        self.weight = _parameter(out_features, in_features, dtype=dtype)
        self.bias = _parameter(out_features, dtype=dtype) if bias else None
        _start(self.weight, self.bias)

    def forward(self, x: Tensor) -> Tensor:
        return layers.linear(x, self.weight, self.bias)

    def extra_repr(self) -> str:
        return f"in_features={self.in_features}, out_features={self.out_features}, bias={self.bias is not None}"


class Embedding(Module):
    """The rows of ``weight: [num_embeddings, embedding_dim]`` at given positions: see :func:`wengert.nn.functional.embedding`."""

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
        dtype: Any = None,
    ):
        self.weight = _parameter(num_embeddings, embedding_dim, dtype=dtype)
        self.padding_idx, self.max_norm, self.norm_type, self.scale_grad_by_freq = padding_idx, max_norm, norm_type, scale_grad_by_freq
        init.normal_(self.weight)
        if padding_idx is not None:
            with no_grad():
                self.weight[padding_idx].fill_(0)

    def forward(self, index: Tensor) -> Tensor:
        return layers.embedding(index, self.weight, self.padding_idx, self.max_norm, self.norm_type, self.scale_grad_by_freq)

    def extra_repr(self) -> str:
        return ", ".join(str(n) for n in self.weight.shape)


class EmbeddingBag(Module):
    """Sums, means or maxima of rows of ``weight: [num_embeddings, embedding_dim]``: see :func:`wengert.nn.functional.embedding_bag`."""

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        *,
        scale_grad_by_freq: bool = False,
        mode: str = "mean",
        include_last_offset: bool = False,
        padding_idx: int | None = None,
        dtype: Any = None,
    ):
        self.weight = _parameter(num_embeddings, embedding_dim, dtype=dtype)
        self.mode, self.scale_grad_by_freq, self.include_last_offset, self.padding_idx = mode, scale_grad_by_freq, include_last_offset, padding_idx
        init.normal_(self.weight)
        if padding_idx is not None:
            with no_grad():
                self.weight[padding_idx].fill_(0)

    def forward(self, index: Tensor, offsets: Tensor | None = None, per_sample_weights: Tensor | None = None) -> Tensor:
        from wengert.nn.sampling import embedding_bag  # here, as it brings the table of operations

        return embedding_bag(
            index,
            self.weight,
            offsets,
            scale_grad_by_freq=self.scale_grad_by_freq,
            mode=self.mode,
            per_sample_weights=per_sample_weights,
            include_last_offset=self.include_last_offset,
            padding_idx=self.padding_idx,
        )

    def extra_repr(self) -> str:
        return f"{', '.join(str(n) for n in self.weight.shape)}, mode={self.mode!r}"


class Bilinear(Module):
    """x1^T W x2 + b. ``weight: [out_features, in1_features, in2_features]``, ``bias: [out_features]``."""

    def __init__(self, in1_features: int, in2_features: int, out_features: int, bias: bool = True, dtype: Any = None):
        self.weight = _parameter(out_features, in1_features, in2_features, dtype=dtype)
        self.bias = _parameter(out_features, dtype=dtype) if bias else None
        bound = 1 / math.sqrt(in1_features)
        for p in (self.weight, self.bias):
            if p is not None:
                init.uniform_(p, -bound, bound)

    def forward(self, input1: Tensor, input2: Tensor) -> Tensor:
        from wengert.nn.functional import bilinear  # here, as it brings the table of operations

        return bilinear(input1, input2, self.weight, self.bias)

    def extra_repr(self) -> str:
        out, first, second = self.weight.shape
        return f"in1_features={first}, in2_features={second}, out_features={out}, bias={self.bias is not None}"


class PReLU(Module):
    """x where it is positive, else ``weight`` times it: one number, or one for each channel."""

    def __init__(self, num_parameters: int = 1, init: float = 0.25, dtype: Any = None):
        self.weight = Parameter(full((num_parameters,), init, dtype=dtype))

    def forward(self, x: Tensor) -> Tensor:
        from wengert.nn.functional import prelu  # here, as it brings the table of operations

        return prelu(x, self.weight)

    def extra_repr(self) -> str:
        return f"num_parameters={self.weight.shape[0]}"


# -- layers without


class Identity(Module):
    """x. Takes any arguments, so that it may stand for another module."""

    def __init__(self, *args: Any, **keywords: Any):
        del args, keywords

    def forward(self, x: Tensor) -> Tensor:
        return x


class Dropout(Module):
    """In training, elements are zero with probability p and the others divided by 1 - p. ``inplace`` changes nothing: the result is a new tensor."""

    def __init__(self, p: float = 0.5, inplace: bool = False):
        if not 0 <= p <= 1:
            raise ShapeError(f"Dropout: p must be a probability, found {p}")
        self.p = p

    def forward(self, x: Tensor) -> Tensor:
        return activations.dropout(x, self.p, self.training)

    def extra_repr(self) -> str:
        return f"p={self.p}"


class ReLU(Module):
    """max(x, 0), written over x if asked for."""

    def __init__(self, inplace: bool = False):
        self.inplace = inplace

    def forward(self, x: Tensor) -> Tensor:
        return activations.relu(x, self.inplace)


class GELU(Module):
    """x times the normal distribution function of x, or its approximation by tanh."""

    def __init__(self, approximate: str = "none"):
        self.approximate = approximate

    def forward(self, x: Tensor) -> Tensor:
        return activations.gelu(x, self.approximate)


class SiLU(Module):
    """x sigmoid(x). ``inplace`` changes nothing: the result is a new tensor."""

    def __init__(self, inplace: bool = False):
        self.inplace = inplace

    def forward(self, x: Tensor) -> Tensor:
        return activations.silu(x)


class Tanh(Module):
    """The hyperbolic tangent."""

    def forward(self, x: Tensor) -> Tensor:
        return x.tanh()


class Sigmoid(Module):
    """1 / (1 + exp(-x))."""

    def forward(self, x: Tensor) -> Tensor:
        return x.sigmoid()


class MaxPool2d(Module):
    """The largest element of every window."""

    def __init__(
        self, kernel_size: int | Pair, stride: int | Pair | None = None, padding: int | Pair = 0, dilation: int | Pair = 1, *, ceil_mode: bool = False
    ):
        self.kernel_size, self.stride, self.padding = kernel_size, kernel_size if stride is None else stride, padding
        self.dilation, self.ceil_mode = dilation, ceil_mode

    def forward(self, x: Tensor) -> Tensor:
        return pooling.max_pool2d(x, self.kernel_size, self.stride, self.padding, self.dilation, self.ceil_mode)

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}, dilation={self.dilation}, ceil_mode={self.ceil_mode}"


class AvgPool2d(Module):
    """The mean of every window."""

    def __init__(
        self,
        kernel_size: int | Pair,
        stride: int | Pair | None = None,
        padding: int | Pair = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ):
        self.kernel_size, self.stride, self.padding = kernel_size, kernel_size if stride is None else stride, padding
        self.ceil_mode, self.count_include_pad, self.divisor_override = ceil_mode, count_include_pad, divisor_override

    def forward(self, x: Tensor) -> Tensor:
        return pooling.avg_pool2d(x, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad, self.divisor_override)

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class Flatten(Module):
    """Neighbouring dimensions as one: by default all but the first."""

    def __init__(self, start_dim: int = 1, end_dim: int = -1):
        self.start_dim, self.end_dim = start_dim, end_dim

    def forward(self, x: Tensor) -> Tensor:
        return x.flatten(self.start_dim, self.end_dim)


class Unflatten(Module):
    """One dimension as several."""

    def __init__(self, dim: int, unflattened_size: Sequence[int]):
        self.dim, self.unflattened_size = dim, tuple(unflattened_size)

    def forward(self, x: Tensor) -> Tensor:
        dim = dimension(self.dim, x.ndim, "unflatten")
        return x.reshape(*x.shape[:dim], *self.unflattened_size, *x.shape[dim + 1 :])


# -- losses


class CrossEntropyLoss(Module):
    """Minus the log-probability of classes: see :func:`wengert.nn.cross_entropy`."""

    weight: Tensor | None

    def __init__(self, weight: Tensor | None = None, *, ignore_index: int = -100, reduction: str = "mean", label_smoothing: float = 0.0):
        self.register_buffer("weight", weight)
        self.ignore_index, self.reduction, self.label_smoothing = ignore_index, reduction, label_smoothing

    def forward(self, x: Tensor, target: Tensor) -> Tensor:
        return losses.cross_entropy(x, target, self.weight, ignore_index=self.ignore_index, reduction=self.reduction, label_smoothing=self.label_smoothing)


class MSELoss(Module):
    """The square of the difference."""

    def __init__(self, reduction: str = "mean"):
        self.reduction = reduction

    def forward(self, x: Tensor, target: Tensor) -> Tensor:
        return losses.mse_loss(x, target, self.reduction)
