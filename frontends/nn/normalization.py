"""Normalization of layers and of batches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from wengert.dialects.builder import OpBuilder, Value
from wengert.eager import no_grad
from wengert.eager.containers import listed
from wengert.eager.errors import ShapeError
from wengert.eager.operations.elementwise import broadcast
from wengert.eager.operations.reduction import mean_of, spread
from wengert.eager.recording import dispatch
from wengert.eager.recording.operation import Operation, register
from wengert.eager.tensor import Tensor
from wengert.frontends import kinks
from wengert.ir.tensor_types import shape

OPERATIONS: dict[str, Operation] = {}


def _normalized(b: OpBuilder, x: Value, dims: tuple[int, ...], eps: float) -> Value:
    """(x - mean) / sqrt(variance + eps) over dimensions."""
    variance = kinks.variance(b, x, dims, 0)
    scale = b.rsqrt(b.add(variance, b.full_like(variance, eps)))
    return b.multiply(b.subtract(x, spread(b, mean_of(b, x, dims), x, dims)), spread(b, scale, x, dims))


def _layer_norm(b: OpBuilder, operands: Sequence[Value], given: tuple[int, float]) -> list[Value]:
    x = operands[0]
    rank = len(shape(x))
    y = _normalized(b, x, tuple(range(rank - given[0], rank)), given[1])
    if len(operands) > 1:
        y = b.multiply(y, broadcast(b, operands[1], shape(x)))
    return [b.add(y, broadcast(b, operands[2], shape(x))) if len(operands) > 2 else y]


def _affine(b: OpBuilder, y: Value, operands: Sequence[Value]) -> Value:
    if len(operands) > 0:
        y = b.multiply(y, b.broadcast_in_dim(operands[0], [1], shape(y)))
    return b.add(y, b.broadcast_in_dim(operands[1], [1], shape(y))) if len(operands) > 1 else y


def _others(x: Value) -> tuple[int, ...]:
    return tuple(d for d in range(len(shape(x))) if d != 1)


def _batch_norm_train(b: OpBuilder, operands: Sequence[Value], eps: float) -> list[Value]:
    x = operands[0]
    return [_affine(b, _normalized(b, x, _others(x), eps), operands[1:])]


def _batch_norm_eval(b: OpBuilder, operands: Sequence[Value], eps: float) -> list[Value]:
    x, mean, variance = operands[:3]
    scale = b.rsqrt(b.add(variance, b.full_like(variance, eps)))
    y = b.multiply(b.subtract(x, b.broadcast_in_dim(mean, [1], shape(x))), b.broadcast_in_dim(scale, [1], shape(x)))
    return [_affine(b, y, operands[3:])]


LAYER_NORM = register(OPERATIONS, "layer_norm", "NativeLayerNormBackward0", _layer_norm)
BATCH_NORM_TRAIN = register(OPERATIONS, "batch_norm_train", "NativeBatchNormBackward0", _batch_norm_train)
BATCH_NORM_EVAL = register(OPERATIONS, "batch_norm_eval", "NativeBatchNormBackward0", _batch_norm_eval)


def _given(*tensors: Tensor | None) -> tuple[Any, ...]:
    """The tensors that are there; later ones need the earlier ones."""
    present = tuple(t for t in tensors if t is not None)
    if any(t is None for t in tensors[: len(present)]):
        raise ShapeError("a bias needs a weight")
    return present


def layer_norm(x: Tensor, normalized_shape: Sequence[int], weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-5) -> Tensor:
    """x normalized over its last dimensions, which must be ``normalized_shape``, then times weight plus bias (Ba, Kiros, Hinton:
    "Layer Normalization", 2016)."""
    count = len(normalized_shape)
    if tuple(x.shape[-count:]) != tuple(normalized_shape):
        raise ShapeError(f"layer_norm: the input of shape {list(x.shape)} does not end in {list(normalized_shape)}")
    return dispatch.apply(LAYER_NORM, (x, *_given(weight, bias)), (count, eps))


def batch_norm(
    x: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """``x: [n, c, ...]`` normalized for each channel c: by the statistics of the batch when training, which the running ones are moved
    towards in place; by the running ones otherwise (Ioffe, Szegedy: "Batch Normalization", 2015)."""
    if not training:
        if running_mean is None or running_var is None:
            raise ShapeError("batch_norm: running statistics are needed when not training")
        return dispatch.apply(BATCH_NORM_EVAL, (x, running_mean, running_var, *_given(weight, bias)), eps)
    dims = [d for d in range(x.ndim) if d != 1]
    with no_grad():
        if running_mean is not None:
            running_mean.mul_(1 - momentum).add_(x.mean(dims) * momentum)
        if running_var is not None:
            running_var.mul_(1 - momentum).add_(x.var(dims) * momentum)
    return dispatch.apply(BATCH_NORM_TRAIN, (x, *_given(weight, bias)), eps)


def group_norm(x: Tensor, num_groups: int, weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-5) -> Tensor:
    """Groups of channels with mean 0 and variance 1, scaled and shifted by channel."""
    grouped = x.reshape(x.array.shape[0], num_groups, -1)
    made = ((grouped - grouped.mean(2, True)) * (grouped.var(2, False, True) + eps).rsqrt()).reshape(*x.array.shape)
    return _by_channel(made, weight, bias)


def _by_channel(x: Tensor, weight: Tensor | None, bias: Tensor | None) -> Tensor:
    shape = (-1, *(1,) * (x.array.ndim - 2))
    x = x if weight is None else x * weight.reshape(*shape)
    return x if bias is None else x + bias.reshape(*shape)


def instance_norm(
    x: Tensor,
    running_mean: Tensor | None = None,
    running_var: Tensor | None = None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Each channel of each image with mean 0 and variance 1, or by running statistics, which move towards the means of those of the images otherwise."""
    if not use_input_stats:
        if running_mean is None or running_var is None:
            raise ShapeError("instance_norm: running statistics are needed where those of the input are not used")
        made = _by_channel(_by_channel(x, None, -running_mean), (running_var + eps).rsqrt(), None)
        return _by_channel(made, weight, bias)
    places = list(range(2, x.array.ndim))
    with no_grad():
        if running_mean is not None:
            running_mean.mul_(1 - momentum).add_(x.mean(places).mean(0) * momentum)
        if running_var is not None:
            running_var.mul_(1 - momentum).add_(x.var(places).mean(0) * momentum)
    return group_norm(x, x.array.shape[1], weight, bias, eps)


def rms_norm(x: Tensor, normalized_shape: int | Sequence[int], weight: Tensor | None = None, eps: float | None = None) -> Tensor:
    """x divided by the root of its mean square over the last dimensions."""
    dims = tuple(range(-len(listed(normalized_shape)), 0))
    small = float(np.finfo(x.array.dtype).eps) if eps is None else eps
    made = x * ((x * x).mean(dims, True) + small).rsqrt()
    return made if weight is None else made * weight
