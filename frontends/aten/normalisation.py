"""Normalisation of batches, layers and groups, and softmax."""

from __future__ import annotations

from collections.abc import Sequence

from wengert.dialects import core
from wengert.dialects.builder import Value
from wengert.frontends.aten.axes import axis
from wengert.frontends.aten.builder import AtenBuilder
from wengert.frontends.aten.meanings import means
from wengert.frontends.aten.result_types.matrices import batch_normalised, batch_normalised_and_moved, evaluated
from wengert.frontends.aten.result_types.rules import asked
from wengert.frontends.aten.result_types.shapes import group_normalised, layer_normalised
from wengert.ir.tensor_types import element, shape, size, tensor

Pair = tuple[Value, Value]


@means("_softmax.default(self, dim, half_to_float)", results=asked)
def softmax(b: AtenBuilder, x: Value, dim: int, half_to_float: bool = False) -> Value:
    """exp(x) / sum(exp(x)), with the largest element taken off first."""
    x = b.fitted(x)
    if not shape(x):
        return b.full_like(x, 1)
    d = axis(dim, len(shape(x)))
    raised = b.exponential(_lowered(b, x, d))
    return b.divide(raised, b.along(x, b.reduce_sum(raised, [d]), [d]))


@means("_log_softmax.default(self, dim, half_to_float)", results=asked)
def log_softmax(b: AtenBuilder, x: Value, dim: int, half_to_float: bool = False) -> Value:
    """x - log(sum(exp(x))), with the largest element taken off first."""
    x = b.fitted(x)
    if not shape(x):
        return b.zeros(b.type)
    d = axis(dim, len(shape(x)))
    lowered = _lowered(b, x, d)
    return b.subtract(lowered, b.along(x, b.log(b.reduce_sum(b.exponential(lowered), [d])), [d]))


def _lowered(b: AtenBuilder, x: Value, d: int) -> Value:
    # Any constant gives the same function, so the largest element is one for derivatives.
    return b.subtract(x, b.along(x, b.stopped(b.reduce(core.Kind.max, x, [d])), [d]))


def _inverse_deviation(b: AtenBuilder, variance: Value, eps: float) -> Value:
    return b.rsqrt(b.add(variance, b.full_like(variance, eps)))


def _affine(b: AtenBuilder, x: Value, weight: Value | None, bias: Value | None, dims: Sequence[int]) -> Value:
    if weight is not None:
        x = b.multiply(x, b.broadcast_in_dim(weight, dims, shape(x)))
    return x if bias is None else b.add(x, b.broadcast_in_dim(bias, dims, shape(x)))


@means("native_layer_norm.default(input, normalized_shape, weight, bias, eps)", results=layer_normalised)
def layer_norm(b: AtenBuilder, x: Value, extents: Sequence[int], weight: Value | None, bias: Value | None, eps: float) -> tuple[Value, Value, Value]:
    """x normalised over its last dimensions (Ba, Kiros and Hinton 2016), the mean and the inverse deviation."""
    rank = len(shape(x))
    dims = list(range(rank - len(extents), rank))
    mean, variance, centred = b.moments(x, dims)
    inverse = _inverse_deviation(b, variance, eps)
    kept = [*shape(mean), *[1] * len(dims)]
    return _affine(b, b.multiply(centred, b.along(x, inverse, dims)), weight, bias, dims), b.reshape(mean, kept), b.reshape(inverse, kept)


@means("native_group_norm.default(input, weight, bias, N, C, HxW, group, eps)", results=group_normalised)
def group_norm(
    b: AtenBuilder, x: Value, weight: Value | None, bias: Value | None, batch: int, channels: int, positions: int, groups: int, eps: float
) -> tuple[Value, Value, Value]:
    """x: [n, c, ...] normalised over groups of channels (Wu and He 2018), the mean and the inverse deviation."""
    split = b.reshape(x, [batch, groups, channels // groups * positions])
    mean, variance, centred = b.moments(split, [2])
    inverse = _inverse_deviation(b, variance, eps)
    normal = b.reshape(b.multiply(centred, b.along(split, inverse, [2])), shape(x))
    return _affine(b, normal, weight, bias, [1]), mean, inverse


# -- batches (Ioffe and Szegedy 2015)


def _batch_norm(b: AtenBuilder, x: Value, weight: Value | None, bias: Value | None, mean: Value, variance: Value, eps: float) -> tuple[Value, Value]:
    inverse = _inverse_deviation(b, variance, eps)
    centred = b.subtract(x, b.broadcast_in_dim(mean, [1], shape(x)))
    return _affine(b, b.multiply(centred, b.broadcast_in_dim(inverse, [1], shape(x))), weight, bias, [1]), inverse


@means("_native_batch_norm_legit_no_training.default(input, weight, bias, running_mean, running_var, momentum, eps)", results=evaluated)
def batch_norm_eval(
    b: AtenBuilder, x: Value, weight: Value | None, bias: Value | None, mean: Value, variance: Value, momentum: float, eps: float
) -> tuple[Value, Value, Value]:
    """With the running statistics; the saved ones are empty, as in PyTorch."""
    empty = b.zeros(tensor((0,), element(x)))
    return _batch_norm(b, x, weight, bias, mean, variance, eps)[0], empty, empty


@means(
    "_native_batch_norm_legit_functional.default(input, weight, bias, running_mean, running_var, training, momentum, eps)", results=batch_normalised_and_moved
)
def batch_norm(
    b: AtenBuilder, x: Value, weight: Value | None, bias: Value | None, mean: Value, variance: Value, training: bool, momentum: float, eps: float
) -> tuple[Value, ...]:
    """With the statistics of the batch: the result, these statistics, and the running ones moved towards them."""
    if not training:
        return *batch_norm_eval(b, x, weight, bias, mean, variance, momentum, eps), mean, variance
    batch_mean, batch_variance, normal, inverse = _training(b, x, weight, bias, eps)
    count = size(x) // max(shape(x)[1], 1)
    unbiased = b.multiply(batch_variance, b.full_like(batch_variance, count / max(count - 1, 1)))
    return normal, batch_mean, inverse, _moved(b, mean, batch_mean, momentum), _moved(b, variance, unbiased, momentum)


@means("_native_batch_norm_legit.no_stats(input, weight, bias, training, momentum, eps)", results=batch_normalised)
def batch_norm_without_statistics(
    b: AtenBuilder, x: Value, weight: Value | None, bias: Value | None, training: bool, momentum: float, eps: float
) -> tuple[Value, Value, Value]:
    """With the statistics of the batch alone."""
    batch_mean, _, normal, inverse = _training(b, x, weight, bias, eps)
    return normal, batch_mean, inverse


def _training(b: AtenBuilder, x: Value, weight: Value | None, bias: Value | None, eps: float) -> tuple[Value, Value, Value, Value]:
    mean, variance, _ = b.moments(x, [d for d in range(len(shape(x))) if d != 1])
    normal, inverse = _batch_norm(b, x, weight, bias, mean, variance, eps)
    return mean, variance, normal, inverse


def _moved(b: AtenBuilder, running: Value, statistic: Value, momentum: float) -> Value:
    # Buffers are no part of what autograd differentiates.
    kept = b.multiply(running, b.full_like(running, 1 - momentum))
    return b.add(kept, b.multiply(b.stopped(b.convert(statistic, element(running))), b.full_like(running, momentum)))
