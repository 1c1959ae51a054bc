"""Complex arithmetic on tensors of real and of imaginary parts."""

from __future__ import annotations

from typing import Any

from xdsl.dialects.builtin import TensorType

from wengert.dialects.builder import OpBuilder, Value
from wengert.ir.tensor_types import type_of
from wengert.transforms.fuse.fourier.arithmetic import Arithmetic

Pair = tuple[Value, Value]
"""Real and imaginary parts, tensors of one type."""


class Tensors(Arithmetic[Value]):
    """Builds elementwise ops on tensors of one type of f32 or f64."""

    def __init__(self, b: OpBuilder, type: TensorType[Any]):
        self.b, self.type = b, type

    @staticmethod
    def like(b: OpBuilder, x: Pair) -> Tensors:
        """For tensors of the type of these."""
        return Tensors(b, type_of(x[0]))

    def constant(self, value: float) -> Value:
        return self.b.full(value, self.type)

    def plus(self, x: Value, y: Value) -> Value:
        return self.b.add(x, y)

    def minus(self, x: Value, y: Value) -> Value:
        return self.b.subtract(x, y)

    def times(self, x: Value, y: Value) -> Value:
        return self.b.multiply(x, y)

    def negative(self, x: Value) -> Value:
        return self.b.negate(x)

    def multiply(self, x: Pair, y: Pair) -> Pair:
        (a, b), (c, d) = x, y
        return self.minus(self.times(a, c), self.times(b, d)), self.plus(self.times(a, d), self.times(b, c))


def swapped(x: Pair) -> Pair:
    """The parts exchanged: a transform between two exchanges is the inverse transform, without its factor."""
    return x[1], x[0]
