"""How a random program grows: where its choices come from, and the values that its ops may use."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import Any, Protocol

import numpy as np
from xdsl.ir import Block

from wengert.dialects.builder import OpBuilder, Value
from wengert.ir.tensor_types import i32, rank, shape, size


class Choices(Protocol):
    """Where the choices of a program come from."""

    def integer(self, low: int, high: int) -> int:
        """A number of this range, both ends included."""
        ...

    def permutation(self, n: int) -> list[int]:
        """The numbers below n in some order."""
        ...


LARGEST = 40
"""No value has more elements than this."""

Step = Callable[["Grower"], "Value | list[Value] | None"]
"""Adds an op, or a few; None where there is no operand for it yet."""


@dataclass(frozen=True)
class Steps:
    """The steps that a program may take: those on tensors, of which the first needs no special operand, and those that have regions."""

    tensors: tuple[Step, ...]
    control: tuple[Step, ...]


class Grower:
    """Adds ops to a block, with the values that they may use; ``depth`` is how deep regions may nest."""

    def __init__(self, steps: Steps, choices: Choices, b: OpBuilder, pool: list[Value], integers: list[Value], depth: int):
        self.steps, self.choices, self.b, self.pool, self.integers, self.depth = steps, choices, b, pool, integers, depth

    def inside(self, block: Block, pool: list[Value], integers: list[Value]) -> Grower:
        """What grows in the block of a region, with the same choices."""
        return Grower(self.steps, self.choices, OpBuilder(block), pool, integers, self.depth - 1)

    # -- choosing

    def integer(self, low: int, high: int) -> int:
        return self.choices.integer(low, high)

    def one_of(self, choices: list[Any]) -> Any:
        return choices[self.integer(0, len(choices) - 1)]

    def value(self, accepts: Callable[[Value], bool] = lambda v: True) -> Value | None:
        candidates = [v for v in reversed(self.pool) if accepts(v)]
        return self.one_of(candidates) if candidates else None

    def any_value(self) -> Value:
        return self.pool[-1 - self.integer(0, len(self.pool) - 1)]

    def grow(self, count: int) -> None:
        kinds = [*self.steps.tensors, *(self.steps.control * 2 if self.depth > 0 else ())]
        for _ in range(count):
            made: Value | list[Value] | None = self.one_of(kinds)(self)
            if made is None:  # there is no operand for it yet
                made = self.steps.tensors[0](self)
            self.pool += [value for value in (made if isinstance(made, list) else [made]) if size(value) <= LARGEST]

    # -- shaping values

    def squashed(self, x: Value) -> Value:
        return self.b.sine(x)

    def positive(self, x: Value) -> Value:
        """Between 0.6 and 2.6."""
        return self.b.add(self.b.sine(x), self.b.full_like(x, 1.6))

    def distinct(self, x: Value) -> Value:
        """x with a ramp added, so that equal elements are not equal any more."""
        ramp = np.linspace(0.0, 0.71, max(size(x), 1)).reshape(shape(x))
        return self.b.add(self.b.sine(x), self.b.constant(ramp))

    def as_shape(self, x: Value, extents: tuple[int, ...]) -> Value:
        """Some bounded value of this shape that depends on x."""
        if shape(x) == extents:
            return x
        if size(x) == prod(extents):
            return self.b.reshape(x, extents)
        return self.b.broadcast_in_dim(self.squashed(self.b.reduce_sum(x, range(rank(x)))), [], extents)

    def other(self, extents: tuple[int, ...]) -> Value:
        """A value of the shape that may be anything in the pool."""
        return self.as_shape(self.any_value(), extents)

    def index(self) -> Value:
        """A position: an argument, the counter of a loop, or a constant, which may be out of bounds."""
        return self.one_of(self.integers) if self.integers and self.integer(0, 1) else self.b.scalar(self.integer(-1, 4), i32)

    def indices(self, count: int, limit: int) -> Value:
        """A column of positions, duplicates and positions that are out of bounds among them."""
        rows = np.array([self.integer(-1, limit) for _ in range(count)], np.int32).reshape(count, 1)
        constant = self.b.constant(rows)
        if self.integers and self.integer(0, 1):
            return self.b.add(constant, self.b.broadcast_in_dim(self.one_of(self.integers), [], [count, 1]))
        return constant
