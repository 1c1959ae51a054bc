"""Normalization as modules. Arguments, names of parameters and the numbers that they start from are PyTorch's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from wengert.eager import int64, ones, zeros
from wengert.eager.errors import ShapeError
from wengert.eager.tensor import Tensor
from wengert.nn import normalization
from wengert.nn.module import Module, Parameter


class LayerNorm(Module):
    """x normalized over its last dimensions, times ``weight`` plus ``bias``, both of shape ``normalized_shape``."""

    def __init__(self, normalized_shape: int | Sequence[int], eps: float = 1e-5, elementwise_affine: bool = True, bias: bool = True, dtype: Any = None):
        self.normalized_shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
        self.eps = eps
        self.weight = Parameter(ones(*self.normalized_shape, dtype=dtype)) if elementwise_affine else None
        self.bias = Parameter(zeros(*self.normalized_shape, dtype=dtype)) if elementwise_affine and bias else None

    def forward(self, x: Tensor) -> Tensor:
        return normalization.layer_norm(x, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return f"{self.normalized_shape}, eps={self.eps}"


class _BatchNorm(Module):
    """``x: [n, num_features, ...]`` normalized for each feature, times ``weight`` plus ``bias``.

    In training by the statistics of the batch, towards which the buffers ``running_mean`` and ``running_var`` move; otherwise by these. With a ``momentum`` of
    None they are the means over all batches.
    """

    ranks: tuple[int, ...] = ()

    def __init__(
        self, num_features: int, eps: float = 1e-5, momentum: float | None = 0.1, affine: bool = True, track_running_stats: bool = True, dtype: Any = None
    ):
        self.eps, self.momentum = eps, momentum
        self.weight = Parameter(ones(num_features, dtype=dtype)) if affine else None
        self.bias = Parameter(zeros(num_features, dtype=dtype)) if affine else None
        self.running_mean: Tensor | None = None
        self.running_var: Tensor | None = None
        self.num_batches_tracked: Tensor | None = None
        if track_running_stats:
            self.register_buffer("running_mean", zeros(num_features, dtype=dtype))
            self.register_buffer("running_var", ones(num_features, dtype=dtype))
            self.register_buffer("num_batches_tracked", zeros((), dtype=int64))

    def forward(self, x: Tensor) -> Tensor:
        if x.ndim not in self.ranks:
            expected = " or ".join(str(rank) for rank in self.ranks)
            raise ShapeError(f"{type(self).__name__}: expected {expected} dimensions, found {list(x.shape)}")
        if self.training and self.num_batches_tracked is not None:
            self.num_batches_tracked.add_(1)
        by_batch = self.training or self.running_mean is None
        return normalization.batch_norm(x, self.running_mean, self.running_var, self.weight, self.bias, by_batch, self._step(), self.eps)

    def _step(self) -> float:
        """How far the statistics move."""
        if self.momentum is not None:
            return self.momentum
        return 1 / max(int(self.num_batches_tracked.item()), 1) if self.training and self.num_batches_tracked is not None else 0.0

    def extra_repr(self) -> str:
        return f"eps={self.eps}, momentum={self.momentum}"


class BatchNorm1d(_BatchNorm):
    """Batch norm of ``[n, c]`` or ``[n, c, length]``."""

    ranks = (2, 3)


class BatchNorm2d(_BatchNorm):
    """Batch norm of ``[n, c, h, w]``."""

    ranks = (4,)


class BatchNorm3d(_BatchNorm):
    """Batch norm of ``[n, c, d, h, w]``."""

    ranks = (5,)


class _InstanceNorm(_BatchNorm):
    """``x: [n, num_features, ...]``, or without n, normalized for each feature of each element of the batch, times ``weight`` plus ``bias`` (Ulyanov, Vedaldi,
    Lempitsky: "Instance Normalization", 2016). Running statistics, where they are kept, are used when not training, as in batch norm."""

    def __init__(
        self, num_features: int, eps: float = 1e-5, momentum: float | None = 0.1, affine: bool = False, track_running_stats: bool = False, dtype: Any = None
    ):
        super().__init__(num_features, eps, momentum, affine, track_running_stats, dtype)

    def forward(self, x: Tensor) -> Tensor:
        if x.ndim not in self.ranks:
            expected = " or ".join(str(rank) for rank in self.ranks)
            raise ShapeError(f"{type(self).__name__}: expected {expected} dimensions, found {list(x.shape)}")
        alone = x.ndim == self.ranks[0]
        by_instance = self.training or self.running_mean is None
        batch = x.unsqueeze(0) if alone else x
        y = normalization.instance_norm(batch, self.running_mean, self.running_var, self.weight, self.bias, by_instance, self._step(), self.eps)
        return y.squeeze(0) if alone else y


class InstanceNorm1d(_InstanceNorm):
    """Instance norm of ``[c, length]`` or ``[n, c, length]``."""

    ranks = (2, 3)


class InstanceNorm2d(_InstanceNorm):
    """Instance norm of ``[c, h, w]`` or ``[n, c, h, w]``."""

    ranks = (3, 4)


class InstanceNorm3d(_InstanceNorm):
    """Instance norm of ``[c, d, h, w]`` or ``[n, c, d, h, w]``."""

    ranks = (4, 5)


class GroupNorm(Module):
    """``x: [n, num_channels, ...]`` normalized in groups of channels, times ``weight`` plus ``bias`` for each channel (Wu, He: "Group Normalization", 2018).

    Raises:
        ValueError: the channels cannot be divided into so many groups.
    """

    def __init__(self, num_groups: int, num_channels: int, eps: float = 1e-5, affine: bool = True, dtype: Any = None):
        if num_channels % num_groups:
            raise ValueError(f"num_channels must be divisible by num_groups, found {num_channels} channels and {num_groups} groups")
        self.num_groups, self.num_channels, self.eps = num_groups, num_channels, eps
        self.weight = Parameter(ones(num_channels, dtype=dtype)) if affine else None
        self.bias = Parameter(zeros(num_channels, dtype=dtype)) if affine else None

    def forward(self, x: Tensor) -> Tensor:
        return normalization.group_norm(x, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return f"{self.num_groups}, {self.num_channels}, eps={self.eps}"


class RMSNorm(Module):
    """x divided by the root of its mean square over the last dimensions, times ``weight`` (Zhang, Sennrich: "Root Mean Square Layer Normalization", 2019)."""

    def __init__(self, normalized_shape: int | Sequence[int], eps: float | None = None, elementwise_affine: bool = True, dtype: Any = None):
        self.normalized_shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
        self.eps = eps
        self.weight = Parameter(ones(*self.normalized_shape, dtype=dtype)) if elementwise_affine else None

    def forward(self, x: Tensor) -> Tensor:
        return normalization.rms_norm(x, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self) -> str:
        return f"{self.normalized_shape}, eps={self.eps}"
