"""Batch normalization, feature by feature, with n elements each::

    mean = sum x / n      variance = sum (x - mean)^2 / n      y = scale (x - mean) / sqrt(variance + epsilon) + offset

Halves and floats of eight bits are computed in f32 and rounded at the end: a sum of many of them is larger than they can be.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec import Struct
from xdsl.ir import Attribute

from wengert.dialects import stablehlo as hlo
from wengert.dialects.builder import OpBuilder, Value
from wengert.ir.attributes import int_of
from wengert.ir.tensor_types import dtype_of, element, f32, rank, shape

BatchNorm = hlo.BatchNormTrainingOp | hlo.BatchNormInferenceOp | hlo.BatchNormGradOp


class Features(Struct, frozen=True):
    """An operand of batch normalization: sums over all dimensions but that of the features, and repetition along them."""

    b: OpBuilder
    extents: Sequence[int]
    index: int
    epsilon: float
    element_type: Attribute

    @staticmethod
    def of(b: OpBuilder, op: BatchNorm) -> Features:
        element_type = element(op.operand)
        wide = f32 if dtype_of(element_type).itemsize < 4 else element_type
        epsilon: Any = op.epsilon
        return Features(b, shape(op.operand), int_of(op.feature_index), float(epsilon.value.data), wide)

    @property
    def count(self) -> int:
        """The number of elements of a feature."""
        total = 1
        for d, n in enumerate(self.extents):
            total *= n if d != self.index else 1
        return total

    def wide(self, x: Value) -> Value:
        """A value in the type that is computed in."""
        return self.b.convert(x, self.element_type)

    def sum(self, x: Value) -> Value:
        """One number for each feature."""
        return self.b.reduce_sum(x, [d for d in range(rank(x)) if d != self.index])

    def mean(self, x: Value) -> Value:
        """The mean of each feature."""
        total = self.sum(x)
        return self.b.divide(total, self.b.full_like(total, self.count))

    def spread(self, v: Value) -> Value:
        """A number for each feature, for each of its elements."""
        return self.b.broadcast_in_dim(v, [self.index], self.extents)

    def deviation(self, variance: Value) -> Value:
        """sqrt(variance + epsilon)"""
        return self.b.sqrt(self.b.add(variance, self.b.full_like(variance, self.epsilon)))

    def normalized(self, centered: Value, variance: Value) -> Value:
        """(x - mean) / sqrt(variance + epsilon)"""
        return self.b.divide(centered, self.spread(self.deviation(variance)))


def _applied(f: Features, centered: Value, variance: Value, scale: Value, offset: Value) -> Value:
    normalized = f.normalized(centered, variance)
    return f.b.add(f.b.multiply(f.spread(f.wide(scale)), normalized), f.spread(f.wide(offset)))


def expand_training(b: OpBuilder, op: hlo.BatchNormTrainingOp) -> list[Value]:
    """The normalized operand, its means and its variances."""
    f = Features.of(b, op)
    x = f.wide(op.operand)
    mean = f.mean(x)
    centered = b.subtract(x, f.spread(mean))
    variance = f.mean(b.multiply(centered, centered))
    return [b.convert(y, element(op.operand)) for y in (_applied(f, centered, variance, op.scale, op.offset), mean, variance)]


def expand_inference(b: OpBuilder, op: hlo.BatchNormInferenceOp) -> list[Value]:
    """The operand normalized by a given mean and variance."""
    f = Features.of(b, op)
    centered = b.subtract(f.wide(op.operand), f.spread(f.wide(op.mean)))
    return [b.convert(_applied(f, centered, f.wide(op.variance), op.scale, op.offset), element(op.operand))]


def expand_grad(b: OpBuilder, op: hlo.BatchNormGradOp) -> list[Value]:
    """With z the normalized operand: x_bar = scale / sqrt(variance + epsilon) (y_bar - mean of y_bar - z mean of y_bar z), scale_bar = sum of y_bar z,
    offset_bar = sum of y_bar."""
    f = Features.of(b, op)
    y_bar, variance = f.wide(op.grad_output), f.wide(op.variance)
    centered = b.subtract(f.wide(op.operand), f.spread(f.wide(op.mean)))
    normalized = f.normalized(centered, variance)
    scale_bar, offset_bar = f.sum(b.multiply(y_bar, normalized)), f.sum(y_bar)
    count = b.full_like(offset_bar, f.count)
    rest = b.add(f.spread(b.divide(offset_bar, count)), b.multiply(normalized, f.spread(b.divide(scale_bar, count))))
    factor = b.divide(f.wide(op.scale), f.deviation(variance))
    x_bar = b.multiply(f.spread(factor), b.subtract(y_bar, rest))
    return [b.convert(y, element(op.operand)) for y in (x_bar, scale_bar, offset_bar)]
