"""Test cases beside the rules: a small function, and arguments at which it is smooth.

Every rule file ends with its ``CASES``. One checker tests all of them: duality (dot-product test), finite differences,
second order, and both modes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np
from msgspec import Struct
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Region

from wengert.dialects.builder import OpBuilder, Value
from wengert.ir.tensor_types import element_of, tensor


class Arg(Struct, frozen=True):
    """A random argument: uniform in [low, high] (both parts, if complex), or fixed ``values``; ``dtype`` is for integers."""

    shape: tuple[int, ...]
    low: float = -1.0
    high: float = 1.0
    complex: bool = False
    values: tuple[float, ...] | None = None
    dtype: str = "float64"

    def draw(self, rng: np.random.Generator) -> np.ndarray[Any, np.dtype[Any]]:
        """An array for this argument."""
        if self.values is not None:
            return np.array(self.values, dtype=self.dtype).reshape(self.shape)
        real = rng.uniform(self.low, self.high, self.shape)
        drawn = real + 1j * rng.uniform(self.low, self.high, self.shape) if self.complex else real
        return np.asarray(drawn, dtype="complex128" if self.complex else self.dtype)


Built = Value | Sequence[Value]
Build = (
    Callable[[OpBuilder, Value], Built]
    | Callable[[OpBuilder, Value, Value], Built]
    | Callable[[OpBuilder, Value, Value, Value], Built]
    | Callable[[OpBuilder, Value, Value, Value, Value], Built]
    | Callable[[OpBuilder, Value, Value, Value, Value, Value], Built]
)
"""Builds the body of a function from its arguments."""


class Case(Struct, frozen=True):
    """A function to differentiate, built from ops, with its arguments."""

    name: str
    build: Build
    args: tuple[Arg, ...]

    def module(self) -> ModuleOp:
        """A module whose @main is the function."""
        types = [tensor(arg.shape, element_of(np.dtype("complex128" if arg.complex else arg.dtype))) for arg in self.args]
        block = Block(arg_types=types)
        build = cast(Callable[..., Built], self.build)
        built = build(OpBuilder(block), *block.args)
        results = [built] if isinstance(built, Value) else list(built)
        block.add_op(ReturnOp(*results))
        return ModuleOp([FuncOp("main", (types, [r.type for r in results]), Region([block]), "public")])
